#include "gpuadm/base/json.hpp"
#include "gpuadm/base/secret_file.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/cuda.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/model/types.hpp"
#include "gpuadm/report/refusal.hpp"
#include "gpuadm/session/census.hpp"

#include "commands/install/identity.hpp"
#include "commands/shared_options.hpp"
#include "commands/workloads/serve/check_show.hpp"
#include "commands/workloads/serve/model/model_place.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;

struct ServeCheckOptions {
  Common common;
  Hosts hosts;
  std::string model, ns = "default", engine, cache_type, gpu_memory, gpu_product, cuda;
  std::filesystem::path token_file;
  int gpus = 1, concurrency = 1;
  std::optional<int> context;
  Format format = Format::text;
};

/// What is asked, without the GPUs.
Result<model::Demand> demand_of(const ServeCheckOptions& options, const assets::Store& assets) {
  model::Demand demand;
  demand.engine = options.engine;
  demand.gpus = options.gpus;
  demand.context = static_cast<std::uint64_t>(options.context.value_or(0));
  demand.concurrency = options.concurrency;
  demand.cache_type = options.cache_type;
  if (options.cuda.empty()) return demand;
  const auto cuda = base::Version::parse(options.cuda);
  if (!cuda || cuda->minor < 0)
    return base::fail(Fault::usage,
                      fmt::format("--cuda {}: not a version of CUDA", base::printable(options.cuda, 40)),
                      "for example --cuda 12.8");
  const auto drivers =
      TRY(checks::CudaDrivers::read([&](std::string_view path) { return assets.read(path); }));
  demand.image_cuda = options.cuda;
  demand.needed_driver = drivers.lowest_driver(*cuda).value_or("");
  return demand;
}

/// GPUs of the command line.
Result<GpuSet> given_gpus(const ServeCheckOptions& options, model::Demand demand,
                          const assets::Store& assets) {
  if (!options.gpu_product.empty()) {
    demand.gpu = options.gpu_product;
    demand.capability = TRY(capability_of(options.gpu_product, TRY(assets.read("data/gpus.csv"))));
  }
  demand.memory_total = TRY(parse_gpu_memory(options.gpu_memory));
  return GpuSet{{}, {}, demand.gpus, demand};
}

/// Hosts that were surveyed, and the settings of their cluster.
struct Surveyed {
  spec::Cluster cluster;
  std::unique_ptr<session::Connections> connections;
  std::unique_ptr<transport::Fleet> fleet;
  session::Survey survey;
};

Result<std::unique_ptr<Surveyed>> survey_of(const ServeCheckOptions& options, const assets::Store& assets,
                                            Io& io) {
  auto surveyed = std::make_unique<Surveyed>();
  surveyed->cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  surveyed->connections = TRY(session::Connections::open(surveyed->cluster, options.common.connection, io));
  surveyed->fleet = surveyed->connections->fleet(session::Access::read_only);
  surveyed->survey = TRY(session::take_census(*surveyed->fleet, assets, session::Afterwards::keep_connection,
                                              session::Texts::dropped));
  return surveyed;
}

/// With the storages of the operator's file, or of the one on the control plane.
Result<spec::Cluster> with_storages(const ServeCheckOptions& options, const Surveyed& surveyed,
                                    const assets::Store& assets) {
  if (!options.hosts.file.empty()) return surveyed.cluster;
  for (const spec::Host& host : surveyed.cluster.hosts) {
    if (!facts::is_control_plane(surveyed.survey.census, host.name)) continue;
    spec::Cluster stored = TRY(read_stored_cluster(host.name, *surveyed.fleet, assets));
    stored.hosts = surveyed.cluster.hosts;
    stored.ssh = surveyed.cluster.ssh;
    return stored;
  }
  return base::fail(Fault::usage,
                    "the storages of the cluster are unknown: none of the hosts is a control-plane node",
                    "name a control-plane node, or the cluster file: -f FILE");
}

Result<model::Files> read_files(const ModelPlace& place, const ServeCheckOptions& options) {
  if (place.kind == ModelPlace::Kind::local) {
    model::Files files = TRY(model::open_local(place.text));
    files.index_only = std::ranges::none_of(files.files, [](const model::File& file) {
      return file.name.ends_with(".safetensors") || file.name.ends_with(".gguf");
    });
    return files;
  }
  base::Secret token;
  if (!options.token_file.empty()) token = TRY(base::read_secret_file(options.token_file));
  return read_hub_model(place, token);
}

/// Prints why a host was not read.
Outcome report_unread(const session::Survey& survey, const Io& io) {
  for (const auto& [host, facts] : survey.census)
    if (!facts) io.err(report::to_text(facts.error(), io.err_style));
  return survey.none_reached() ? Outcome::unreachable : Outcome::done;
}

/// Reads headers of a model's files where the model is, and compares them with GPUs. Changes nothing.
Result<Outcome> serve_check(const ServeCheckOptions& options, Io& io) {
  const ModelPlace place = TRY(parse_model_place(options.model));
  const bool has_gpus = !options.gpu_memory.empty();
  if (!options.gpu_product.empty() && !has_gpus)
    return base::fail(Fault::usage, "--gpu-product does not say the memory of the GPU",
                      "add --gpu-memory 80GiB");
  if (!options.token_file.empty() && place.kind != ModelPlace::Kind::hub)
    return base::fail(Fault::usage, "--token-file is for models of a hub", "hf:ORG/NAME");
  if (!model::find_cache_type(options.cache_type))
    return base::fail(Fault::usage,
                      fmt::format("--cache-type {}: unknown", base::printable(options.cache_type, 40)),
                      "auto, f16, bf16, f32, fp8, q8_0 or q4_0");
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const model::Demand demand = TRY(demand_of(options, assets));
  std::optional<model::Model> model;
  if (place.kind != ModelPlace::Kind::storage) model = TRY(model::read(TRY(read_files(place, options))));
  std::vector<CheckedGpus> checked;
  if (has_gpus) checked.push_back({TRY(given_gpus(options, demand, assets)), {}});
  Outcome outcome = Outcome::done;
  if (!model || !has_gpus) {
    const auto surveyed = TRY(survey_of(options, assets, io));
    outcome = report_unread(surveyed->survey, io);
    if (outcome != Outcome::done) return outcome;
    if (!model)
      model = TRY(model::read(TRY(read_storage_model(
          place, options.ns, TRY(with_storages(options, *surveyed, assets)), *surveyed->fleet, assets))));
    if (!has_gpus)
      for (const auto& [host, facts] : surveyed->survey.census)
        if (facts) checked.push_back({gpus_of(host, *facts, demand), {}});
  }
  for (CheckedGpus& one : checked) one.fit = model::fit(*model, one.gpus.demand);
  if (options.format == Format::json)
    io.out(base::json::write(tree_of_check(*model, checked)) + "\n");
  else
    io.out(text_of_check(*model, checked, io.out_style));
  return std::ranges::any_of(checked, &CheckedGpus::fits) ? Outcome::done : Outcome::blocked;
}

}  // namespace

Command serve_check_command() {
  return CommandRow<ServeCheckOptions>{
      .name = "serve check",
      .group = Group::workloads,
      .summary = "Show whether a model fits on GPUs; exit code 3 if it does not, or if that is unknown",
      .options =
          [](Line& line, ServeCheckOptions& options) {
            line.argument("MODEL", options.model,
                          "A folder or .gguf file of this machine; CLAIM:/PATH or STORAGE:/CLAIM/PATH of the "
                          "cluster; or "
                          "hf:ORG/NAME@REVISION of a hub")
                .required();
            add_hosts(line, options.hosts);
            constexpr int most = 1'000'000'000;
            line.value("--gpus", options.gpus, "N", "GPUs that the model is divided among (default 1)")
                .range(1, 1024);
            line.value("--context", options.context, "TOKENS",
                       "Context of a sequence (default: that of the training)")
                .range(1, most);
            line.value("--concurrency", options.concurrency, "N", "Sequences at the same time (default 1)")
                .range(1, 1'000'000);
            line.value("--cache-type", options.cache_type, "TYPE",
                       "Type of the cache: auto, f16, bf16, f32, fp8, q8_0, q4_0");
            line.value("--engine", options.engine, "NAME",
                       "vllm, sglang, llama.cpp or ollama (default: llama.cpp for GGUF, otherwise vllm)");
            line.value("--gpu-memory", options.gpu_memory, "SIZE",
                       "Memory of a GPU, such as 80GiB, instead of the hosts'");
            line.value("--gpu-product", options.gpu_product, "NAME",
                       "Product of the GPU, such as H200, with --gpu-memory");
            line.value("--cuda", options.cuda, "VERSION",
                       "CUDA of the engine's image, to compare with the hosts' driver");
            line.value("--token-file", options.token_file, "FILE", "Token of the hub, mode 0600");
            add_namespace(line, options.ns, "Namespace of the claim (default: default)");
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm serve check ./llama-8b --gpu-memory 80GiB --gpu-product H100", "without a host"},
                   {"gpuadm serve check models:/llama-8b -f cluster.yaml --context 32768 --concurrency 4",
                    "on the GPUs of a cluster"},
                   {"gpuadm serve check hf:Qwen/Qwen3-8B gpu1", "before it is downloaded"}},
      .run = serve_check};
}

}  // namespace commands
