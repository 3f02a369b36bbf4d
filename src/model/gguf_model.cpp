#include "model/gguf_model.hpp"

#include "gpuadm/base/text.hpp"

#include "model/shape.hpp"

#include <algorithm>

namespace model {

namespace {

constexpr std::int64_t largest_count = 1'000'000'000;

std::uint64_t count_in(const Gguf& gguf, std::string_view key) {
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(gguf.number(key).value_or(0), 0, largest_count));
}

std::int64_t largest_in(const std::vector<std::int64_t>& list) {
  return list.empty() ? 0 : std::ranges::max(list);
}

Shape shape_of(const Gguf& gguf, const Architecture* row) {
  const auto number = [&](std::string_view key) {
    return std::clamp(gguf.number(key).value_or(0), -largest_count, largest_count);
  };
  Shape shape{.layers = number("block_count") - number("nextn_predict_layers"),
              .heads = largest_in(gguf.list("attention.head_count")),
              .kv_heads = gguf.list("attention.head_count_kv")};
  if (shape.kv_heads.empty()) shape.kv_heads = gguf.list("attention.head_count");
  const std::int64_t usual = shape.heads > 0 ? number("embedding_length") / shape.heads : 0;
  shape.key_size = gguf.number("attention.key_length").value_or(usual);
  shape.value_size = gguf.number("attention.value_length").value_or(usual);
  // Files without the lengths of MLA are computed with full heads: llama_model::load_hparams,
  // LLM_ARCH_DEEPSEEK2. With them the cache has keys only, of which the values are a part
  // (https://github.com/ggml-org/llama.cpp/pull/19067).
  if (gguf.number("attention.key_length_mla")) {
    shape.kv_rank = number("attention.kv_lora_rank");
    shape.rope_size = number("rope.dimension_count");
  }
  shape.window = number("attention.sliding_window");
  if (shape.window == 0 && row) shape.window = row->window;
  // A list of truths, or a number as in `every`.
  const auto pattern = gguf.list("attention.sliding_window_pattern");
  if (pattern.size() == 1) shape.every = std::max<std::int64_t>(pattern[0], 0);
  if (pattern.size() > 1)
    for (const std::int64_t one : pattern) shape.has_window.push_back(one != 0);
  return shape;
}

}  // namespace

Model model_of(const Gguf& gguf) {
  Model model;
  model.format = Format::gguf;
  model.architecture = base::printable(gguf.architecture, 100);
  const Architecture* row = find_architecture(gguf.architecture);
  const auto small = [&](std::string_view key) {
    return static_cast<int>(std::min<std::uint64_t>(count_in(gguf, key), 1'000'000));
  };
  model.experts = small("expert_count");
  model.experts_used = small("expert_used_count");
  model.hidden = count_in(gguf, "embedding_length");
  const auto dense = static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(largest_in(gguf.list("feed_forward_length")), 0, largest_count));
  const std::uint64_t experts =
      count_in(gguf, "expert_feed_forward_length") * static_cast<std::uint64_t>(model.experts_used);
  model.intermediate = std::max(dense, experts);
  model.vocabulary = gguf.vocabulary > 0 ? std::min<std::uint64_t>(gguf.vocabulary, largest_count)
                                         : count_in(gguf, "vocab_size");
  model.context = count_in(gguf, "context_length");
  model.unknown = gguf.unknown_type;
  describe_cache(model, shape_of(gguf, row), row);
  return model;
}

}  // namespace model
