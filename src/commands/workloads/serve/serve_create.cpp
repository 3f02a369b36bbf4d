#include "gpuadm/base/random.hpp"
#include "gpuadm/base/secret_file.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/shared_options.hpp"
#include "commands/workloads/serve/fit_check.hpp"
#include "commands/workloads/serve/key_file.hpp"
#include "commands/workloads/serve/serve.hpp"
#include "commands/workloads/serve/serve_plan.hpp"
#include "commands/workloads/service/create.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;

constexpr std::size_t key_bytes = 24;

struct ServeCreateOptions {
  Common common;
  Hosts hosts;
  workload::ServeRequest request;
  std::string mig;                  ///< MIG instances, instead of --gpus
  std::filesystem::path hub_token;  ///< file
  bool yaml = false;                ///< print the objects instead of creating them
  bool offline = false;             ///< with `yaml`: connect to no host
  bool unchecked = false;           ///< whether the model fits
  bool keep = false;                ///< keep the objects if it does not become ready
  bool tunnel = false;              ///< open a tunnel once it is ready
  Consent consent = Consent::ask;   ///< to a storage for the first volume of the cluster
  std::chrono::seconds timeout{0};  ///< 0: as long as loading may take
};

Result<workload::ServeKeys> new_keys(const ServeCreateOptions& options) {
  workload::ServeKeys keys;
  keys.api = TRY(base::random_secret(key_bytes));
  if (!options.hub_token.empty()) keys.hub_token = TRY(base::read_secret_file(options.hub_token));
  return keys;
}

std::string result_of(const ServePlan& plan, const NamedService& service, const std::string& node) {
  const std::string pods = plan.server.replicas == 1 ? "" : fmt::format(", {} pods", plan.server.replicas);
  return fmt::format("the {} is ready on {} ({}{})\n", with_noun(service), base::printable(node),
                     workload::describe(plan.server.pod.gpus), pods);
}

/// What the operator needs to use it.
Result<Outcome> show_use(const ServeCreateOptions& options, const NamedService& service, std::uint16_t port,
                         ServedApi api, ReachedCluster& cluster, Io& io) {
  const std::filesystem::path file = key_file_of(service, cluster.spec().name);
  if (options.tunnel || options.request.pod.reach == workload::Reach::node_port)
    return open_model(cluster, service, 0, io);
  io.out(usage_lines(service, fmt::format("{}.{}.svc:{}", service.name, service.ns, port), file, api));
  io.out(fmt::format("  from this machine: {}\n", command_for("url", service)));
  return Outcome::done;
}

Result<Outcome> serve_create(const ServeCreateOptions& given, Io& io) {
  ServeCreateOptions options = given;
  if (!options.mig.empty()) options.request.pod.gpus = options.mig;
  if (options.offline && !options.yaml)
    return base::fail(Fault::usage, "--offline creates nothing", "add -o yaml to print the objects");
  const workload::ServeKeys keys = TRY(new_keys(options));
  const auto with_token = [&](Result<ServePlan> plan) {
    if (plan) plan->server.has_hub_token = !keys.hub_token.empty();
    return plan;
  };
  if (options.offline) {
    print_objects(
        TRY(with_token(plan_serve_offline(options.request, options.hosts, options.common))).objects(keys),
        io);
    return Outcome::done;
  }
  // Reports invalid options before it connects.
  TRY(read_request(options.request, TRY(assets::Store::open(options.common.assets))));
  auto cluster = TRY(ReachedCluster::open(
      options.hosts, options.common, options.yaml ? session::Access::read_only : session::Access::full, io));
  ServePlan plan;
  const auto plan_on = [&](const std::string& storage) -> Result<ServicePlan> {
    workload::ServeRequest request = options.request;
    if (!storage.empty()) request.pod.storage = storage;
    plan = TRY(with_token(plan_serve(request, options.hosts, *cluster)));
    return plan.service;
  };
  if (options.yaml) {
    TRY(plan_on(""));
    TRY(workload::resolve_volume(plan.server, plan.service.pod.claim));
    print_objects(plan.objects(keys), io);
    return Outcome::done;
  }
  const NamedService service{options.common, options.hosts, options.request.pod.name, options.request.pod.ns,
                             workload::serve_kind};
  const ServicePlanning planning{service, options.request.pod.size, options.request.replicas, options.consent,
                                 plan_on};
  plan.service = TRY(plan_and_check(planning, cluster, io));
  TRY(workload::resolve_volume(plan.server, plan.service.pod.claim));
  if (!plan.service.note.empty()) io.err(plan.service.note + "\n");
  if (const std::string note = workload::note_of_share(plan.service.supply, plan.server.pod.gpus);
      !note.empty())
    io.err(note + "\n");
  if (!options.unchecked)
    if (const std::string fit = TRY(check_model_fit(plan, options.hosts, keys.hub_token, *cluster));
        !fit.empty())
      io.err(fit + "\n");
  ServiceCreation creation{
      .plan = plan.service,
      .objects = plan.objects(keys),
      .service = service,
      .timeout = options.timeout.count() > 0 ? options.timeout : workload::loading_limit(plan.server.source),
      .keep = options.keep};
  if (plan.server.source.kind == workload::ModelSource::Kind::storage)
    creation.claims.push_back(plan.server.source.storage);
  std::string proven;
  if (plan.server.engine.is_openai)
    creation.proof = [&](const std::string&) -> Result<> {
      proven = TRY(prove_model(*cluster, service, keys.api, plan.server.engine.health, io));
      return {};
    };
  const std::string node = TRY(create_service(creation, *cluster, io));
  if (auto written = write_key_file(service, cluster->spec().name, keys.api); !written) {
    base::Error error = std::move(written).error();
    error.what = fmt::format("the {} is ready on {}, but its key file: {}", with_noun(service),
                             base::printable(node), error.what);
    error.hint = with_details(error.hint, command_for("url", service));
    return std::unexpected(std::move(error));
  }
  io.out(result_of(plan, service, node));
  io.out(proven.empty() ? "  only its health was checked, because its API is not known\n"
                        : fmt::format("  answered: {}\n", proven));
  return show_use(options, service, plan.server.engine.port,
                  plan.server.engine.is_openai ? ServedApi::openai : ServedApi::unknown, *cluster, io);
}

void add_model(Line& line, ServeCreateOptions& options) {
  workload::ServeRequest& request = options.request;
  line.value(
      "--model", request.model, "SOURCE",
      "CLAIM:/PATH of a PersistentVolumeClaim or STORAGE:/CLAIM/PATH, or hf:ORG/NAME[@REVISION] of a hub "
      "such as Hugging Face");
  line.value("--engine", request.engine, "ENGINE",
             "vllm, sglang or llama.cpp (default: llama.cpp for GGUF, otherwise vllm)");
  line.value("--context", request.context, "TOKENS", "Context in tokens (default: as the model says)");
  line.value("--hf-token-file", options.hub_token, "FILE",
             "File with a token of the hub, readable by you only (mode 0600)");
  line.value("--image", request.pod.image, "IMAGE",
             "Another image of the engine; without --engine: of any server, with --server-port and --health");
  line.value("--server-port", request.port, "PORT", "With --image: port of its server").range(1, 65535);
  line.value("--health", request.health, "PATH", "With --image: path that it answers once it is ready");
  line.value("--key-variable", request.key_variable, "NAME",
             "With --image: variable of the container for the API key (default API_KEY)");
}

void add_pod(Line& line, ServeCreateOptions& options) {
  workload::ServicePodRequest& pod = options.request.pod;
  const Option gpus =
      line.value("--gpus", pod.gpus, "GPUS", "Number of GPUs, or a share such as 1/4 (default 0)");
  line.value("--mig", options.mig, "PROFILE", "MIG instances, such as 1g.10gb or 1g.10gb:2").excludes(gpus);
  line.value("--replicas", options.request.replicas, "N",
             "Pods, each with its GPUs, on different nodes if possible (default 1)");
  line.value(
      "--storage", pod.storage, "NAME",
      "PersistentVolumeClaim for downloads and caches; with --size: storage or StorageClass of a new one");
  line.value("--size", pod.size, "SIZE",
             "Create a volume of this size for downloads and caches, such as 50Gi");
  line.value("--cpus", pod.cpus, "CPUS", "CPUs to reserve, also the limit (default: no limit)");
  line.value("--memory", pod.memory, "SIZE", "Memory to reserve, also the limit (default: no limit)");
  line.value(
      "--shm", pod.shm, "SIZE",
      "Size of /dev/shm (default: half of --memory, or of the smallest suitable node's memory, at most "
      "64Gi)");
}

}  // namespace

Command serve_create_command() {
  return CommandRow<ServeCreateOptions>{
      .name = "serve create",
      .group = Group::workloads,
      .summary =
          "Serve a model with GPUs, and prove that it answers: gpuadm serve create NAME --model SOURCE",
      .options =
          [](Line& line, ServeCreateOptions& options) {
            line.argument("NAME", options.request.pod.name, "Name of the served model").required();
            add_hosts(line, options.hosts);
            line.command(options.request.pod.command);
            add_model(line, options);
            add_pod(line, options);
            const Option node_port =
                line.flag("--node-port", options.request.pod.reach, workload::Reach::node_port,
                          "Open a port for it on every node, without a tunnel and without encryption");
            line.flag("--tunnel", options.tunnel,
                      "Open an SSH tunnel once it is ready, as gpuadm serve url does")
                .excludes(node_port);
            add_namespace(line, options.request.pod.ns);
            add_wait_timeout(line, options.timeout,
                             "Time limit until it is ready (default 7200; 43200 for a model of a hub)");
            line.flag(
                "-y,--yes", options.consent, Consent::given,
                "With --size: if the cluster has no storage, make a local one, and add it to the cluster "
                "file, without asking");
            line.flag("--no-check", options.unchecked,
                      "Do not check first whether the model fits, as gpuadm serve check does");
            line.flag("--keep", options.keep, "Keep a served model that does not become ready");
            line.choice<bool, bool>("-o,--output", options.yaml, {{"text", false}, {"yaml", true}},
                                    "yaml: print the objects, with a new key, instead of creating them");
            line.flag("--offline", options.offline, "With -o yaml: connect to no host");
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm serve create llama --model models:/llama-8b --gpus 1 -f cluster.yaml",
                    "a model on the claim models, with vLLM"},
                   {"gpuadm serve create qwen --model hf:Qwen/Qwen3-8B --size 50Gi --gpus 1 -f cluster.yaml",
                    "a model of a hub, downloaded once to a new volume"},
                   {"gpuadm serve create tiny --model models:/tiny.gguf -o yaml --offline",
                    "only print the objects"}},
      .run = serve_create};
}

}  // namespace commands
