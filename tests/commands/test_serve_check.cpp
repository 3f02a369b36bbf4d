#include "commands/workloads/serve/check_gpus.hpp"
#include "commands/workloads/serve/model/model_place.hpp"

#include <doctest/doctest.h>

namespace {

constexpr const char* csv =
    "pci_device_id,subsystem_vendor:device,product_name,pci_ids_name,chip,architecture,compute_capability\n"
    "1eb8,,Tesla T4,Tesla T4,TU104,Turing,7.5\n"
    "2335,,NVIDIA H200,H200 SXM,GH100,Hopper,9.0\n"
    "2336,,NVIDIA H200 NVL,H200 NVL,GH100,Hopper,9.0\n"
    "aaaa,,NVIDIA X,X,A,A,8.0\n"
    "bbbb,,NVIDIA X 2,X 2,A,A,8.9\n";

facts::Gpu gpu(const char* name, std::uint64_t mib, const char* free) {
  facts::Gpu gpu;
  gpu.name = name;
  gpu.memory_mib = mib;
  gpu.compute_capability = "9.0";
  gpu.readings = {{"fb_memory_usage/free", free}};
  return gpu;
}

}  // namespace

TEST_CASE("serve check: a place is a hub, a storage, or a path of this machine") {
  using Kind = commands::ModelPlace::Kind;
  const auto kind = [](const char* text) {
    const auto place = commands::parse_model_place(text);
    return place ? place->kind : Kind(9);
  };
  CHECK(kind("./llama") == Kind::local);
  CHECK(kind("/srv/m/x.gguf") == Kind::local);
  CHECK(kind("./a:/b") == Kind::local);
  CHECK(kind("models:/llama-8b/") == Kind::storage);
  CHECK(kind("hf:Qwen/Qwen3-8B@v1") == Kind::hub);
  CHECK(kind("hf:Qwen") == Kind(9));
  CHECK(kind("hf:a/b@../c") == Kind(9));
  CHECK(kind("hf:a/b/c") == Kind(9));
  CHECK(kind("models:/../x") == Kind(9));
  const auto place = commands::parse_model_place("data:/models/llama/");
  REQUIRE(place);
  CHECK(place->storage == "data");
  CHECK(place->path == "models/llama");
}

TEST_CASE("serve check: sizes and products of GPUs are read, and what is ambiguous is refused") {
  CHECK(commands::parse_gpu_memory("80GiB") == 80ull << 30);
  CHECK(commands::parse_gpu_memory("80GB") == 80'000'000'000ull);
  CHECK(commands::parse_gpu_memory("24Gi") == 24ull << 30);
  for (const char* text : {"", "80", "-1GiB", "x", "1e30Gi"}) CHECK_FALSE(commands::parse_gpu_memory(text));
  CHECK(commands::capability_of("H200", csv) == base::Version{9, 0, -1});
  CHECK(commands::capability_of("tesla t4", csv) == base::Version{7, 5, -1});
  CHECK_FALSE(commands::capability_of("X", csv));
  CHECK_FALSE(commands::capability_of("H2", csv));
  CHECK_FALSE(commands::capability_of("", csv));
}

TEST_CASE(
    "serve check: the GPUs with the most free memory are taken, without those in quarantine or with MIG") {
  facts::Facts facts;
  facts.nvidia.gpus = {gpu("A", 80000, "1000 MiB"), gpu("B", 80000, "79000 MiB"),
                       gpu("C", 80000, "78000 MiB"), gpu("D", 80000, "80000 MiB")};
  facts.nvidia.gpus[3].mig = "Enabled";
  model::Demand demand;
  demand.gpus = 2;
  auto set = commands::gpus_of("gpu1", facts, demand);
  CHECK(set.problem.empty());
  CHECK(set.count == 3);
  CHECK(set.demand.memory_free == 78000ull << 20);
  CHECK(set.demand.memory_total == 80000ull << 20);
  CHECK(set.demand.capability == base::Version{9, 0, -1});
  facts.nvidia.gpus[2].compute_capability.reset();
  CHECK(!commands::gpus_of("gpu1", facts, demand).demand.capability);
  demand.gpus = 4;
  set = commands::gpus_of("gpu1", facts, demand);
  CHECK(set.problem == "it has 3 GPUs that can be used, and 4 are requested");
  CHECK(commands::gpus_of("cpu1", {}, demand).problem == "it has no NVIDIA GPU");
}
