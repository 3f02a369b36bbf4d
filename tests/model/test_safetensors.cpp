#include "model/files.hpp"

#include <doctest/doctest.h>

using model_files::config_file;
using model_files::error_of;
using model_files::safetensors;
using model_files::tiny_config;
using model_files::tiny_header;
using model_files::tiny_safetensors;

namespace {

std::string error_with(model::File weights) {
  return error_of({"m", {config_file(tiny_config), std::move(weights)}});
}
std::string error_of_header(const std::string& header) {
  return error_with(safetensors("model.safetensors", header, 4096));
}
std::string tensor(const std::string& rest) {
  return "{\"a\":{" + rest + "}}";
}

}  // namespace

TEST_CASE("model: a folder with config.json and safetensors is read from headers") {
  const auto model = model::read(tiny_safetensors());
  REQUIRE(model);
  CHECK(model->is_known());
  CHECK(model->bytes == 4096);
  CHECK(model->stored == 4096 + 8 + tiny_header.size());
  CHECK(model->parameters == 64 * 32);
  CHECK(model->type == "bf16");
  CHECK(model->head_size == 16);
  CHECK(model->cache == std::vector<model::CacheLayers>{{2, 64, 0, true}});
}

TEST_CASE("model: an invalid or truncated safetensors file is named with the reason") {
  CHECK(error_with(safetensors("model.safetensors", tiny_header, 4095))
            .starts_with("m: model.safetensors: truncated"));
  CHECK(error_with({"model.safetensors", 20, "<html><body>401</body>"}).find("is an HTML page") !=
        std::string::npos);
  CHECK(error_with({"model.safetensors", 130, "version https://git-lfs.github.com/spec/v1\n"})
            .find("is a pointer of git-lfs") != std::string::npos);
  CHECK(error_with({"model.safetensors", 4, "abcd"}) ==
        "m: model.safetensors: too short for a safetensors file");
  CHECK(error_with({"model.safetensors", 99, std::string("PK\3\4") + std::string(20, 'x')})
            .find("is not a safetensors file") != std::string::npos);
  CHECK(error_with({"model.safetensors", 1u << 30, model_files::bytes_of(1u << 29, 8) + "{\"a\""})
            .find("its header would have 512.0 MiB") != std::string::npos);
  CHECK(error_with({"model.safetensors", 30, model_files::bytes_of(100, 8) + "{\"a\":{}}"}) ==
        "m: model.safetensors: truncated: it ends in its header");
}

TEST_CASE("model: impossible tensors are refused") {
  CHECK(error_of_header("{}").find("it has no tensors") != std::string::npos);
  CHECK(error_of_header(R"({"a":1})").find("the tensor a is not a tensor") != std::string::npos);
  CHECK(error_of_header(R"({"a":[)").find("header:1:") != std::string::npos);
  CHECK(
      error_of_header(tensor(R"("dtype":"Z9","shape":[1],"data_offsets":[0,2])")).find("unknown type: Z9") !=
      std::string::npos);
  CHECK(error_of_header(tensor(R"("dtype":"BF16","shape":[2],"data_offsets":[0,2])"))
            .find("another size than its shape and its type") != std::string::npos);
  CHECK(error_of_header(tensor(R"("dtype":"BF16","shape":[-1],"data_offsets":[0,2])"))
            .find("an impossible shape") != std::string::npos);
  CHECK(error_of_header(tensor(R"("dtype":"BF16","shape":[9223372036854775807,9],"data_offsets":[0,2])"))
            .find("an impossible shape") != std::string::npos);
  CHECK(error_of_header(tensor(R"("dtype":"BF16","shape":[1],"data_offsets":[2,0])"))
            .find("impossible offsets") != std::string::npos);
  CHECK(error_of_header(tensor(R"("dtype":"BF16","shape":[1],"data_offsets":[2])"))
            .find("impossible offsets") != std::string::npos);
}

TEST_CASE("model: the index decides which files are weights, and a missing one is named") {
  const std::string index =
      R"({"metadata":{"total_size":4096},"weight_map":{"a":"model-00001-of-00001.safetensors"}})";
  model::Files files{"m",
                     {config_file(tiny_config),
                      {"model.safetensors.index.json", index.size(), index},
                      safetensors("consolidated.safetensors", tiny_header, 4096)}};
  CHECK(error_of(files).find("model-00001-of-00001.safetensors: missing") != std::string::npos);
  files.files.push_back(safetensors("model-00001-of-00001.safetensors", tiny_header, 4096));
  const auto model = model::read(files);
  REQUIRE(model);
  CHECK(model->files == 1);
  CHECK(model->bytes == 4096);
  const std::string outside = R"({"weight_map":{"a":"../../etc/shadow"}})";
  files.files[1] = {"model.safetensors.index.json", outside.size(), outside};
  CHECK(error_of(files).find("names a file outside of the model: ../../etc/shadow") != std::string::npos);
}

TEST_CASE("model: the cache of an unknown architecture with plain attention is computed, and said") {
  const std::string config =
      R"({"architectures":["NewForCausalLM"],"num_hidden_layers":4,"num_attention_heads":8,
    "num_key_value_heads":2,"head_dim":16,"use_cla":false,"attn_type_list":[1,1,1,1],"kv_lora_rank":null,
    "moe_topk":[2,2,2,2],"num_experts":8,"model_max_length":1024})";
  const auto model =
      model::read({"m", {config_file(config), safetensors("model.safetensors", tiny_header, 4096)}});
  REQUIRE(model);
  CHECK(model->unknown.empty());
  CHECK(model->is_assumed);
  REQUIRE(model->cache.size() == 1);
  CHECK(model->cache[0].layers == 4);
  CHECK(model->cache[0].values == 2 * (16 + 16));
  CHECK(model->experts_used == 2);
  CHECK(model->context == 1024);
}

TEST_CASE("model: a quantization that only hf_quant_config.json describes is read") {
  const std::string config =
      R"({"architectures":["LlamaForCausalLM"],"num_hidden_layers":2,"num_attention_heads":2,
    "num_key_value_heads":1,"head_dim":8})";
  const std::string quantization =
      R"({"producer":{"name":"modelopt"},"quantization":{"quant_algo":"NVFP4","kv_cache_quant_algo":"FP8"}})";
  const auto model = model::read({"m",
                                  {config_file(config),
                                   {"hf_quant_config.json", quantization.size(), quantization},
                                   safetensors("model.safetensors", tiny_header, 4096)}});
  REQUIRE(model);
  CHECK(model->quantization == "modelopt");
  CHECK(model->type == "nvfp4");
  CHECK(model->cache_type == "fp8");
  CHECK_FALSE(model->is_assumed);
}

TEST_CASE("model: weights of multi-token prediction are not loaded, and pairs of 4-bit numbers are two") {
  const std::string config =
      R"({"architectures":["LlamaForCausalLM"],"num_hidden_layers":1,"num_attention_heads":2,
    "num_key_value_heads":1,"head_dim":8})";
  const std::string header =
      R"({"model.layers.0.a.weight":{"dtype":"I8","shape":[16,64],"data_offsets":[0,1024]},
    "model.layers.0.a.scale":{"dtype":"F8_E8M0","shape":[16,4],"data_offsets":[1024,1088]},
    "mtp.layers.0.b.weight":{"dtype":"BF16","shape":[4,64],"data_offsets":[1088,1600]}})";
  const auto model =
      model::read({"m", {config_file(config), safetensors("model.safetensors", header, 1600)}});
  REQUIRE(model);
  CHECK(model->parameters == 2048);
  CHECK(model->bytes == 1088);
  CHECK(model->type == "mxfp4");
}

TEST_CASE("model: an invalid config.json is named, and an unknown architecture is unknown") {
  const auto with = [](const std::string& config) {
    return model::Files{"m", {config_file(config), safetensors("model.safetensors", tiny_header, 4096)}};
  };
  CHECK(error_of(with("<!doctype html>")).find("config.json: is an HTML page") != std::string::npos);
  CHECK(error_of(with("[]")) == "m: config.json: is not a JSON object");
  CHECK(error_of(with("{")).find("config.json:1:") != std::string::npos);
  for (const auto& [config, why] : {
           std::pair{
               R"({"architectures":["NewForCausalLM"]})",
               "gpuadm does not know the architecture NewForCausalLM, whose config.json does not name its "
               "heads of keys"},
           std::pair{
               R"({"architectures":["NewForCausalLM"],"num_hidden_layers":2,"num_attention_heads":2,
                         "num_key_value_heads":1,"head_dim":8,"mamba_d_state":16})",
               "gpuadm does not know the architecture NewForCausalLM, whose config.json has mamba_d_state"},
           std::pair{
               R"({"architectures":["NewForCausalLM"],"num_hidden_layers":2,"num_attention_heads":2,
                         "num_key_value_heads":1,"head_dim":8,"sliding_window":128})",
               "gpuadm does not know the architecture NewForCausalLM, whose config.json does not say which "
               "layers use its sliding_window"},
           std::pair{R"({})", "gpuadm does not know the architecture of this model"},
           std::pair{R"({"architectures":["LlamaForCausalLM"]})",
                     "its number of layers is missing or impossible"},
           std::pair{R"({"architectures":["LlamaForCausalLM"],"num_hidden_layers":99999999})",
                     "its number of layers is missing or impossible"},
           std::pair{R"({"architectures":["GptOssForCausalLM"],"num_hidden_layers":2,"num_attention_heads":2,
                         "head_dim":8,"layer_types":["full_attention","linear_attention"]})",
                     "gpuadm does not know layers of the kind linear_attention"},
       }) {
    const auto model = model::read(with(config));
    REQUIRE(model);
    CHECK(model->unknown == why);
    CHECK(model->cache.empty());
    CHECK(model->bytes == 4096);
  }
}

TEST_CASE("model: numbers of 32 bits are loaded as 16 bits, and packed numbers are counted") {
  const auto header = [](const std::string& name, const char* type, int size) {
    return "{\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":[" + std::to_string(size) +
           "],\"data_offsets\":[0,4096]}}";
  };
  auto model = model::read(
      {"m", {config_file(tiny_config), safetensors("a.safetensors", header("w", "F32", 1024), 4096)}});
  REQUIRE(model);
  CHECK(model->bytes == 2048);
  CHECK(model->parameters == 1024);
  std::string config = tiny_config;
  config.insert(1, R"("quantization_config":{"quant_method":"awq","bits":4},)");
  model = model::read(
      {"m", {config_file(config), safetensors("a.safetensors", header("q.qweight", "I32", 1024), 4096)}});
  REQUIRE(model);
  CHECK(model->type == "int4");
  CHECK(model->quantization == "awq");
  CHECK(model->bytes == 4096);
  CHECK(model->parameters == 8192);
}

TEST_CASE("model: layers for speculative decoding are not loaded") {
  const std::string header =
      R"({"model.layers.1.w":{"dtype":"BF16","shape":[512],"data_offsets":[0,1024]},)"
      R"("model.layers.2.w":{"dtype":"BF16","shape":[512],"data_offsets":[1024,2048]}})";
  const auto model =
      model::read({"m", {config_file(tiny_config), safetensors("a.safetensors", header, 2048)}});
  REQUIRE(model);
  CHECK(model->bytes == 1024);
  CHECK(model->stored > 2048);
}
