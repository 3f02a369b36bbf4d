#pragma once

#include "commands/app.hpp"

#include <string>
#include <vector>

/// `gpuadm bundle`: everything that an installation needs, as one directory or file.
namespace commands {

/// Source of downloads.
struct BundleSource {
  std::string place;  ///< bundle::Source::place; empty: the cluster file's mirrors, otherwise public
  std::vector<std::string> mirrors;  ///< REGISTRY=URL
  /// File with registry logins, mode 0600; empty: $DOCKER_CONFIG/config.json or ~/.docker/config.json, if it
  /// exists.
  std::filesystem::path logins;
};

struct BundleCreateOptions {
  Common common;
  std::vector<std::filesystem::path>
      hosts;                     ///< cluster files, and facts.json as `gpuadm facts -o json` writes it
  std::filesystem::path output;  ///< an empty or new directory, or a .tar.zst
  BundleSource source;
  std::string kubernetes_version, architecture;
  std::string driver;                  ///< as InitOptions::driver
  std::vector<std::string> skip;       ///< parts, as data/sources.yaml names them, and coredns
  std::vector<std::string> images;     ///< additional images
  std::vector<std::string> notebooks;  ///< frameworks, whose images of the catalog are included
  std::vector<std::string> addons;     ///< whose images of the catalog are included
  std::filesystem::path sign;  ///< a private key for ssh-keygen, or the public half of one in the agent
};
/// Downloads everything for the hosts of these files. Downloads are kept in ~/.cache/gpuadm/blobs and reused.
[[nodiscard]] Result<Outcome> bundle_create(const BundleCreateOptions& options, Io& io);

struct BundleOptions {
  std::filesystem::path bundle, other;
  std::filesystem::path
      signers;  ///< OpenSSH's allowed_signers; empty: ~/.config/gpuadm/allowed_signers, if it exists
  Format format = Format::text;
};
/// Prints the contents of a bundle. Verifies nothing.
[[nodiscard]] Result<Outcome> bundle_inspect(const BundleOptions& options, Io& io);
/// Verifies the size and SHA-256 of every file, and the signature. Fault::spec if one differs.
[[nodiscard]] Result<Outcome> bundle_verify(const BundleOptions& options, Io& io);
/// Prints how `other` differs from `bundle`. Outcome::failed if it does, as for diff(1).
[[nodiscard]] Result<Outcome> bundle_diff(const BundleOptions& options, Io& io);

struct BundleExtendOptions {
  std::filesystem::path bundle, output;
  BundleSource source;
  std::vector<std::string> images;
  std::vector<std::filesystem::path> packages;  ///< .deb and .rpm files
  std::filesystem::path sign, signers;
};
/// Creates a bundle with the contents of `bundle`, which is verified first, and more.
[[nodiscard]] Result<Outcome> bundle_extend(const BundleExtendOptions& options, Io& io);

}  // namespace commands
