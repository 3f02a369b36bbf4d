#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/model/fit.hpp"

#include "case_text.hpp"
#include "model/files.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <vector>

using base::Tree;

namespace {

/// Bits of a number of safetensors, and blocks of GGUF: id, numbers and bytes.
const std::map<std::string, std::uint64_t> bits = {{"BF16", 16}, {"I8", 8}, {"U8", 8}, {"F8_E4M3", 8}};
struct Block {
  std::uint32_t id;
  std::uint64_t count, bytes;
};
const std::map<std::string, Block> blocks = {
    {"F32", {0, 1, 4}},       {"F16", {1, 1, 2}},       {"Q4_0", {2, 32, 18}},    {"Q8_0", {8, 32, 34}},
    {"Q4_K", {12, 256, 144}}, {"Q5_K", {13, 256, 176}}, {"Q6_K", {14, 256, 210}}, {"MXFP4", {39, 32, 17}}};

std::uint64_t number_at(const Tree& tree, const char* key) {
  const Tree* value = tree.find(key);
  REQUIRE_MESSAGE(value, key);
  return static_cast<std::uint64_t>(value->as_int().value_or(0));
}

/// Calls `add` with name, shape and type of each tensor of a case.
template <class Add>
void each_tensor(const Tree& test, Add add) {
  int number = 0;
  for (const Tree& row : test.find("tensors")->items()) {
    std::vector<std::uint64_t> shape;
    for (const Tree& size : row.find("shape")->items())
      shape.push_back(static_cast<std::uint64_t>(*size.as_int()));
    for (std::uint64_t i = 0; i < number_at(row, "count"); ++i)
      add(fmt::format("t{}.{}", number++, text_of(row, "name")), text_of(row, "name"), shape,
          text_of(row, "type"));
  }
}

std::uint64_t elements_of(const std::vector<std::uint64_t>& shape) {
  std::uint64_t elements = 1;
  for (const std::uint64_t size : shape) elements *= size;
  return elements;
}

model::Files safetensors_of(const Tree& test) {
  std::string header = "{";
  std::uint64_t offset = 0;
  each_tensor(test,
              [&](std::string name, const std::string& known, const auto& shape, const std::string& type) {
                if (known.starts_with("model.layers.")) name = known + "." + name;
                const std::uint64_t end = offset + elements_of(shape) * bits.at(type) / 8;
                std::string sizes;
                for (const std::uint64_t size : shape)
                  sizes += fmt::format("{}{}", sizes.empty() ? "" : ",", size);
                header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                      header.size() > 1 ? "," : "", name, type, sizes, offset, end);
                offset = end;
              });
  return {"case",
          {model_files::config_file(base::json::write(*test.find("config"))),
           model_files::safetensors("model.safetensors", header + "}", offset)}};
}

model::Files gguf_of(const Tree& test) {
  model_files::GgufFile file;
  for (const auto& [key, value] : test.find("gguf")->entries()) {
    if (value.as_string())
      file.text(key, *value.as_string());
    else
      file.number(key, static_cast<std::uint64_t>(value.as_int().value_or(0)));
  }
  file.tokens(number_at(test, "vocabulary"));
  std::uint64_t offset = 0;
  each_tensor(test, [&](const std::string& name, const auto&, const auto& shape, const std::string& type) {
    const Block& block = blocks.at(type);
    file.tensor({name, shape, block.id, offset});
    offset += elements_of(shape) / block.count * block.bytes;
  });
  return {"case", {file.file("model.gguf", offset)}};
}

double relative_error(double computed, double reported) {
  return std::abs(computed - reported) / reported;
}

/// Bytes of the cache as the case describes them, computed and reported.
std::pair<double, double> cache_of(const model::Model& model, const Tree& expected) {
  model::Demand demand;
  demand.memory_total = 1ull << 45;
  demand.capability = base::Version{10, 0, -1};
  demand.context = 2048;
  if (expected.find("MiB")) {
    demand.engine = text_of(expected, "engine");
    demand.context = number_at(expected, "context");
    demand.concurrency = static_cast<int>(number_at(expected, "sequences"));
    return {static_cast<double>(model::fit(model, demand).cache.value_or(0)),
            expected.find("MiB")->as_real().value_or(0) * (1u << 20)};
  }
  return {model::fit(model, demand).bytes_per_token.value_or(0),
          static_cast<double>(number_at(expected, "bytesPerToken"))};
}

}  // namespace

TEST_CASE("model: weights and cache of public models are those that engines report") {
  int count = 0;
  double worst_weights = 0, worst_cache = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GPUADM_TESTS_DIR "/cases/model-fit")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    const auto test = base::yaml::read(case_text(entry.path()), name);
    REQUIRE(test);
    const auto model = model::read(test->find("config") ? safetensors_of(*test) : gguf_of(*test));
    REQUIRE_MESSAGE(model, (model ? "" : model.error().what));
    CHECK_MESSAGE(model->is_known(), model->unknown);
    const Tree &weights = *test->find("weights"), &cache = *test->find("cache");
    const double size = static_cast<double>(model->bytes) / (1u << 30);
    const double wrong_weights = relative_error(size, weights.find("GiB")->as_real().value_or(0));
    CHECK_MESSAGE(wrong_weights <= 0.02,
                  fmt::format("{}: weights {:.2f} GiB, off by {:.2f} %", name, size, wrong_weights * 100));
    const auto [computed, reported] = cache_of(*model, cache);
    const double wrong_cache = relative_error(computed, reported);
    CHECK_MESSAGE(wrong_cache <= 0.05,
                  fmt::format("{}: cache {} bytes, off by {:.2f} %", name, computed, wrong_cache * 100));
    CHECK(!text_of(weights, "source").empty());
    CHECK(!text_of(cache, "source").empty());
    CHECK(!text_of(*test, "configSource").empty());
    worst_weights = std::max(worst_weights, wrong_weights);
    worst_cache = std::max(worst_cache, wrong_cache);
    ++count;
  }
  CHECK(count >= 25);
  MESSAGE(fmt::format("{} models: weights off by at most {:.2f} %, cache by {:.2f} %", count,
                      worst_weights * 100, worst_cache * 100));
}
