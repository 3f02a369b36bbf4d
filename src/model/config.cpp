#include "model/config.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include "model/shape.hpp"
#include "model/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace model {

namespace {

using base::Tree;

constexpr std::int64_t most_tokens = 1'000'000'000;

/// A number, or one that all layers of a list have.
std::optional<std::int64_t> number_in(const Tree& value) {
  if (!value.is_list() || value.items().empty()) return value.as_int();
  const auto first = value.items().front().as_int();
  const bool is_same =
      std::ranges::all_of(value.items(), [&](const Tree& one) { return one.as_int() == first; });
  return is_same ? first : std::nullopt;
}

/// The first of these keys that has a whole number, at most `most_tokens` from 0; 0: none.
std::int64_t number_of(const Tree& config, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const Tree* value = config.find(key))
      if (const auto number = number_in(*value))
        return std::clamp<std::int64_t>(*number, -most_tokens, most_tokens);
  return 0;
}
std::uint64_t count_of(const Tree& config, std::initializer_list<std::string_view> keys) {
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(number_of(config, keys), 0, most_tokens));
}
bool is_true(const Tree& config, std::string_view key) {
  const Tree* value = config.find(key);
  return value && value->as_bool() == true;
}

/// "bf16", "f16", "f32", "fp8"; empty: another one.
std::string short_type(std::string_view torch) {
  if (torch.starts_with("torch.")) torch.remove_prefix(6);
  if (torch == "bfloat16") return "bf16";
  if (torch == "float16" || torch == "half") return "f16";
  if (torch == "float32" || torch == "float") return "f32";
  if (torch.starts_with("float8")) return "fp8";
  return {};
}

/// The language model's part of the file: that of a model that also reads images has a part of its own.
const Tree& language_part(const Tree& config) {
  for (const char* key : {"text_config", "language_config", "llm_config"})
    if (const Tree* part = config.find(key); part && part->is_map()) return *part;
  return config;
}

std::string architecture_of(const Tree& config) {
  const Tree* names = config.find("architectures");
  if (!names || names->items().empty()) return {};
  return names->items().front().text();
}

/// Of compressed-tensors, which has a group of settings for the weights:
/// https://github.com/vllm-project/compressed-tensors
std::string compressed_type(const Tree& settings) {
  const Tree* groups = settings.find("config_groups");
  if (!groups || groups->entries().empty()) return {};
  const Tree* weights = groups->entries().front().second.find("weights");
  if (!weights) return {};
  const std::int64_t bits = number_of(*weights, {"num_bits"});
  const bool is_float = text_of(*weights, "type") == "float";
  if (bits == 8) return is_float ? "fp8" : "int8";
  if (bits == 4)
    return is_float ? (text_of(settings, "format").starts_with("mx") ? "mxfp4" : "nvfp4") : "int4";
  return {};
}

/// kv_cache_scheme of compressed-tensors and ModelOpt, kv_cache_quant_algo of ModelOpt, there or in a part
/// "quantization". ModelOpt's counts only with dynamic: false (get_kv_cache_quant_algo_string of vLLM).
std::string cache_type_of(const Tree& settings, bool is_modelopt) {
  const Tree* inner = settings.find("quantization");
  for (const Tree* one : {inner && inner->is_map() ? inner : &settings, &settings}) {
    const Tree *scheme = one->find("kv_cache_scheme"), *dynamic = scheme ? scheme->find("dynamic") : nullptr;
    if (!scheme || scheme->is_null()) continue;
    const std::int64_t bits = number_of(*scheme, {"num_bits"});
    if (bits == 8 && text_of(*scheme, "type") == "float" &&
        (!is_modelopt || (dynamic && dynamic->as_bool() == false)))
      return "fp8";
    return bits > 0 ? fmt::format("{} bits ({}){}", bits, base::printable(text_of(*scheme, "type"), 20),
                                  is_modelopt && !dynamic ? " without dynamic: false" : "")
                    : "an unknown type";
  }
  for (const Tree* one : {inner && inner->is_map() ? inner : &settings, &settings})
    if (const std::string name = base::lower(text_of(*one, "kv_cache_quant_algo"));
        !name.empty() && name != "auto" && name != "none")
      return name.starts_with("fp8") ? "fp8" : base::printable(name, 20);
  return {};
}

const Tree* quantization_settings(const Tree& config, const Tree& part) {
  for (const Tree* one : {&config, &part})
    if (const Tree* settings = one->find("quantization_config"); settings && settings->is_map())
      return settings;
  return nullptr;
}

void read_cache_type(const Tree& config, const Tree& part, Model& model) {
  const Tree* settings = quantization_settings(config, part);
  if (!settings) return;
  const std::string method = text_of(*settings, "quant_method");
  // "modelopt", "modelopt_fp4", "modelopt_mixed"
  const bool is_modelopt = method.starts_with("modelopt");
  model.cache_type = cache_type_of(*settings, is_modelopt);
  model.cache_method = is_modelopt ? "modelopt" : base::printable(method, 40);
}

Quantization quantization_of(const Tree& config, const Tree& part) {
  const Tree* settings = quantization_settings(config, part);
  if (!settings) return {};
  Quantization quantization{base::printable(text_of(*settings, "quant_method"), 40), {}};
  const std::string& method = quantization.method;
  const std::int64_t bits = number_of(*settings, {"bits", "w_bit"});
  const std::string algorithm = base::lower(text_of(*settings, "quant_algo"));
  if (method == "fp8" || method == "fbgemm_fp8" || algorithm.starts_with("fp8"))
    quantization.type = "fp8";
  else if (method == "mxfp4")
    quantization.type = "mxfp4";
  else if (algorithm.find("nvfp4") != std::string::npos)
    quantization.type = "nvfp4";
  else if (method == "awq" || bits == 4 || is_true(*settings, "load_in_4bit"))
    quantization.type = "int4";
  else if (bits == 8 || is_true(*settings, "load_in_8bit"))
    quantization.type = "int8";
  else if (method == "compressed-tensors")
    quantization.type = compressed_type(*settings);
  if (method.empty()) quantization.method = "unnamed";
  return quantization;
}

/// The kinds of layers, if the file lists them. An unknown kind is why the cache is unknown.
std::string read_layer_types(const Tree& config, Shape& shape) {
  const Tree* types = config.find("layer_types");
  if (!types || !types->is_list()) return {};
  for (const Tree& type : types->items()) {
    const std::string kind = type.text();
    if (kind == "chunked_attention" && shape.window == 0)
      shape.window = number_of(config, {"attention_chunk_size"});
    shape.chunked = shape.chunked || kind == "chunked_attention";
    if (kind != "full_attention" && kind != "sliding_attention" && kind != "chunked_attention")
      return fmt::format("gpuadm does not know layers of the kind {}", base::printable(kind, 40));
    shape.has_window.push_back(kind != "full_attention");
  }
  return {};
}

Shape shape_of(const Tree& config, const Architecture* row) {
  const Defaults defaults = row ? row->defaults : Defaults{};
  Shape shape{.layers = number_of(config, {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}),
              .heads = number_of(config, {"num_attention_heads", "n_head", "n_heads"})};
  if (shape.heads == 0) shape.heads = defaults.heads;
  std::int64_t kv = number_of(config, {"num_key_value_heads", "num_kv_heads", "n_head_kv"});
  if (is_true(config, "multi_query_attention")) kv = number_of(config, {"multi_query_group_num"});
  // Falcon and StarCoder: one head for all, unless the file has a number for the newer layout.
  if (is_true(config, "multi_query") && !is_true(config, "new_decoder_architecture")) kv = 1;
  if (kv == 0) kv = defaults.kv_heads;
  shape.kv_heads = {kv == 0 ? shape.heads : kv};
  shape.key_size = number_of(config, {"head_dim", "kv_channels"});
  if (shape.key_size == 0) shape.key_size = defaults.head_size;
  const std::int64_t hidden = number_of(config, {"hidden_size", "n_embd", "d_model"});
  if (shape.key_size == 0 && shape.heads > 0) shape.key_size = hidden / shape.heads;
  shape.value_size = shape.key_size;
  shape.kv_rank = number_of(config, {"kv_lora_rank"});
  shape.rope_size = number_of(config, {"qk_rope_head_dim"});
  if (row && row->latent && shape.kv_rank == 0) {  // without the compressed vector, keys are longer
    shape.key_size = number_of(config, {"qk_nope_head_dim"}) + shape.rope_size;
    shape.value_size = number_of(config, {"v_head_dim"});
  }
  shape.window = number_of(config, {"sliding_window"});
  shape.every = number_of(config, {"sliding_window_pattern", "_sliding_window_pattern"});
  if (row && row->windows == Windows::from_layer) {
    shape.from_layer = number_of(config, {"max_window_layers"});
    if (!is_true(config, "use_sliding_window")) shape.window = 0;
  }
  if (const auto chunk = number_of(config, {"attention_chunk_size"}); shape.window == 0 && chunk > 0) {
    shape.window = chunk;
    shape.chunked = true;
  }
  return shape;
}

/// Numbers that one token passes through in a feed-forward layer.
std::uint64_t intermediate_of(const Tree& config, const Model& model) {
  const std::uint64_t dense =
      count_of(config, {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"});
  const std::uint64_t expert = count_of(config, {"moe_intermediate_size"});
  const std::uint64_t used =
      static_cast<std::uint64_t>(model.experts_used) + count_of(config, {"n_shared_experts"});
  if (model.experts == 0) return dense > 0 ? dense : 4 * model.hidden;
  return std::max(dense, (expert > 0 ? expert : dense) * used);
}

/// hf_quant_config.json: {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", …}},
/// which vLLM reads if config.json has no quantization_config (get_quant_config of
/// vllm/model_executor/model_loader/weight_utils.py).
Result<> add_quantization(Tree& config, const File& file) {
  const Tree tree = TRY(base::json::read(file.head, base::printable(file.name, 200)));
  const Tree* inner = tree.is_map() ? tree.find("quantization") : nullptr;
  if (!inner || !inner->is_map()) return {};
  Tree settings = Tree::map_of({{"quant_method", "modelopt"}});
  settings.merge(*inner);
  config.set("quantization_config", std::move(settings));
  return {};
}

}  // namespace

Result<Config> read_config(const File& file, const File* quantization) {
  if (const std::string why = why_no_model(file.head); !why.empty()) return bad_file(file.name, why);
  if (file.size > largest_config || file.head.size() > largest_config)
    return bad_file(file.name, "is larger than 1 MiB: it is not the configuration of a model");
  Tree tree = TRY(base::json::read(file.head, base::printable(file.name, 200)));
  if (!tree.is_map()) return bad_file(file.name, "is not a JSON object");
  if (quantization && !quantization_settings(tree, language_part(tree)))
    TRY(add_quantization(tree, *quantization));
  const Tree& part = language_part(tree);
  Config config;
  Model& model = config.model;
  model.architecture = base::printable(architecture_of(tree), 100);
  const Architecture* row = find_architecture(model.architecture);
  // A model that also reads images names that of its language model in the part about it.
  if (!row) row = find_architecture(architecture_of(part));
  if (!row) {
    const Standard standard = standard_attention(part, model.architecture);
    row = standard.row;
    model.is_assumed = row != nullptr;
    if (!row && !model.architecture.empty())
      model.unknown = fmt::format("gpuadm does not know the architecture {}, whose config.json {}",
                                  model.architecture, standard.why);
  }
  config.quantization = quantization_of(tree, part);
  read_cache_type(tree, part, model);
  for (const Tree* one : {&part, static_cast<const Tree*>(&tree)})
    for (const char* key : {"torch_dtype", "dtype"})
      if (model.compute.empty()) model.compute = short_type(text_of(*one, key));
  const auto small = [&](std::initializer_list<std::string_view> keys) {
    return static_cast<int>(std::min<std::uint64_t>(count_of(part, keys), 1'000'000));
  };
  model.experts = small({"n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts"});
  model.experts_used =
      small({"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_k", "moe_topk"});
  model.hidden = count_of(part, {"hidden_size", "n_embd", "d_model"});
  model.intermediate = intermediate_of(part, model);
  model.vocabulary = count_of(part, {"vocab_size", "padded_vocab_size"});
  model.context = count_of(part, {"max_position_embeddings", "n_positions", "max_sequence_length",
                                  "seq_length", "n_ctx", "model_max_length"});
  if (row && model.vocabulary == 0) model.vocabulary = static_cast<std::uint64_t>(row->defaults.vocabulary);
  if (row && model.context == 0) model.context = static_cast<std::uint64_t>(row->defaults.context);
  Shape shape = shape_of(part, row);
  if (const std::string why = read_layer_types(part, shape); !why.empty()) model.unknown = why;
  describe_cache(model, shape, row);
  return config;
}

}  // namespace model
