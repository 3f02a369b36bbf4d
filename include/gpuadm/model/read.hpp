#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/model/model.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace model {

using base::Result;

/// What is read of a file: all of config.json and of an index, of weights only the header.
inline constexpr std::uint64_t largest_config = 1u << 20, largest_index = 32u << 20;
/// The header of a safetensors file may have 100 MB
/// (https://github.com/huggingface/safetensors, MAX_HEADER_SIZE); real ones have at most a few MiB.
inline constexpr std::uint64_t largest_header = 16u << 20;
/// The header of a GGUF file has the whole vocabulary: 2 to 15 MiB. The second limit is used if a header does
/// not end within the first.
inline constexpr std::uint64_t first_gguf = 8u << 20, largest_gguf = 64u << 20;
inline constexpr std::size_t most_files = 1000;

/// A file of a model, as a host, a hub or a folder has given it: untrusted.
struct File {
  std::string name;  ///< in the folder of the model
  std::uint64_t size = 0;
  std::string head;  ///< its first bytes; may be shorter than was requested
};

/// The files of one model that end in .json, .safetensors or .gguf.
struct Files {
  std::string place;  ///< for errors: "models:/llama-8b", "hf:ORG/NAME"
  std::vector<File> files;
  bool index_only =
      false;  ///< there are no weights: a hub was asked for the index alone, or a folder has no more
};

/// The model in these files. Fault::parse names file and reason: an HTML page, a git-lfs pointer, a file that
/// ends before its tensors do, the wrong magic, a count or a size that cannot be. An architecture that is not
/// in architectures.hpp is not an error: Model::unknown.
[[nodiscard]] Result<Model> read(const Files& files);

/// The bytes of the head of a safetensors file, length included. Fault::parse if it is invalid, or if the
/// header is larger than `largest_header`.
[[nodiscard]] Result<std::uint64_t> header_size(std::string_view head, std::string_view name);

/// Whether a GGUF header did not end within `head`, so that more of the file is needed.
[[nodiscard]] bool needs_more(const File& file);

/// What playbooks/read/model.sh prints: for each file a line "file SIZE LENGTH NAME" and its first bytes,
/// then a line "end". Fault::parse if it is anything else.
[[nodiscard]] Result<Files> parse_listing(std::string_view text, std::string place);

/// The names of all parts of a GGUF file: of "x-00001-of-00002.gguf" two, of any other name itself.
[[nodiscard]] std::vector<std::string> parts_of(const std::string& name);

/// The files of a model on this machine: a folder, or a GGUF file with its other parts. Reads headers only.
/// Follows links, since the cache of a hub consists of them, and opens regular files only. Fault::usage if
/// there is no such model.
[[nodiscard]] Result<Files> open_local(const std::filesystem::path& path);

}  // namespace model
