#include "commands/workloads/serve/serve_create.hpp"

#include "gpuadm/base/random.hpp"
#include "gpuadm/base/secret_file.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/shared_options.hpp"
#include "commands/workloads/serve/fit_check.hpp"
#include "commands/workloads/serve/key_file.hpp"
#include "commands/workloads/serve/model/copy_model.hpp"
#include "commands/workloads/serve/progress.hpp"
#include "commands/workloads/serve/serve.hpp"
#include "commands/workloads/service/create.hpp"

#include <fmt/format.h>

#include <optional>

namespace commands {

namespace {

using base::Fault;

constexpr std::size_t key_bytes = 24;

std::string result_of(const ServePlan& plan, const NamedService& service, const std::string& node) {
  const std::string pods = plan.server.replicas == 1 ? "" : fmt::format(", {} pods", plan.server.replicas);
  return fmt::format("the {} is ready on {} ({}{})\n", with_noun(service), base::printable(node),
                     workload::describe(plan.server.pod.gpus), pods);
}

/// What the operator needs to use it.
Result<Outcome> show_use(const ServeCreateOptions& options, const NamedService& service, std::uint16_t port,
                         const ServedApi& api, ReachedCluster& cluster, Io& io) {
  const std::filesystem::path file = key_file_of(service, cluster.spec().name);
  if (options.tunnel || options.request.pod.reach == workload::Reach::node_port)
    return open_model(cluster, service, 0, io);
  io.out(usage_lines(service, fmt::format("{}.{}.svc:{}", service.name, service.ns, port), file, api));
  io.out(fmt::format("  from this machine: {}\n", command_for("url", service)));
  return Outcome::done;
}

/// Notes of the plan, and whether the model fits.
Result<> check_plan(const ServeCreateOptions& options, ServePlan& plan, const workload::ServeKeys& keys,
                    ReachedCluster& cluster, Io& io) {
  if (!plan.service.note.empty()) io.err(plan.service.note + "\n");
  if (const std::string note = workload::note_of_share(plan.service.supply, plan.server.pod.gpus);
      !note.empty())
    io.err(note + "\n");
  if (options.unchecked) return {};
  if (const std::string fit = TRY(check_model_fit(plan, options.hosts, keys.hub_token, cluster));
      !fit.empty())
    io.err(fit + "\n");
  plan.server.commit = TRY(commit_of_model(plan, keys.hub_token));
  return {};
}

Result<Outcome> create_new(const ServeCreateOptions& options, const workload::ServeKeys& keys,
                           std::unique_ptr<ReachedCluster>& cluster, Io& io) {
  const NamedService service = service_of(options);
  ServePlan plan;
  const auto plan_on = [&](const std::string& storage) -> Result<ServicePlan> {
    workload::ServeRequest request = options.request;
    if (!storage.empty()) request.pod.storage = storage;
    plan = TRY(plan_serve(request, options.hosts, *cluster));
    plan.server.has_hub_token = !keys.hub_token.empty();
    plan.server.digest = options.digest;
    return plan.service;
  };
  const ServicePlanning planning{service, options.request.pod.size, options.request.replicas, options.consent,
                                 plan_on};
  plan.service = TRY(plan_and_check(planning, cluster, io));
  TRY(workload::resolve_volume(plan.server, plan.service.pod.claim));
  TRY(check_plan(options, plan, keys, *cluster, io));
  ServiceCreation creation{.plan = plan.service,
                           .objects = plan.objects(keys),
                           .service = service,
                           .timeout = timeout_of(options, plan),
                           .keep = options.keep,
                           .running = loading_progress(plan, *cluster)};
  if (plan.server.source.kind == workload::ModelSource::Kind::storage)
    creation.claims.push_back(plan.server.source.storage);
  std::string proven;
  creation.proof = [&](const std::string&) -> Result<> {
    proven = TRY(prove_plan(plan, service, keys.api, *cluster, io));
    return {};
  };
  const std::string node = TRY(create_service(creation, *cluster, io));
  return show_ready(options, plan, node, proven, keys.api, *cluster, io);
}

/// With -o yaml.
Result<Outcome> print_served(const ServeCreateOptions& options, const workload::ServeKeys& keys, Io& io) {
  ServePlan plan;
  if (options.offline) {
    plan = TRY(plan_serve_offline(options.request, options.hosts, options.common));
  } else {
    const auto cluster =
        TRY(ReachedCluster::open(options.hosts, options.common, session::Access::read_only, io));
    plan = TRY(plan_serve(options.request, options.hosts, *cluster));
    TRY(workload::resolve_volume(plan.server, plan.service.pod.claim));
  }
  plan.server.has_hub_token = !keys.hub_token.empty();
  print_objects(plan.objects(keys), io);
  return Outcome::done;
}

void add_model(Line& line, ServeCreateOptions& options) {
  workload::ServeRequest& request = options.request;
  line.value(
      "--model", request.model, "SOURCE",
      "CLAIM:/PATH of a PersistentVolumeClaim or STORAGE:/CLAIM/PATH; hf:ORG/NAME[@REVISION] of a hub such "
      "as Hugging Face; or a folder or .gguf file of this machine, such as ./llama-8b, which is copied");
  line.value("--copy-to", options.copy_to, "CLAIM",
             "Claim on a storage to which a model of this machine is copied (default models)");
  line.value("--engine", request.engine, "ENGINE",
             "vllm, sglang, llama.cpp, ollama or triton (default: llama.cpp for GGUF, otherwise vllm)");
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

Result<Outcome> serve_model(const ServeCreateOptions& given, Io& io) {
  ServeCreateOptions options = given;
  if (!options.mig.empty()) options.request.pod.gpus = options.mig;
  if (options.offline && !options.yaml)
    return base::fail(Fault::usage, "--offline creates nothing", "add -o yaml to print the objects");
  std::optional<LocalModel> local;
  if (is_local_model(options.request.model)) {
    TRY(workload::check_name("claim", options.copy_to));
    local = TRY(read_local_model(options.request.model, io));
    options.request.model = local->source_in(options.copy_to);
    options.digest = local->digest;
  }
  // Reports invalid options before it connects.
  const workload::ModelServer requested =
      TRY(read_request(options.request, TRY(assets::Store::open(options.common.assets))));
  const workload::ServeKeys keys = TRY(new_keys(options, requested.engine));
  if (options.yaml) return print_served(options, keys, io);
  auto cluster = TRY(ReachedCluster::open(options.hosts, options.common, session::Access::full, io));
  if (local && cluster->client().is_limited())
    return base::fail(Fault::usage,
                      "--model: a model of this machine is copied to a storage on hosts, which a kubeconfig "
                      "does not reach",
                      "name a claim that has it (CLAIM:/PATH) or a hub (hf:ORG/NAME); an administrator can "
                      "copy it over SSH");
  if (local) TRY(copy_model(*local, options.copy_to, options.request.pod.ns, options.hosts, *cluster, io));
  const auto existing = TRY(find_existing(*cluster, service_of(options)));
  if (!existing.empty()) return serve_update(options, existing, *cluster, io);
  return create_new(options, keys, cluster, io);
}

/// A new API key, if the engine takes one.
Result<workload::ServeKeys> new_keys(const ServeCreateOptions& options, const workload::Engine& engine) {
  workload::ServeKeys keys;
  if (engine.has_key()) keys.api = TRY(base::random_secret(key_bytes));
  if (!options.hub_token.empty()) keys.hub_token = TRY(base::read_secret_file(options.hub_token));
  return keys;
}

std::chrono::seconds timeout_of(const ServeCreateOptions& options, const ServePlan& plan) {
  return options.timeout.count() > 0 ? options.timeout : workload::loading_limit(plan.server.source);
}

Result<std::string> prove_plan(const ServePlan& plan, const NamedService& service, const base::Secret& key,
                               ReachedCluster& cluster, Io& io) {
  const std::string health = workload::health_of(plan.server);
  if (plan.server.engine.api.empty()) return prove_image(cluster, service, key, health, io);
  if (!plan.server.engine.is_openai())
    return std::string("only its health was checked, because its API is not OpenAI's");
  return prove_model(cluster, service, key, health, io);
}

Result<Outcome> show_ready(const ServeCreateOptions& options, const ServePlan& plan, const std::string& node,
                           const std::string& proven, const base::Secret& key, ReachedCluster& cluster,
                           Io& io) {
  const NamedService service = service_of(options);
  if (!key.empty())
    if (auto written = write_key_file(service, cluster.spec().name, key); !written) {
      base::Error error = std::move(written).error();
      error.what = fmt::format("the {} is ready on {}, but its key file: {}", with_noun(service),
                               base::printable(node), error.what);
      error.hint = with_details(error.hint, command_for("url", service));
      return std::unexpected(std::move(error));
    }
  io.out(result_of(plan, service, node));
  io.out(fmt::format("  {}\n", proven));
  return show_use(options, service, plan.server.engine.port,
                  {plan.server.engine.api, plan.server.engine.no_key}, cluster, io);
}

Command serve_create_command() {
  return CommandRow<ServeCreateOptions>{
      .name = "serve create",
      .group = Group::workloads,
      .summary =
          "Serve a model with GPUs, or update a served one, and prove that it answers: gpuadm serve create "
          "NAME "
          "--model SOURCE",
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
            line.flag("--without-key", options.request.without_key,
                      "With --node-port: open it also if the engine has no API key")
                .needs(node_port);
            line.flag("--tunnel", options.tunnel, "Open a tunnel once it is ready, as gpuadm serve url does")
                .excludes(node_port);
            add_access(line, options.common, options.request.pod.ns);
            add_wait_timeout(line, options.timeout,
                             "Time limit until it is ready (default 7200; 43200 for a model of a hub)");
            line.flag(
                "-y,--yes", options.consent, Consent::given,
                "Without asking: update an existing one; with --size, if the cluster has no storage, make a "
                "local one, and add it to the cluster file");
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
                   {"gpuadm serve create qwen --model hf:Qwen/Qwen3-8B@v1.1 --gpus 1 -f cluster.yaml",
                    "an existing one gets another revision; all its options are given again"},
                   {"gpuadm serve create tiny --model models:/tiny.gguf -o yaml --offline",
                    "only print the objects"}},
      .run = serve_model};
}

}  // namespace commands
