#pragma once

#include "gpuadm/model/read.hpp"

#include "model/weights.hpp"

#include <set>
#include <string>

namespace model {

/// The header of a safetensors file, checked against the size of the file:
/// https://github.com/huggingface/safetensors#format
[[nodiscard]] Result<Weights> read_safetensors(const File& file);

/// model.safetensors.index.json.
struct Index {
  std::uint64_t total = 0;       ///< bytes of all tensors; 0: not said
  std::uint64_t parameters = 0;  ///< 0: not said
  std::set<std::string> files;   ///< of the tensors
};
[[nodiscard]] Result<Index> read_index(const File& file);

}  // namespace model
