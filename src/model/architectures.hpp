#pragma once

#include "gpuadm/base/tree.hpp"

#include <string>
#include <string_view>

namespace model {

/// Which layers attend to a window of tokens only.
enum class Windows {
  none,         ///< none, whatever the file says: the engine ignores it
  all,          ///< all, if the file has a window
  alternating,  ///< all but every `every`-th, if the file has a window
  from_layer    ///< from `max_window_layers` on, if `use_sliding_window` is true (Qwen)
};

/// Values that a config.json of this architecture leaves out; 0: none.
struct Defaults {
  int heads = 0, kv_heads = 0, head_size = 0;
  int vocabulary = 0, context = 0;
};

/// An architecture whose cache gpuadm knows.
struct Architecture {
  std::string_view name;  ///< in `architectures` of config.json, or general.architecture of GGUF
  Windows windows = Windows::none;
  int every = 0;
  bool latent = false;  ///< MLA: one compressed vector for all heads
  int window = 0;       ///< of files that do not say it; 0: they do
  Defaults defaults = {};
};

/// The row of an architecture, or nullptr: what it stores for a token is unknown.
[[nodiscard]] const Architecture* find_architecture(std::string_view name);

/// What config.json says of the attention of an architecture without a row.
struct Standard {
  const Architecture* row = nullptr;  ///< keys and values of heads in all layers; nullptr: it may store more
  std::string why;                    ///< then, the field that says so: "has mamba_d_state"
};

/// Whether a file describes plain attention: it names layers, heads and heads of keys (grouped-query
/// attention), and neither a field of it nor the name of the architecture is of another kind of state, such
/// as Mamba, linear or compressed attention, or layers that share a cache.
[[nodiscard]] Standard standard_attention(const base::Tree& config, std::string_view architecture);

}  // namespace model
