#pragma once

#include "gpuadm/app/app.hpp"

#include <string>
#include <vector>

/// `gpuadm bundle`: what an installation needs, as one folder or file.
namespace app {

/// Where what is fetched comes from.
struct BundleSource {
  std::string place;  ///< bundle::Source::place; empty: the cluster file's mirrors, else public
  std::vector<std::string> mirrors;  ///< REGISTRY=URL
  /// Logins for registries, ours and 0600; empty: $DOCKER_CONFIG/config.json or ~/.docker/config.json, where
  /// one is
  std::filesystem::path logins;
};

struct BundleCreateOptions {
  Common common;
  std::vector<std::filesystem::path>
      hosts;                     ///< cluster files, and facts.json as `gpuadm facts -o json` writes it
  std::filesystem::path output;  ///< a folder that is missing or empty, or a .tar.zst
  BundleSource source;
  std::string kubernetes_version, architecture;
  std::string driver;               ///< as InitOptions::driver
  std::vector<std::string> skip;    ///< parts, as data/sources.yaml names them, and coredns
  std::vector<std::string> images;  ///< further ones
  std::filesystem::path sign;       ///< a private key for ssh-keygen, or the public half of one in the agent
};
/// Fetches everything for hosts of these files. What is fetched stays in ~/.cache/gpuadm/blobs, and is not
/// fetched again.
[[nodiscard]] Result<Outcome> bundle_create(const BundleCreateOptions& options, Io& io);

struct BundleOptions {
  std::filesystem::path bundle, other;
  std::filesystem::path
      signers;  ///< OpenSSH's allowed_signers; empty: ~/.config/gpuadm/allowed_signers, where it is
  Format format = Format::text;
};
/// What a bundle holds. Nothing is verified.
[[nodiscard]] Result<Outcome> bundle_inspect(const BundleOptions& options, Io& io);
/// Every file's size and SHA-256, and the signature. Fault::spec names what differs.
[[nodiscard]] Result<Outcome> bundle_verify(const BundleOptions& options, Io& io);
/// What `other` has otherwise than `bundle`. Outcome::failed where something differs, as diff(1) has it.
[[nodiscard]] Result<Outcome> bundle_diff(const BundleOptions& options, Io& io);

struct BundleExtendOptions {
  std::filesystem::path bundle, output;
  BundleSource source;
  std::vector<std::string> images;
  std::vector<std::filesystem::path> packages;  ///< .deb and .rpm files
  std::filesystem::path sign, signers;
};
/// A bundle with more in it than `bundle` has, verified first.
[[nodiscard]] Result<Outcome> bundle_extend(const BundleExtendOptions& options, Io& io);

}  // namespace app
