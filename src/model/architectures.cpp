#include "model/architectures.hpp"

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

}  // namespace

const Architecture* find_architecture(std::string_view name) {
  const auto found = std::ranges::find(architectures, name, &Architecture::name);
  return found == architectures.end() ? nullptr : &*found;
}

}  // namespace model
