#include "gpuadm/workload/objects.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/serve.hpp"

#include "workload/service/parts.hpp"

namespace workload {

namespace {

using base::Tree;

constexpr const char* container_name = "server";
constexpr const char* key_file = "server.yaml";
constexpr const char* key_directory = "/etc/gpuadm-serve";
constexpr int between_probes = 5;
/// Requests that are being answered may end.
constexpr int seconds_to_end = 60;
/// A pod that ends is still sent requests until every node knows it, and answers those that it has. Until
/// Kubernetes 1.30 only a program of the image can wait.
constexpr const char* seconds_to_drain = "10";

std::string secret_name(const ModelServer& server) {
  return server.pod.name + "-key";
}

Tree variable(const std::string& name, const std::string& value) {
  return Tree::map_of({{"name", name}, {"value", literal(value)}});
}

bool has_secret(const ModelServer& server) {
  return server.engine.has_key() || (server.has_hub_token && server.source.kind == ModelSource::Kind::hub);
}

bool has_key_file(const ModelServer& server) {
  return !server.engine.key_option.empty();
}

/// Caches of engines and of what they use are below the home directory.
Tree environment_of(const ModelServer& server) {
  Tree all = Tree::list();
  const std::string home(cache_mount);
  if (!server.engine.key_variable.empty())
    all.push(service::variable_from_secret(server.engine.key_variable, secret_name(server), api_key));
  all.push(variable("HOME", home));
  all.push(variable("HF_HOME", home + "/huggingface"));
  if (server.source.kind == ModelSource::Kind::hub) {
    if (!server.hub_endpoint.empty()) all.push(variable("HF_ENDPOINT", server.hub_endpoint));
    if (server.has_hub_token)
      all.push(service::variable_from_secret("HF_TOKEN", secret_name(server), hub_token_key));
  } else {
    all.push(variable("HF_HUB_OFFLINE", "1"));
  }
  for (const auto& [name, value] : server.engine.environment) all.push(variable(name, value));
  return all;
}

Tree probe(const ModelServer& server, std::int64_t failures) {
  return Tree::map_of(
      {{"httpGet", Tree::map_of({{"path", health_of(server)}, {"port", int{server.engine.port}}})},
       {"periodSeconds", between_probes},
       {"timeoutSeconds", between_probes},
       {"failureThreshold", failures}});
}

Tree mounts_of(const ModelServer& server) {
  Tree mounts = service::list_of(service::mount("shm", "/dev/shm"));
  mounts.push(service::mount("cache", std::string(cache_mount)));
  if (server.source.kind == ModelSource::Kind::storage) {
    Tree model = service::mount("model", std::string(model_mount));
    model.set("readOnly", true);
    mounts.push(std::move(model));
  }
  if (has_key_file(server)) {
    Tree keys = service::mount("key", key_directory);
    keys.set("readOnly", true);
    mounts.push(std::move(keys));
  }
  return mounts;
}

Tree volumes_of(const ModelServer& server) {
  Tree volumes = service::list_of(service::shm_volume(server.pod));
  volumes.push(server.pod.claim.empty() ? Tree::map_of({{"name", "cache"}, {"emptyDir", Tree::map()}})
                                        : service::claim_volume("cache", server.pod.claim));
  if (server.source.kind == ModelSource::Kind::storage) {
    Tree model = service::claim_volume("model", server.source.storage);
    model["persistentVolumeClaim"].set("readOnly", true);
    volumes.push(std::move(model));
  }
  if (has_key_file(server)) {
    Tree item = Tree::map_of({{"key", key_file}, {"path", key_file}});
    volumes.push(Tree::map_of({{"name", "key"},
                               {"secret", Tree::map_of({{"secretName", secret_name(server)},
                                                        {"defaultMode", 0440},
                                                        {"items", service::list_of(std::move(item))}})}}));
  }
  return volumes;
}

Tree ports_of(const Engine& engine) {
  Tree ports = service::list_of(Tree::map_of({{"name", "http"}, {"containerPort", int{engine.port}}}));
  if (!engine.metrics.empty() && engine.metrics_port != engine.port)
    ports.push(Tree::map_of({{"name", "metrics"}, {"containerPort", int{engine.metrics_port}}}));
  return ports;
}

Tree container_of(const ModelServer& server) {
  Tree made = Tree::map_of({{"name", container_name}, {"image", server.pod.image}});
  std::vector<std::string> command = command_of(server);
  if (has_key_file(server)) {
    command.push_back(server.engine.key_option);
    command.push_back(std::string(key_directory) + "/" + key_file);
  }
  if (!command.empty()) made.set(server.engine.name.empty() ? "args" : "command", literals(command));
  made.set("env", environment_of(server));
  made.set("ports", ports_of(server.engine));
  made.set("startupProbe", probe(server, loading_limit(server.source).count() / between_probes));
  made.set("readinessProbe", probe(server, 3));
  if (!server.engine.name.empty())
    made.set(
        "lifecycle",
        Tree::map_of(
            {{"preStop",
              Tree::map_of(
                  {{"exec", Tree::map_of({{"command", Tree::list_of({"sleep", seconds_to_drain})}})}})}}));
  made.set("terminationMessagePolicy", "FallbackToLogsOnError");
  Tree security = Tree::map_of({{"allowPrivilegeEscalation", false}});
  if (server.engine.user > 0) security.set("capabilities", Tree::map_of({{"drop", Tree::list_of({"ALL"})}}));
  made.set("securityContext", std::move(security));
  if (Tree amounts = service::resources(server.pod); !amounts.is_null())
    made.set("resources", std::move(amounts));
  made.set("volumeMounts", mounts_of(server));
  return made;
}

Tree security_of(const ModelServer& server) {
  Tree security = Tree::map_of({{"seccompProfile", Tree::map_of({{"type", "RuntimeDefault"}})}});
  if (server.engine.user <= 0) return security;
  security.set("runAsNonRoot", true);
  for (const char* name : {"runAsUser", "runAsGroup", "fsGroup"}) security.set(name, server.engine.user);
  return security;
}

/// Pods on different nodes, as far as GPUs are free there.
Tree spread_of(const ModelServer& server) {
  return service::list_of(Tree::map_of({{"maxSkew", 1},
                                        {"topologyKey", "kubernetes.io/hostname"},
                                        {"whenUnsatisfiable", "ScheduleAnyway"},
                                        {"labelSelector", service::selector(server.pod)}}));
}

Tree pod_spec_of(const ModelServer& server, const GpuParts& parts) {
  Tree spec = Tree::map_of({{"automountServiceAccountToken", false},
                            {"enableServiceLinks", false},
                            {"terminationGracePeriodSeconds", seconds_to_end},
                            {"securityContext", security_of(server)}});
  if (server.replicas > 1) spec.set("topologySpreadConstraints", spread_of(server));
  spec.set("containers", service::list_of(container_of(server)));
  spec.set("volumes", volumes_of(server));
  if (server.pod.gpus.any()) add_gpus(spec, parts);
  return spec;
}

Tree strategy_of(const ModelServer& server) {
  if (!server.rolling) return Tree::map_of({{"type", "Recreate"}});
  return Tree::map_of(
      {{"type", "RollingUpdate"}, {"rollingUpdate", Tree::map_of({{"maxSurge", 1}, {"maxUnavailable", 0}})}});
}

Tree annotations_of(const ModelServer& server) {
  Tree all = Tree::map_of({{std::string(gpus_annotation), server.pod.gpus_text},
                           {std::string(replicas_annotation), std::to_string(server.replicas)},
                           {std::string(model_annotation), server.source.text()},
                           {std::string(engine_annotation), server.engine.name}});
  if (!server.engine.api.empty()) all.set(std::string(api_annotation), server.engine.api);
  if (!server.engine.has_key()) all.set(std::string(no_key_annotation), server.engine.no_key);
  if (!server.commit.empty()) all.set(std::string(commit_annotation), server.commit);
  if (!server.digest.empty()) all.set(std::string(digest_annotation), server.digest);
  return all;
}

Tree pod_metadata_of(const ModelServer& server) {
  Tree metadata = Tree::map_of({{"labels", service::labels(server.pod)}});
  const Engine& engine = server.engine;
  if (!engine.metrics.empty() && !engine.metrics_need_key)
    metadata.set("annotations",
                 Tree::map_of({{std::string(metrics_port_annotation), std::to_string(engine.metrics_port)},
                               {std::string(metrics_path_annotation), engine.metrics}}));
  return metadata;
}

Tree deployment_of(const ModelServer& server, const GpuParts& parts) {
  const ServicePod& pod = server.pod;
  Tree made = service::object("apps/v1", "Deployment", service::metadata(pod, pod.name));
  Tree pods = Tree::map_of({{"metadata", pod_metadata_of(server)}, {"spec", pod_spec_of(server, parts)}});
  Tree annotations = annotations_of(server);
  annotations.set(std::string(sum_annotation), base::sha256(base::json::write(pods, 0)));
  made["metadata"].set("annotations", std::move(annotations));
  made.set("spec", Tree::map_of(
                       {{"replicas", server.replicas},
                        {"revisionHistoryLimit", 1},
                        {"progressDeadlineSeconds", std::int64_t{loading_limit(server.source).count()} + 600},
                        {"strategy", strategy_of(server)},
                        {"selector", service::selector(pod)},
                        {"template", std::move(pods)}}));
  return made;
}

Tree secret_of(const ModelServer& server, const ServeKeys& keys) {
  service::Texts values;
  if (server.engine.has_key()) values.emplace_back(api_key, keys.api.reveal());
  if (server.has_hub_token && server.source.kind == ModelSource::Kind::hub)
    values.emplace_back(hub_token_key, keys.hub_token.reveal());
  if (has_key_file(server))
    values.emplace_back(key_file,
                        base::replace_all(server.engine.key_text, "{key}", keys.api.reveal()) + "\n");
  return service::secret(server.pod, secret_name(server), values);
}

}  // namespace

std::vector<Tree> objects_of(const ModelServer& server, const GpuParts& parts, const ServeKeys& keys) {
  std::vector<Tree> objects;
  if (!server.pod.size.empty()) objects.push_back(service::volume_claim(server.pod));
  if (has_secret(server)) objects.push_back(secret_of(server, keys));
  objects.push_back(service::web_service(server.pod, server.engine.port));
  if (parts.claim_template) objects.push_back(service::gpu_claim_template(server.pod, parts));
  objects.push_back(deployment_of(server, parts));
  return objects;
}

}  // namespace workload
