#include "model/architectures.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace model {

namespace {

/// Sources: the class of each architecture in vLLM (vllm/model_executor/models/registry.py) and its
/// attention; for GGUF `llama_model::load_hparams` of llama.cpp (set_swa_pattern, n_swa). An architecture
/// whose layers store something else than keys and values (state of Mamba or linear attention, an indexer,
/// cross-attention) has no row.
constexpr auto full = Windows::none;

constexpr std::array architectures = std::to_array<Architecture>({
    // Keys and values of heads, of all tokens
    {"LlamaForCausalLM", full},
    {"Qwen2MoeForCausalLM", full},
    {"Qwen3MoeForCausalLM", full},
    {"Qwen2VLForConditionalGeneration", full},
    {"Qwen2_5_VLForConditionalGeneration", full},
    {"Qwen3VLForConditionalGeneration", full},
    {"Qwen3VLMoeForConditionalGeneration", full},
    {"GemmaForCausalLM", full},
    {"PhiForCausalLM", full},
    {"Glm4ForCausalLM", full},
    {"GlmForCausalLM", full},
    {"Glm4MoeForCausalLM", full},
    {"Olmo2ForCausalLM", full},
    {"OlmoeForCausalLM", full},
    {"GraniteForCausalLM", full},
    {"GraniteMoeForCausalLM", full},
    {"StableLmForCausalLM", full},
    {"CohereForCausalLM", full},
    {"FalconForCausalLM", full},
    {"GPTBigCodeForCausalLM", full},
    {"GPT2LMHeadModel", full},
    {"GPTNeoXForCausalLM", full},
    {"OPTForCausalLM", full},
    {"BloomForCausalLM", full},
    {"InternLM2ForCausalLM", full},
    {"InternLM3ForCausalLM", full},
    {"BaichuanForCausalLM", full},
    {"MiniCPMForCausalLM", full},
    {"ExaoneForCausalLM", full},
    {"ChatGLMModel", full},
    {"ArceeForCausalLM", full},
    {"SeedOssForCausalLM", full},
    {"SmolLM3ForCausalLM", full},
    {"HunYuanDenseV1ForCausalLM", full},
    {"Ernie4_5ForCausalLM", full},
    {"Ernie4_5_MoeForCausalLM", full},
    {"Mistral3ForConditionalGeneration", full},
    // A window in all layers, or in most
    {"MistralForCausalLM", Windows::all},
    {"MixtralForCausalLM", Windows::all},
    {"Phi3ForCausalLM", Windows::all},
    {"PhiMoEForCausalLM", Windows::all},
    {"Starcoder2ForCausalLM", Windows::all},
    {"Qwen2ForCausalLM", Windows::from_layer},
    {"Qwen3ForCausalLM", Windows::from_layer},
    {"Gemma2ForCausalLM", Windows::alternating, 2},
    // https://github.com/huggingface/transformers, Gemma3TextConfig: what the files of 4B leave out
    {"Gemma3ForCausalLM", Windows::alternating, 6, false, 0, {8, 4, 256, 262208, 131072}},
    {"Gemma3ForConditionalGeneration", Windows::alternating, 6, false, 0, {8, 4, 256, 262208, 131072}},
    {"Cohere2ForCausalLM", Windows::alternating, 4},
    {"Olmo3ForCausalLM", Windows::alternating, 4},
    {"GptOssForCausalLM", Windows::alternating, 2},
    {"Llama4ForConditionalGeneration", Windows::alternating, 4},
    {"Llama4ForCausalLM", Windows::alternating, 4},
    // MLA
    {"DeepseekV2ForCausalLM", full, 0, true},
    {"DeepseekV3ForCausalLM", full, 0, true},
    {"Glm4MoeLiteForCausalLM", full, 0, true},
    // GGUF
    {"llama", full},
    {"mistral3", full},
    {"qwen2", full},
    {"qwen2moe", full},
    {"qwen2vl", full},
    {"qwen3", full},
    {"qwen3moe", full},
    {"qwen3vl", full},
    {"qwen3vlmoe", full},
    {"gemma", full},
    {"gemma2", Windows::alternating, 2},
    {"gemma3", Windows::alternating, 6},
    {"phi2", full},
    {"phi3", full},  // llama.cpp does not use the window of its file
    {"phimoe", full},
    {"gpt-oss", Windows::alternating, 2},
    {"cohere2", Windows::alternating, 4},
    {"command-r", full},
    {"llama4", Windows::alternating, 4, false, 8192},
    {"deepseek2", full, 0, true},
    {"glm4", full},
    {"glm4moe", full},
    {"olmo2", full},
    {"olmoe", full},
    {"granite", full},
    {"granitemoe", full},
    {"stablelm", full},
    {"falcon", full},
    {"starcoder", full},
    {"starcoder2", full},
    {"gpt2", full},
    {"gptneox", full},
    {"bloom", full},
    {"internlm2", full},
    {"baichuan", full},
    {"minicpm", full},
    {"exaone", full},
    {"chatglm", full},
    {"smollm3", full},
    {"arcee", full},
    {"seed_oss", full},
    {"ernie4_5", full},
    {"ernie4_5-moe", full},
    {"hunyuan-dense", full},
});

using base::Tree;

constexpr Architecture plain{.name = "", .windows = Windows::none};

/// Parts of names of fields about something else than keys and values of heads: of config.json files of
/// Mamba, Jamba, Granite 4, Nemotron-H, Falcon-H1, Qwen3-Next, Kimi Linear, MiniMax-01, DeepSeek, Gemma 3n,
/// Hunyuan, Whisper, T5 and BERT.
constexpr std::array<std::string_view, 29> other_kinds = {"mamba",
                                                          "ssm",
                                                          "state_size",
                                                          "conv",
                                                          "linear",
                                                          "recurrent",
                                                          "rwkv",
                                                          "index_",
                                                          "compress",
                                                          "lora_rank",
                                                          "cross_att",
                                                          "encoder",
                                                          "hybrid",
                                                          "block_type",
                                                          "layers_block",
                                                          "attn_layer",
                                                          "attention_interval",
                                                          "attention_type",
                                                          "attn_type",
                                                          "lightning",
                                                          "kda",
                                                          "kv_share",
                                                          "use_cla",
                                                          "memory_block",
                                                          "sparse_att",
                                                          "local_attention",
                                                          "global_attn",
                                                          "type_vocab_size",
                                                          "relative_attention"};

/// Whether a value means that there is none: null, false, 0, "", an empty list or map. A list of ones is
/// MiniMax's for layers with plain attention.
bool is_absent(const Tree& value) {
  if (value.is_null() || value.as_bool() == false) return true;
  if (value.is_list())
    return std::ranges::all_of(value.items(), [](const Tree& one) { return one.as_int() == 1; });
  if (value.is_map()) return value.entries().empty();
  return value.as_int() == 0 || value.text().empty();
}

bool has_number(const Tree& config, std::initializer_list<const char*> keys) {
  return std::ranges::any_of(keys, [&](const char* key) {
    const Tree* value = config.find(key);
    return value && value->as_int().value_or(0) > 0;
  });
}

}  // namespace

const Architecture* find_architecture(std::string_view name) {
  const auto found = std::ranges::find(architectures, name, &Architecture::name);
  return found == architectures.end() ? nullptr : &*found;
}

Standard standard_attention(const Tree& config, std::string_view architecture) {
  const std::string name = base::lower(architecture);
  for (const std::string_view part : other_kinds)
    if (name.contains(part)) return {nullptr, fmt::format("may leave out its {} layers", part)};
  for (const auto& [key, value] : config.entries()) {
    const bool is_other =
        std::ranges::any_of(other_kinds, [&](std::string_view part) { return key.contains(part); });
    if (is_other && !is_absent(value)) return {nullptr, fmt::format("has {}", base::printable(key, 40))};
  }
  if (!has_number(config, {"num_hidden_layers"}) || !has_number(config, {"num_attention_heads"}) ||
      !has_number(config, {"num_key_value_heads"}))
    return {nullptr, "does not name its heads of keys"};
  const Tree *window = config.find("sliding_window"), *used = config.find("use_sliding_window");
  if (window && !is_absent(*window) && !(used && used->as_bool() == false) && !config.find("layer_types"))
    return {nullptr, "does not say which layers use its sliding_window"};
  return {&plain, {}};
}

}  // namespace model
