#pragma once

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

}  // namespace model
