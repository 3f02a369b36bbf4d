#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace model {

/// The tensors of one or several files, summed up.
struct Weights {
  std::uint64_t stored = 0, elements = 0;
  std::map<std::string, std::uint64_t> by_type;  ///< bytes by the type's name in the file
  struct OfLayer {
    std::uint64_t stored = 0, elements = 0;
  };
  std::map<int, OfLayer> by_layer;  ///< of the language model, by the number in the tensor's name

  void add(const Weights& other);
  /// Numbers of 4 bits that are stored in pairs as I8: there is a scale, F8_E8M0, for each 32 of them (the MX
  /// formats of the Open Compute Project).
  void unpack();
  /// The type with the most bytes; empty if there is no tensor.
  [[nodiscard]] std::string most_used() const;
};

/// The product, or nothing if it does not fit into 62 bits: more than any disk has.
[[nodiscard]] std::optional<std::uint64_t> product_of(std::uint64_t a, std::uint64_t b);

/// The number after `prefix` in a tensor's name, "blk.12.attn_q.weight" -> 12; nothing if it has none.
[[nodiscard]] std::optional<int> layer_in(std::string_view name, std::string_view prefix);

/// Why a text that should be a model is something else: an HTML page, or a pointer of git-lfs. Empty:
/// neither.
[[nodiscard]] std::string why_no_model(std::string_view head);

/// Fault::parse for a file.
[[nodiscard]] std::unexpected<base::Error> bad_file(std::string_view name, std::string_view why,
                                                    std::string hint = {});

}  // namespace model
