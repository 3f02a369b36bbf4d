#pragma once

#include <cstdint>
#include <string_view>

namespace model {

/// A type of tensors in GGUF: blocks of `count` numbers with `bytes`.
struct GgufType {
  std::uint32_t id;
  std::string_view name;
  std::uint64_t count, bytes;
};

/// The row of a type, or nullptr.
[[nodiscard]] const GgufType* find_gguf_type(std::uint32_t id);

}  // namespace model
