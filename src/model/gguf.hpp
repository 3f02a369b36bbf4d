#pragma once

#include "gpuadm/model/read.hpp"

#include "model/weights.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace model {

/// What the header of a GGUF file says: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
struct Gguf {
  std::string architecture;
  std::map<std::string, std::int64_t> numbers;             ///< integers and truths by key
  std::map<std::string, std::vector<std::int64_t>> lists;  ///< of at most most_layers numbers
  std::uint64_t vocabulary = 0;                            ///< tokens of its tokenizer; 0: none
  std::uint64_t tensors = 0;
  Weights weights;
  std::string unknown_type;  ///< why the size of its tensors is unknown; empty: it is known

  /// The number under ARCHITECTURE.key.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view key) const;
  /// The list under ARCHITECTURE.key, or the number as a list of one; empty: neither.
  [[nodiscard]] std::vector<std::int64_t> list(std::string_view key) const;
};

/// Fault::parse for anything else, and for a file that ends before its tensors do.
[[nodiscard]] Result<Gguf> read_gguf(const File& file);

}  // namespace model
