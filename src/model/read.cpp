#include "gpuadm/model/read.hpp"

#include "gpuadm/base/text.hpp"

#include "model/config.hpp"
#include "model/gguf_model.hpp"
#include "model/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace model {

namespace {

constexpr const char* index_name = "model.safetensors.index.json";
constexpr const char* quantization_name = "hf_quant_config.json";

const File* find(const Files& files, std::string_view name) {
  const auto found = std::ranges::find(files.files, name, &File::name);
  return found == files.files.end() ? nullptr : &*found;
}

std::vector<const File*> ending_with(const Files& files, std::string_view end) {
  std::vector<const File*> found;
  for (const File& file : files.files)
    if (file.name.ends_with(end)) found.push_back(&file);
  std::ranges::sort(found, {}, [](const File* file) { return file->name; });
  return found;
}

/// The files with weights that an engine loads: those of the index. Without one all, except a second copy in
/// Mistral's format (https://github.com/vllm-project/vllm, filter_duplicate_safetensors_files).
Result<std::vector<const File*>> weight_files(const Files& files, const std::optional<Index>& index) {
  if (!index) {
    auto all = ending_with(files, ".safetensors");
    const auto is_copy = [](const File* file) { return file->name.starts_with("consolidated"); };
    if (!std::ranges::all_of(all, is_copy)) std::erase_if(all, is_copy);
    return all;
  }
  std::vector<const File*> named;
  for (const std::string& name : index->files) {
    const File* file = find(files, name);
    if (!file) return bad_file(name, fmt::format("missing: {} names it", index_name), "copy the whole model");
    named.push_back(file);
  }
  return named;
}

/// A type of the file's format as a name of types.hpp.
std::string type_of(std::string_view written) {
  if (written == "BF16") return "bf16";
  if (written == "F16") return "f16";
  if (written == "F32") return "f32";
  if (written.starts_with("F8_")) return "fp8";
  if (written == "I8") return "int8";
  return base::lower(written);
}

/// Layers behind the last one are for speculative decoding (DeepSeek's multi-token prediction), which an
/// engine loads only on request.
Weights without_extra_layers(Weights weights, const Model& model) {
  for (const auto& [layer, sum] : weights.by_layer)
    if (model.layers > 0 && layer >= model.layers) {
      weights.stored -= std::min(sum.stored, weights.stored);
      weights.elements -= std::min(sum.elements, weights.elements);
    }
  return weights;
}

/// What is loaded of numbers with 32 bits: vLLM casts float32 to 16 bits
/// (https://docs.vllm.ai/en/latest/configuration/engine_args/ --dtype auto).
std::uint64_t loaded(std::uint64_t stored, std::uint64_t as_f32) {
  return stored - std::min(as_f32, stored) / 2;
}

/// What experts in mxfp4 take in addition: vLLM pads a token's vector to a multiple of 256
/// (vllm/model_executor/layers/quantization/mxfp4.py), 2,880 to 3,072 of gpt-oss.
std::uint64_t padding(const Model& model, std::uint64_t experts) {
  if (model.quantization != "mxfp4" || model.hidden == 0) return 0;
  const std::uint64_t padded = (model.hidden + 255) / 256 * 256;
  return static_cast<std::uint64_t>(static_cast<double>(experts) / static_cast<double>(model.hidden) *
                                    static_cast<double>(padded - model.hidden));
}

void enter_index(Model& model, const Index& index, const Quantization& quantization) {
  model.files = static_cast<int>(index.files.size());
  model.stored = index.total;
  const bool is_f32 = model.compute == "f32" && quantization.method.empty();
  model.bytes = loaded(index.total, is_f32 ? index.total : 0);
  model.bytes += padding(model, index.total - std::min(index.total, 4 * model.vocabulary * model.hidden));
  model.type = !quantization.type.empty() ? quantization.type : model.compute;
  if (index.parameters > 0)
    model.parameters = index.parameters;
  else if (quantization.method.empty() && !model.compute.empty())
    model.parameters = index.total / (is_f32 ? 4 : 2);
  model.largest_file = index.total / std::max<std::size_t>(index.files.size(), 1);
}

Result<Model> read_folder(const Files& files, const File& config_file) {
  Config config = TRY(read_config(config_file, find(files, quantization_name)));
  Model& model = config.model;
  model.quantization = config.quantization.method;
  std::optional<Index> index;
  if (const File* file = find(files, index_name)) index = TRY(read_index(*file));
  if (files.index_only && index) {
    if (index->total == 0) return bad_file(index_name, "does not say the size of the weights");
    enter_index(model, *index, config.quantization);
    model.weights_read = false;
    return std::move(model);
  }
  const auto weight = TRY(weight_files(files, index));
  if (weight.empty())
    return base::fail(base::Fault::parse,
                      fmt::format("{}: has no weights that gpuadm reads: no .safetensors and no .gguf file",
                                  base::printable(files.place, 300)),
                      "weights in .bin or .pt files can be converted to safetensors with transformers: "
                      "save_pretrained(DIR, safe_serialization=True)");
  Weights weights;
  for (const File* file : weight) {
    weights.add(TRY(read_safetensors(*file)));
    model.largest_file = std::max(model.largest_file, file->size);
    model.stored += file->size;
  }
  model.files = static_cast<int>(weight.size());
  weights.unpack();
  const std::string most_used = weights.most_used();
  const std::uint64_t as_f32 = model.quantization.empty() ? weights.by_type["F32"] : 0;
  weights = without_extra_layers(std::move(weights), model);
  model.bytes = loaded(weights.stored, as_f32) + padding(model, weights.by_type["U8"]);
  model.parameters = weights.elements;
  const bool packed = most_used == "U8" || most_used == "I32";
  model.type = packed && config.quantization.type.empty() ? "" : config.quantization.type;
  if (most_used == "F4") model.type = "mxfp4";
  if (model.type.empty() && !packed) model.type = type_of(most_used);
  if (model.compute.empty()) model.compute = model.type == "f16" ? "f16" : model.type == "bf16" ? "bf16" : "";
  return std::move(model);
}

/// "llama-00001-of-00003.gguf": what precedes the number, and the number of parts; 0: one file.
std::pair<std::string, int> part_in(const std::string& name) {
  constexpr std::size_t tail = std::string_view("-00001-of-00003.gguf").size();
  if (name.size() <= tail || name.substr(name.size() - tail + 6, 4) != "-of-") return {name, 0};
  const auto count = base::to_int(std::string_view(name).substr(name.size() - tail + 10, 5));
  if (!count || *count < 1 || *count > static_cast<int>(most_files)) return {name, 0};
  return {name.substr(0, name.size() - tail), static_cast<int>(*count)};
}

Result<Model> read_parts(const std::vector<const File*>& all) {
  const auto [stem, count] = part_in(all.front()->name);
  std::vector<std::string> others;
  for (const File* file : all)
    if (part_in(file->name) != std::pair{stem, count} || (count == 0 && file != all.front()))
      others.push_back(base::printable(file->name, 100));
  if (!others.empty())
    return base::fail(base::Fault::usage,
                      fmt::format("the folder has several models: {}, {}",
                                  base::printable(all.front()->name, 100), base::join(others, ", ")),
                      "name one of these files");
  if (count > 0 && all.size() != static_cast<std::size_t>(count))
    return bad_file(all.front()->name,
                    fmt::format("it has {} parts, and {} of them are there", count, all.size()),
                    "copy the whole model");
  const Gguf first = TRY(read_gguf(*all.front()));
  Model model = model_of(first);
  Weights weights = first.weights;
  bool is_summed = first.unknown_type.empty();
  std::uint64_t size = all.front()->size;
  model.largest_file = size;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Gguf part = TRY(read_gguf(*all[i]));
    weights.add(part.weights);
    if (model.unknown.empty()) model.unknown = part.unknown_type;
    is_summed = is_summed && part.unknown_type.empty();
    size += all[i]->size;
    model.largest_file = std::max(model.largest_file, all[i]->size);
  }
  if (const auto due = first.numbers.find("split.count");
      due != first.numbers.end() && due->second > static_cast<std::int64_t>(all.size()))
    return bad_file(all.front()->name,
                    fmt::format("it has {} parts, and {} of them are there", due->second, all.size()),
                    "copy the whole model");
  if (weights.stored == 0 && is_summed) return bad_file(all.front()->name, "it has no tensors");
  model.files = static_cast<int>(all.size());
  model.type = model.quantization = weights.most_used();
  weights = without_extra_layers(std::move(weights), model);
  model.bytes = is_summed ? weights.stored : size;
  model.stored = size;
  if (weights.elements > 0) model.parameters = weights.elements;
  model.compute = "f16";
  return model;
}

}  // namespace

Result<Model> read(const Files& files) {
  if (files.files.size() > most_files)
    return base::fail(base::Fault::parse, fmt::format("{}: has more than {} files of a model",
                                                      base::printable(files.place, 300), most_files));
  const File* config = find(files, "config.json");
  const auto gguf = ending_with(files, ".gguf");
  const bool has_safetensors = find(files, index_name) || !ending_with(files, ".safetensors").empty();
  auto model = [&]() -> Result<Model> {
    if (!gguf.empty() && !(config && has_safetensors)) return read_parts(gguf);
    if (config) return read_folder(files, *config);
    return base::fail(base::Fault::parse, "it has neither config.json nor a .gguf file",
                      "a model is a folder with config.json and .safetensors files, or a .gguf file");
  }();
  if (!model) {
    base::Error error = std::move(model.error());
    error.what = fmt::format("{}: {}", base::printable(files.place, 300), error.what);
    return std::unexpected(std::move(error));
  }
  model->place = files.place;
  return model;
}

}  // namespace model
