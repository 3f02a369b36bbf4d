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
  std::string folder;             ///< in the claim; empty: a GGUF file is in the claim itself
  std::string file;               ///< a GGUF file; empty: a folder
  std::vector<LocalFile> files;   ///< without their sums
  std::vector<std::string> left;  ///< subfolders, which are not copied
  /// As --model of the copy: "models:/llama-8b".
  [[nodiscard]] std::string source_in(const std::string& claim) const;
};
/// The files of a folder, or a GGUF file with its other parts. Fault::usage if there is no model;
/// Fault::parse if it is damaged.
[[nodiscard]] Result<LocalModel> read_local_model(const std::string& source);

/// Copies what the claim does not have with the same size and SHA-256, through the connection to a host with
/// its storage, and continues files that were not copied as a whole. Returns the digest of all files: the
/// SHA-256 of the lines "SHA256  NAME" as sha256sum prints them. Fault::blocked if there is no such claim, or
/// no space for it.
[[nodiscard]] Result<std::string> copy_model(LocalModel model, const std::string& claim,
                                             const std::string& ns, const Hosts& hosts,
                                             ReachedCluster& cluster, Io& io);

}  // namespace commands
