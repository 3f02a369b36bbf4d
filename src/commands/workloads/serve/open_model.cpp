#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/serve.hpp"

#include "commands/workloads/serve/completion.hpp"
#include "commands/workloads/serve/key_file.hpp"
#include "commands/workloads/serve/serve.hpp"
#include "commands/workloads/service/open.hpp"
#include "commands/workloads/service/verbs.hpp"

#include <fmt/format.h>

#include <set>

namespace commands {

namespace {

using base::Tree;

/// The first completion may compile kernels.
constexpr std::chrono::seconds proof_timeout{600}, models_timeout{30};
/// Nodes forward a Service to a new pod a moment after it is ready.
constexpr std::chrono::seconds forwarding_timeout{60};

Result<OpenService> reach_new_endpoint(ReachedCluster& cluster, const ServiceEndpoint& endpoint,
                                       const std::string& health) {
  const base::Instant deadline = base::Clock::now() + forwarding_timeout;
  while (true) {
    auto open = reach_endpoint(cluster, endpoint, 0, health);
    const bool may_pass = !open && (open.error().fault == base::Fault::unreachable ||
                                    open.error().fault == base::Fault::timeout);
    if (!may_pass || base::Clock::now() >= deadline) return open;
    TRY(cluster.pause(std::chrono::seconds(1)));
  }
}

Result<OpenService> reach_service(ReachedCluster& cluster, const NamedService& service,
                                  const std::string& health) {
  const auto objects = TRY(find_service(cluster, service));
  return reach_new_endpoint(cluster, TRY(endpoint_of(objects, service)), health);
}

/// "answered: …"
Result<std::string> prove(const CompletionTarget& target, ReachedCluster& cluster, Io& io) {
  if (io.err_style.verbosity != report::Verbosity::quiet)
    io.err(fmt::format("waiting for a completion (at most {})\n",
                       base::human_seconds(static_cast<double>(proof_timeout.count()))));
  return "answered: " +
         describe(TRY(prove_completion(target, proof_timeout, cluster.connections().interrupt())));
}

}  // namespace

ServedModel served_model(const Tree& deployment) {
  ServedModel served;
  const Tree* annotations = deployment.at({"metadata", "annotations"});
  const auto annotation = [&](std::string_view name) {
    return annotations ? base::printable(text_of(*annotations, name), 300) : std::string();
  };
  served.model = annotation(workload::model_annotation);
  served.engine = annotation(workload::engine_annotation);
  served.commit = annotation(workload::commit_annotation);
  served.digest = annotation(workload::digest_annotation);
  served.gpus = annotation(workload::gpus_annotation);
  served.api = {annotation(workload::api_annotation), annotation(workload::no_key_annotation)};
  // An earlier version had engines of OpenAI's API only, and did not say so.
  if (served.api.api.empty() && !served.engine.empty()) served.api.api = "openai";
  served.replicas = base::to_int(annotation(workload::replicas_annotation)).value_or(1);
  if (const Tree* pod = deployment.at({"spec", "template", "metadata", "annotations"}))
    if (const std::string port = text_of(*pod, workload::metrics_port_annotation); !port.empty())
      served.metrics =
          base::printable(fmt::format(":{}{}", port, text_of(*pod, workload::metrics_path_annotation)), 300);
  const Tree* containers = deployment.at({"spec", "template", "spec", "containers"});
  if (!containers || containers->items().empty()) return served;
  const Tree& container = containers->items().front();
  served.image = base::printable(text_of(container, "image"), 300);
  served.health = base::printable(text_at(container, {"readinessProbe", "httpGet", "path"}), 300);
  return served;
}

std::string image_digests(const std::vector<Tree>& objects) {
  std::set<std::string> digests;
  for (const Tree& object : objects) {
    const Tree* containers = object.at({"status", "containerStatuses"});
    if (!containers) continue;
    for (const Tree& container : containers->items()) {
      // "docker.io/vllm/vllm-openai@sha256:…", and "docker-pullable://…" of Docker.
      const std::string id = text_of(container, "imageID");
      const std::size_t at = id.find("sha256:");
      if (at != std::string::npos) digests.insert(base::printable(id.substr(at), 80));
    }
  }
  return base::join(std::vector<std::string>(digests.begin(), digests.end()), ", ");
}

Result<base::Secret> read_api_key(ReachedCluster& cluster, const NamedService& service,
                                  const ServedApi& api) {
  if (!api.no_key.empty()) return base::Secret();
  return read_key(cluster, service, workload::api_key);
}

Result<std::string> prove_model(ReachedCluster& cluster, const NamedService& service, const base::Secret& key,
                                const std::string& health, Io& io) {
  const OpenService open = TRY(reach_service(cluster, service, health));
  return prove({open.address, open.port, service.name, key}, cluster, io);
}

Result<std::string> prove_image(ReachedCluster& cluster, const NamedService& service, const base::Secret& key,
                                const std::string& health, Io& io) {
  const OpenService open = TRY(reach_service(cluster, service, health));
  CompletionTarget target{open.address, open.port, {}, key};
  target.model = TRY(first_model(target, models_timeout, cluster.connections().interrupt()));
  if (target.model.empty())
    return std::string(
        "only its health was checked: its API is not OpenAI's, as GET /v1/models names no model");
  auto proof = prove(target, cluster, io);
  if (proof || proof.error().fault == base::Fault::interrupted) return proof;
  return fmt::format("its health was checked, and GET /v1/models names {}, but {}",
                     base::printable(target.model, 100), proof.error().what);
}

Result<Outcome> open_model(ReachedCluster& cluster, const NamedService& service, std::uint16_t port, Io& io) {
  const auto objects = TRY(find_service(cluster, service));
  const ServedModel served = served_model(*TRY(deployment_of(objects, service)));
  const base::Secret key = TRY(read_api_key(cluster, service, served.api));
  std::filesystem::path file;
  if (!key.empty()) file = TRY(write_key_file(service, cluster.spec().name, key));
  const auto show = [&](const std::string& address) {
    return usage_lines(service, address, file, served.api);
  };
  return open_service(cluster, service, {.port = port, .health = served.health, .show = show}, io);
}

}  // namespace commands
