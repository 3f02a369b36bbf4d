#pragma once

#include "commands/workloads/reach.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// A model of this machine, which is copied to a claim on a storage.
namespace commands {

struct LocalFile {
  std::filesystem::path path;
  std::string name, sum;  ///< in the folder; SHA-256
  std::uint64_t size = 0;
};

/// Whether the source of a model is a path of this machine: "./llama", "/srv/x.gguf", "x.gguf".
[[nodiscard]] bool is_local_model(std::string_view source);

struct LocalModel {
  std::filesystem::path path;
  /// In the claim: the name of the folder or file, and the beginning of the digest. Other files have another
  /// folder, so pods that run keep theirs, and an update that fails can be undone.
  std::string folder;
  std::string file;  ///< a GGUF file; empty: a folder
  std::vector<LocalFile> files;
  std::vector<std::string> skipped;  ///< subfolders, and what cannot be read
  std::string digest;  ///< SHA-256 of the lines "SHA256  NAME" of all files, as sha256sum prints them
  /// As --model of the copy: "models:/llama-8b.3f2a9c41d0e1".
  [[nodiscard]] std::string source_in(const std::string& claim) const;
};
/// The files of a folder, or a GGUF file with its other parts; reads all of them for their sums.
/// Fault::usage if there is no model; Fault::parse if it is damaged.
[[nodiscard]] Result<LocalModel> read_local_model(const std::string& source, const Io& io);

/// Copies what the claim does not have with the same size and SHA-256, through the connection to a host with
/// its storage, and continues files that were not copied as a whole. Fault::blocked if there is no such
/// claim, or no space for it.
[[nodiscard]] Result<> copy_model(const LocalModel& model, const std::string& claim, const std::string& ns,
                                  const Hosts& hosts, ReachedCluster& cluster, Io& io);

}  // namespace commands
