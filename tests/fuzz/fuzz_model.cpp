// The files of a model, by the first byte: a safetensors header, a GGUF header, config.json, an index,
// hf_quant_config.json, and what a host prints of them. A model that was read is compared with GPUs.
#include "gpuadm/model/fit.hpp"
#include "gpuadm/model/read.hpp"

#include "target.hpp"

#include <cstdlib>
#include <string>

namespace {

constexpr const char* usual_config =
    R"({"architectures":["LlamaForCausalLM"],"num_hidden_layers":2,"num_attention_heads":4,"hidden_size":64,)"
    R"("vocab_size":100,"max_position_embeddings":4096})";
constexpr std::uint64_t huge = std::uint64_t{1} << 50;

void compare(const model::Files& files) {
  const auto model = model::read(files);
  if (!model) return;
  for (const int gpus : {1, 3}) {
    model::Demand demand;
    demand.gpus = gpus;
    demand.memory_total = std::uint64_t{80} << 30;
    demand.capability = base::Version{9, 0, -1};
    const model::Fit fit = model::fit(*model, demand);
    if (!model->is_known() && fit.verdict == model::Verdict::fits) std::abort();
    (void)model::sentence_of(fit);
    (void)model::to_tree(fit);
  }
}

model::File file(const char* name, std::string_view head) {
  return {name, head.size(), std::string(head)};
}

}  // namespace

void try_input(std::string_view input) {
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  switch (input[0]) {
    case 's': {
      model::File weights = file("model.safetensors", text);
      compare({"input", {file("config.json", usual_config), weights}});
      weights.size = huge;
      return compare({"input", {file("config.json", usual_config), weights}});
    }
    case 'g': {
      model::File gguf = file("x.gguf", text);
      (void)model::needs_more(gguf);
      compare({"input", {gguf}});
      gguf.size = huge;
      (void)model::needs_more(gguf);
      return compare({"input", {gguf}});
    }
    case 'c':
      return compare({"input",
                      {file("config.json", text),
                       file("model.safetensors.index.json",
                            R"({"metadata":{"total_size":4096},"weight_map":{"a":"b.safetensors"}})")},
                      true});
    case 'i':
      return compare(
          {"input", {file("config.json", usual_config), file("model.safetensors.index.json", text)}, true});
    case 'q':
      return compare({"input",
                      {file("config.json", usual_config), file("hf_quant_config.json", text),
                       file("model.safetensors.index.json",
                            R"({"metadata":{"total_size":4096},"weight_map":{"a":"b.safetensors"}})")},
                      true});
    default:
      if (const auto files = model::parse_listing(text, "input")) compare(*files);
  }
}
