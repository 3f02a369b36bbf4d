#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/bundle/debian.hpp"
#include "gpuadm/bundle/fetch.hpp"

#include "commands/command.hpp"

#include <map>
#include <string>
#include <vector>

/// Reads package repositories in Debian's format. A mirror may serve them: its release file is verified
/// first.
namespace commands {

/// A suite with its components, or a directory that contains the packages (flat).
struct Repository {
  std::string url, suite;
  std::vector<std::string> components;  ///< empty: flat
  /// A local keyring with the keys of a distribution.
  std::string keyring;
  /// If the repository has its own key, its required fingerprints. If set, the signature is always required.
  std::string key_url, fingerprints;
  [[nodiscard]] std::string release() const;
};

class RepositoryReader {
 public:
  /// `public_source`: false if a complete mirror was given with --source.
  RepositoryReader(bundle::Fetcher& fetcher, const assets::Store& store, Io& io, bool public_source)
      : fetcher_(fetcher), store_(store), io_(io), public_source_(public_source) {}

  /// The checksums in the repository's release, after its signature was verified. Fault::parse: the signature
  /// is missing or from another key. Fault::blocked: it cannot be verified on this machine and must be.
  [[nodiscard]] Result<std::map<std::string, bundle::debian::Sum>> release(const Repository& repository);
  /// The text of an index, decompressed. Fault::parse: its checksum does not match.
  [[nodiscard]] Result<std::string> index(const Repository& repository, const std::string& path,
                                          const bundle::debian::Sum& sum);
  /// A complete mirror does not distinguish http and https.
  [[nodiscard]] std::string as_mirrored(const std::string& url) const;

 private:
  [[nodiscard]] Result<std::string> release_text(const Repository& repository);
  [[nodiscard]] Result<std::string> verified_text(const Repository& repository, const std::string& url,
                                                  const std::string& text);
  bundle::Fetcher& fetcher_;
  const assets::Store& store_;
  Io& io_;
  bool public_source_;
};

}  // namespace commands
