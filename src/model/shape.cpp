#include "model/shape.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace model {

namespace {

/// A model with more is not one.
constexpr std::int64_t most_layers = 10'000, most_heads = 100'000, most_size = 1'000'000;

bool layer_has_window(const Shape& shape, const Architecture& row, std::int64_t layer) {
  if (!shape.has_window.empty()) return shape.has_window[static_cast<std::size_t>(layer)];
  const std::int64_t every = shape.every > 0 ? shape.every : row.every;
  switch (row.windows) {
    case Windows::none:
      return false;
    case Windows::all:
      return true;
    case Windows::alternating:
      return every > 0 && (layer + 1) % every != 0;
    case Windows::from_layer:
      return layer >= shape.from_layer;
  }
  return false;
}

std::int64_t kv_heads_of(const Shape& shape, std::int64_t layer) {
  return shape.kv_heads.size() == 1 ? shape.kv_heads[0] : shape.kv_heads[static_cast<std::size_t>(layer)];
}

std::string why_unknown(const Model& model, const Shape& shape, const Architecture* row) {
  if (!row)
    return fmt::format(
        "gpuadm does not know the architecture {}",
        model.architecture.empty() ? "of this model" : base::printable(model.architecture, 80));
  const auto layers = static_cast<std::size_t>(shape.layers);
  const bool latent = row->latent && shape.kv_rank > 0;
  if (shape.layers <= 0 || shape.layers > most_layers) return "its number of layers is missing or impossible";
  if (shape.heads <= 0 || shape.heads > most_heads) return "its number of heads is missing or impossible";
  if (shape.kv_heads.empty() || (shape.kv_heads.size() != 1 && shape.kv_heads.size() != layers) ||
      std::ranges::any_of(shape.kv_heads, [](auto count) { return count < 0 || count > most_heads; }))
    return "its number of key and value heads is missing or impossible";
  if (!latent && (shape.key_size <= 0 || shape.value_size <= 0 || shape.key_size > most_size ||
                  shape.value_size > most_size))
    return "the size of its heads is missing or impossible";
  if (latent && (shape.kv_rank > most_size || shape.rope_size < 0 || shape.rope_size > most_size))
    return "the rank of its attention is impossible";
  if (!shape.has_window.empty() && shape.has_window.size() != layers)
    return "its list of layers has another length than its number of layers";
  if (shape.window < 0) return "its window is negative";
  return {};
}

}  // namespace

void describe_cache(Model& model, const Shape& shape, const Architecture* row) {
  if (model.unknown.empty()) model.unknown = why_unknown(model, shape, row);
  const auto small = [](std::int64_t value) {
    return static_cast<int>(std::clamp<std::int64_t>(value, 0, 1'000'000'000));
  };
  model.layers = small(shape.layers);
  model.heads = small(shape.heads);
  model.kv_heads = shape.kv_heads.empty() ? 0 : small(std::ranges::max(shape.kv_heads));
  model.head_size = small(shape.key_size);
  model.kv_rank = small(shape.kv_rank);
  model.rope_size = small(shape.rope_size);
  if (!model.is_known()) return;
  const bool latent = row->latent && shape.kv_rank > 0;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    CacheLayers one{.layers = 1};
    one.by_heads = !latent;
    one.values =
        static_cast<std::uint64_t>(latent ? shape.kv_rank + shape.rope_size
                                          : kv_heads_of(shape, layer) * (shape.key_size + shape.value_size));
    if (shape.window > 0 && layer_has_window(shape, *row, layer)) {
      one.window = static_cast<std::uint64_t>(shape.window);
      one.chunked = shape.chunked;
    }
    if (one.values == 0) continue;  // a layer without attention
    const auto same = std::ranges::find_if(model.cache, [&](const CacheLayers& layers) {
      return layers.values == one.values && layers.window == one.window;
    });
    if (same == model.cache.end())
      model.cache.push_back(one);
    else
      ++same->layers;
  }
}

}  // namespace model
