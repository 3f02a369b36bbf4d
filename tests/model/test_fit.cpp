#include "gpuadm/model/fit.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

constexpr std::uint64_t gib = 1u << 30;

/// Llama 3.1 8B.
model::Model llama() {
  model::Model model;
  model.architecture = "LlamaForCausalLM";
  model.parameters = 8'030'261'248;
  model.bytes = model.stored = 16'060'522'496;
  model.largest_file = 5 * gib;
  model.files = 4;
  model.type = model.compute = "bf16";
  model.layers = 32;
  model.heads = 32;
  model.kv_heads = 8;
  model.head_size = 128;
  model.hidden = 4096;
  model.intermediate = 14336;
  model.vocabulary = 128256;
  model.context = 131072;
  model.cache = {{32, 2048, 0, true}};
  return model;
}

model::Demand h100(std::uint64_t context, int concurrency) {
  model::Demand demand;
  demand.memory_total = 80 * gib;
  demand.capability = base::Version{9, 0, -1};
  demand.context = context;
  demand.concurrency = concurrency;
  return demand;
}

bool has_remark(const model::Fit& fit, model::Remark::Weight weight, std::string_view text) {
  return std::ranges::any_of(fit.remarks, [&](const model::Remark& remark) {
    return remark.weight == weight && remark.what.find(text) != std::string::npos;
  });
}

using Weight = model::Remark::Weight;

}  // namespace

TEST_CASE("fit: every figure of a model that fits is in one sentence") {
  const auto fit = model::fit(llama(), h100(32768, 4));
  CHECK(fit.verdict == model::Verdict::fits);
  CHECK(fit.bytes_per_token == 131072);
  CHECK(fit.cache == 16 * gib);
  CHECK(model::sentence_of(fit) ==
        "weights 15.0 GiB + cache 16.0 GiB (32,768 tokens x 4) + 3.0 GiB, of 72.0 GiB that vllm uses of 80.0 "
        "GiB "
        "free: fits on 1 GPU; at most 131,072 x 3");
  CHECK(fit.remarks.empty());
}

TEST_CASE("fit: what does not fit comes with what would") {
  model::Demand demand = h100(131072, 8);
  auto fit = model::fit(llama(), demand);
  CHECK(fit.verdict == model::Verdict::does_not_fit);
  CHECK(fit.alternatives == std::vector<std::string>{"a context of 55,296 tokens (--context 55296)",
                                                     "3 at once (--concurrency 3)", "4 GPUs (--gpus 4)"});
  demand = h100(8192, 1);
  demand.memory_total = 16 * gib;
  fit = model::fit(llama(), demand);
  CHECK(fit.verdict == model::Verdict::does_not_fit);
  CHECK(fit.alternatives.front() == "weights of 8 bits (fp8), about 8.5 GiB");
}

TEST_CASE("fit: heads are divided among GPUs as vLLM divides them") {
  model::Demand demand = h100(8192, 1);
  for (const int gpus : {1, 2, 4, 8, 16, 32}) {
    demand.gpus = gpus;
    CHECK(model::fit(llama(), demand).verdict == model::Verdict::fits);
  }
  demand.gpus = 3;
  CHECK(has_remark(model::fit(llama(), demand), Weight::blocks,
                   "32 attention heads cannot be divided among 3 GPUs"));
  model::Model six = llama();
  six.kv_heads = 6;
  demand.gpus = 4;
  CHECK(has_remark(model::fit(six, demand), Weight::blocks,
                   "6 heads for keys and values cannot be divided among 4 GPUs"));
  // 16 GPUs share 8 heads for keys and values: each has one.
  demand.gpus = 16;
  CHECK(model::fit(llama(), demand).cache == gib / 8);
  // MLA: every GPU has all of it.
  model::Model mla = llama();
  mla.kv_rank = 512;
  mla.cache = {{32, 576, 0, false}};
  CHECK(model::fit(mla, demand).cache == 8192ull * 576 * 32 * 2);
  // llama.cpp divides layers.
  demand.engine = "llama.cpp";
  demand.gpus = 3;
  CHECK(model::fit(llama(), demand).verdict == model::Verdict::fits);
}

TEST_CASE("fit: a type that the GPU lacks blocks, or is converted") {
  model::Demand demand = h100(8192, 1);
  demand.capability = base::Version{7, 5, -1};
  auto fit = model::fit(llama(), demand);
  CHECK(fit.verdict == model::Verdict::does_not_fit);
  CHECK(has_remark(fit, Weight::blocks, "lacks bf16: its compute capability is 7.5, needed is 8.0"));
  model::Model other = llama();
  other.type = "fp8";
  demand.capability = base::Version{8, 6, -1};
  fit = model::fit(other, demand);
  CHECK(fit.verdict == model::Verdict::fits);
  CHECK(has_remark(fit, Weight::warns, "lacks fp8 arithmetic: its compute capability is 8.6, needed is 8.9"));
  other.type = "mxfp4";
  demand.capability = base::Version{9, 0, -1};
  CHECK(has_remark(model::fit(other, demand), Weight::warns, "lacks mxfp4 arithmetic"));
  demand.capability = base::Version{7, 5, -1};
  CHECK(has_remark(model::fit(other, demand), Weight::blocks, "lacks mxfp4"));
  demand.capability = base::Version{8, 0, -1};
  demand.cache_type = "fp8";
  CHECK(has_remark(model::fit(llama(), demand), Weight::blocks, "lacks the cache type fp8"));
  demand.capability.reset();
  demand.cache_type.clear();
  CHECK(model::fit(llama(), demand).verdict == model::Verdict::unknown);
  // Every GPU computes with what int4 is converted to; the kernels need 7.5.
  other.type = "int4";
  other.compute = "f16";
  CHECK(model::fit(other, demand).verdict == model::Verdict::unknown);
  demand.capability = base::Version{7, 0, -1};
  CHECK(has_remark(model::fit(other, demand), Weight::blocks,
                   "lacks int4: its compute capability is 7.0, needed is 7.5"));
  demand.capability = base::Version{7, 5, -1};
  CHECK(model::fit(other, demand).verdict == model::Verdict::fits);
  other.type = "i64";
  CHECK(has_remark(model::fit(other, demand), Weight::unknown, "the type i64"));
}

TEST_CASE("fit: what is unknown is never fine") {
  model::Model strange = llama();
  strange.unknown = "gpuadm does not know the architecture X";
  strange.cache.clear();
  CHECK(model::fit(strange, h100(8192, 1)).verdict == model::Verdict::unknown);
  model::Demand demand = h100(8192, 1);
  demand.engine = "triton";
  CHECK(model::fit(llama(), demand).verdict == model::Verdict::unknown);
  demand = h100(8192, 1);
  demand.memory_total = 0;
  CHECK(model::fit(llama(), demand).verdict == model::Verdict::unknown);
  model::Model no_context = llama();
  no_context.context = 0;
  CHECK(model::fit(no_context, h100(0, 1)).verdict == model::Verdict::unknown);
  CHECK(model::fit(no_context, h100(8192, 1)).verdict == model::Verdict::fits);
  for (const auto member : {&model::Model::hidden, &model::Model::intermediate, &model::Model::vocabulary}) {
    model::Model without = llama();
    without.*member = 0;
    const auto fit = model::fit(without, h100(8192, 1));
    CHECK(fit.verdict == model::Verdict::unknown);
    CHECK(!fit.overhead);
  }
  // The weights alone are too large, whatever the cache is.
  demand = h100(8192, 1);
  demand.memory_total = 8 * gib;
  CHECK(model::fit(strange, demand).verdict == model::Verdict::does_not_fit);
}

TEST_CASE("fit: context, driver, memory and /dev/shm are compared") {
  CHECK(has_remark(model::fit(llama(), h100(200'000, 1)), Weight::blocks,
                   "the context of 200,000 tokens is longer than the 131,072"));
  model::Demand demand = h100(8192, 1);
  demand.image_cuda = "13.0";
  CHECK(model::fit(llama(), demand).verdict == model::Verdict::unknown);
  demand.needed_driver = "580.65.06";
  demand.driver = "570.86";
  CHECK(has_remark(model::fit(llama(), demand), Weight::blocks,
                   "the image has CUDA 13.0, which needs driver 580.65.06"));
  demand.driver = "580.95.05";
  CHECK(model::fit(llama(), demand).verdict == model::Verdict::fits);
  demand.host_memory = 4 * gib;
  CHECK(has_remark(model::fit(llama(), demand), Weight::warns, "loading will be slow"));
  demand.gpus = 2;
  demand.shm = 64u << 20;
  CHECK(has_remark(model::fit(llama(), demand), Weight::blocks,
                   "/dev/shm has 64.0 MiB, and 2 GPUs need 2.0 GiB"));
  demand = h100(8192, 1);
  demand.memory_free = 60 * gib;
  const auto fit = model::fit(llama(), demand);
  CHECK(fit.verdict == model::Verdict::fits);
  CHECK(fit.available == 60 * gib);
  CHECK(has_remark(fit, Weight::warns, "it does not start with its defaults"));
}

TEST_CASE("fit: layers with a window store the window and one batch") {
  model::Model model = llama();
  model.cache = {{16, 2048, 0, true}, {16, 2048, 1024, true}};
  model::Demand demand = h100(131072, 1);
  demand.engine = "llama.cpp";
  demand.cache_type = "q8_0";
  CHECK(model::fit(model, demand).cache ==
        static_cast<std::uint64_t>(16.0 * 2048 * (131072 + 1024 + 512) * 34 / 32));
}

TEST_CASE("fit: sizes that cannot be are too large, and do not overflow") {
  model::Model model = llama();
  model.cache = {{10'000, 200'000'000'000, 0, true}};
  const auto fit = model::fit(model, h100(1'000'000, 1'000'000));
  CHECK(fit.verdict == model::Verdict::does_not_fit);
  CHECK(fit.cache == 9'000'000'000'000'000'000ull);
}

TEST_CASE("fit: the type of the cache is that of the files, where the engine takes it") {
  model::Model model = llama();
  model.cache_type = "fp8";
  model.cache_method = "compressed-tensors";
  auto fit = model::fit(model, h100(32768, 4));
  CHECK(fit.verdict == model::Verdict::fits);
  CHECK(fit.cache == 8 * gib);
  model::Demand demand = h100(32768, 4);
  demand.engine = "sglang";
  fit = model::fit(model, demand);
  CHECK(fit.verdict == model::Verdict::unknown);
  CHECK(!fit.cache);
  CHECK(has_remark(fit, Weight::unknown, "the model wants a cache of fp8"));
  demand.cache_type = "f16";
  fit = model::fit(model, demand);
  CHECK(fit.cache == 16 * gib);
  CHECK(fit.verdict == model::Verdict::fits);
  model.cache_method = "modelopt";
  demand.cache_type = "auto";
  CHECK(model::fit(model, demand).cache == 8 * gib);
  model.cache_type = "4 bits (int)";
  fit = model::fit(model, h100(32768, 4));
  CHECK(fit.verdict == model::Verdict::unknown);
  CHECK(has_remark(fit, Weight::unknown, "4 bits (int)"));
}

TEST_CASE("fit: chunks that only some versions of vLLM use do not make a model fit") {
  model::Model model = llama();
  model.cache = {{24, 2048, 8192, true, true}, {8, 2048, 0, true}};
  auto fit = model::fit(model, h100(32768, 4));
  CHECK(fit.verdict == model::Verdict::fits);
  CHECK(fit.remarks.empty());
  fit = model::fit(model, h100(131072, 6));
  CHECK(fit.verdict == model::Verdict::unknown);
  CHECK(has_remark(fit, Weight::unknown, "24 layers that attend to chunks: their cache would be 96.0 GiB"));
  model.cache.front().chunked = false;
  CHECK(model::fit(model, h100(131072, 6)).verdict == model::Verdict::fits);
}

TEST_CASE("fit: weights of which only the size is known are named") {
  model::Model model = llama();
  model.weights_read = false;
  const auto fit = model::fit(model, h100(32768, 4));
  CHECK(fit.verdict == model::Verdict::fits);
  CHECK(has_remark(fit, Weight::warns, "the weights were not read"));
}
