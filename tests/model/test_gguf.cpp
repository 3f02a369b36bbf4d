#include "model/files.hpp"

#include <doctest/doctest.h>

using model_files::error_of;
using model_files::tiny_gguf;
using model_files::tiny_gguf_data;

namespace {

model::Files one(model::File file) {
  return {"models:/x", {std::move(file)}};
}

}  // namespace

TEST_CASE("model: the header of a GGUF file is read without its tensors") {
  const auto model = model::read(one(tiny_gguf().file("x.gguf", tiny_gguf_data)));
  REQUIRE(model);
  CHECK(model->format == model::Format::gguf);
  CHECK(model->is_known());
  CHECK(model->architecture == "llama");
  CHECK(model->bytes == tiny_gguf_data);
  CHECK(model->parameters == 64 * 64);
  CHECK(model->type == "Q8_0");
  CHECK(model->layers == 2);
  CHECK(model->kv_heads == 2);
  CHECK(model->vocabulary == 100);
  CHECK(model->context == 4096);
  REQUIRE(model->cache.size() == 1);
  CHECK(model->cache[0] == model::CacheLayers{2, 2 * (16 + 16), 0, true});
}

TEST_CASE("model: an invalid GGUF file is named with the reason") {
  using model::File;
  CHECK(error_of(one({"x.gguf", 40, "<!DOCTYPE html><html>Sign in"})) ==
        "models:/x: x.gguf: is an HTML page and not a part of a model: a login or error page was downloaded");
  CHECK(error_of(one({"x.gguf", 130, "version https://git-lfs.github.com/spec/v1\noid sha256:1\n"})) ==
        "models:/x: x.gguf: is a pointer of git-lfs: the file itself was not downloaded");
  CHECK(error_of(one({"x.gguf", 40, "ggjt----"})) ==
        "models:/x: x.gguf: is not a GGUF file: it begins with 'ggjt' instead of 'GGUF'");
  CHECK(error_of(one({"x.gguf", 4, "GGUF"})) ==
        "models:/x: x.gguf: has version 0 of GGUF; gpuadm reads 2 and 3");
  CHECK(error_of(one(tiny_gguf().file("x.gguf", tiny_gguf_data, 1))) ==
        "models:/x: x.gguf: has version 1 of GGUF; gpuadm reads 2 and 3");
  CHECK(error_of(one(tiny_gguf().file("x.gguf", tiny_gguf_data, 0x03000000))) ==
        "models:/x: x.gguf: is a big-endian GGUF file; GPUs need a little-endian one");
}

TEST_CASE("model: a GGUF file that ends before its tensors, or in its header, is truncated") {
  CHECK(error_of(one(tiny_gguf().file("x.gguf", tiny_gguf_data - 1)))
            .starts_with("models:/x: x.gguf: truncated: it has "));
  model::File file = tiny_gguf().file("x.gguf", tiny_gguf_data);
  file.head.resize(file.head.size() - 10);
  CHECK(model::needs_more(file));
  CHECK(error_of(one(file)) == "models:/x: x.gguf: its header does not end within the bytes that were read");
  file.size = file.head.size();
  CHECK_FALSE(model::needs_more(file));
  CHECK(error_of(one(file)) == "models:/x: x.gguf: truncated: it ends in its header");
}

TEST_CASE("model: impossible numbers in a GGUF header are refused, and take no memory") {
  model::File many = tiny_gguf().file("x.gguf", tiny_gguf_data);
  many.head.replace(8, 8, model_files::bytes_of(1ull << 60, 8));
  CHECK(error_of(one(many)).find("has impossible counts") != std::string::npos);
  const auto with = [](model_files::Tensor tensor) {
    return error_of(one(tiny_gguf().tensor(std::move(tensor)).file("x.gguf", tiny_gguf_data)));
  };
  CHECK(with({"huge", {1ull << 40, 1ull << 40}, 0, 0}).find("the tensor huge has an impossible shape") !=
        std::string::npos);
  CHECK(with({"odd", {33}, 8, 0}).find("the tensor odd has an impossible shape") != std::string::npos);
  CHECK(with({"far", {32}, 8, ~0ull}).find("the tensor far has an impossible offset") != std::string::npos);
  model_files::GgufFile list = tiny_gguf();
  model::File long_list = list.list("llama.attention.head_count", {1}).file("x.gguf", tiny_gguf_data);
  const std::size_t place = long_list.head.rfind(model_files::bytes_of(1, 8));
  REQUIRE(place != std::string::npos);
  CHECK(error_of(one(tiny_gguf().number("general.alignment", 0).file("x.gguf", tiny_gguf_data)))
            .find("impossible general.alignment") != std::string::npos);
}

TEST_CASE("model: an unknown type of tensors or an unknown architecture is unknown, and not fine") {
  auto model = model::read(one(tiny_gguf().tensor({"new", {64}, 99, 0}).file("x.gguf", tiny_gguf_data)));
  REQUIRE(model);
  CHECK(model->unknown == "gpuadm does not know the type 99 of its tensors");
  CHECK(model->cache.empty());
  model_files::GgufFile file;
  file.text("general.architecture", "mamba").number("mamba.block_count", 4);
  model = model::read(one(file.tensor({"a", {32}, 8, 0}).file("x.gguf", 34)));
  REQUIRE(model);
  CHECK(model->unknown == "gpuadm does not know the architecture mamba");
  CHECK(model->bytes == 34);
}

TEST_CASE("model: the parts of a GGUF file are one model, and a missing part is named") {
  const auto part = [](int number) {
    model_files::GgufFile file;
    if (number == 1) file = tiny_gguf().number("split.count", 2);
    if (number == 2) file.tensor({"blk.1.attn_q.weight", {64, 64}, 8, 0});
    return file.file("x-0000" + std::to_string(number) + "-of-00002.gguf", tiny_gguf_data);
  };
  const auto model = model::read({"p", {part(2), part(1)}});
  REQUIRE(model);
  CHECK(model->files == 2);
  CHECK(model->bytes == 2 * tiny_gguf_data);
  CHECK(error_of({"p", {part(1)}}) == "p: x-00001-of-00002.gguf: it has 2 parts, and 1 of them are there");
  CHECK(
      error_of(
          {"p", {tiny_gguf().file("a.gguf", tiny_gguf_data), tiny_gguf().file("b.gguf", tiny_gguf_data)}}) ==
      "p: the folder has several models: a.gguf, b.gguf");
}

TEST_CASE("model: layers of a GGUF file with a window are counted by the architecture or by the file") {
  const auto cache_of = [](model_files::GgufFile file, const std::string& arch, int layers) {
    file.text("general.architecture", arch);
    file.number(arch + ".block_count", static_cast<std::uint64_t>(layers))
        .number(arch + ".embedding_length", 64);
    file.number(arch + ".attention.head_count", 4).number(arch + ".attention.sliding_window", 512);
    const auto model = model::read(one(file.tensor({"a", {32}, 8, 0}).file("x.gguf", 34)));
    REQUIRE(model);
    return model->cache;
  };
  using Layers = std::vector<model::CacheLayers>;
  CHECK(cache_of({}, "gemma3", 13) == Layers{{11, 128, 512, true}, {2, 128, 0, true}});
  CHECK(cache_of({}, "gemma2", 4) == Layers{{2, 128, 512, true}, {2, 128, 0, true}});
  CHECK(cache_of({}, "phi3", 4) == Layers{{4, 128, 0, true}});
  model_files::GgufFile listed;
  listed.list("gemma3.attention.sliding_window_pattern", {0, 1, 1}, 7);
  CHECK(cache_of(listed, "gemma3", 3) == Layers{{1, 128, 0, true}, {2, 128, 512, true}});
}
