#pragma once

#include "gpuadm/model/model.hpp"

#include "model/architectures.hpp"

#include <cstdint>
#include <vector>

namespace model {

/// What a file says about layers and attention; 0: it does not.
struct Shape {
  std::int64_t layers = 0, heads = 0;
  std::vector<std::int64_t> kv_heads = {};  ///< one for all layers, or one for each
  std::int64_t key_size = 0, value_size = 0;
  std::int64_t kv_rank = 0, rope_size = 0;  ///< of MLA
  std::int64_t window = 0;
  bool chunked = false;               ///< the window is a chunk
  std::vector<bool> has_window = {};  ///< of each layer; empty: by the row of the architecture
  std::int64_t every = 0;             ///< of Windows::alternating; 0: the row's
  std::int64_t from_layer = 0;        ///< of Windows::from_layer
};

/// Enters layers, heads and cache into the model, or Model::unknown. `row`: nullptr if there is none.
void describe_cache(Model& model, const Shape& shape, const Architecture* row);

}  // namespace model
