#include "gpuadm/workload/notebook.hpp"

#include "gpuadm/workload/objects.hpp"

#include "workload/service/parts.hpp"

#include <fmt/format.h>

namespace workload {

namespace {

using base::Tree;

constexpr const char* default_framework = "pytorch";
/// The group of the user in the images of the catalog; files of a volume belong to it.
constexpr int group = 100;
constexpr int seconds_to_stop = 10;
/// The health checks read it once a minute at most.
constexpr long long shortest_stop_idle = 300, longest_stop_idle = 30LL * 86400;

/// The path shows the version of the server, without a token (jupyter_server services/api/handlers.py). A
/// container that ends reports the last lines of its log.
Tree container_of(const Notebook& notebook) {
  Tree made = Tree::map_of({{"name", std::string(notebook_container)}, {"image", notebook.image}});
  if (!notebook.command.empty()) made.set("args", literals(notebook.command));
  made.set("env", service::list_of(service::variable_from_secret(
                      "JUPYTER_TOKEN", notebook_secret(notebook.name), std::string(notebook_token_key))));
  made.set("ports",
           service::list_of(Tree::map_of({{"name", "http"}, {"containerPort", int{notebook_port}}})));
  made.set("readinessProbe",
           Tree::map_of({{"httpGet", Tree::map_of({{"path", "/api"}, {"port", int{notebook_port}}})},
                         {"periodSeconds", 2},
                         {"timeoutSeconds", 5},
                         {"failureThreshold", 3}}));
  made.set("terminationMessagePolicy", "FallbackToLogsOnError");
  if (Tree amounts = service::resources(notebook); !amounts.is_null())
    made.set("resources", std::move(amounts));
  Tree mounts = service::list_of(service::mount("shm", "/dev/shm"));
  if (!notebook.claim.empty()) mounts.push(service::mount("files", notebook.mount));
  made.set("volumeMounts", std::move(mounts));
  return made;
}

Tree pod_spec(const Notebook& notebook, const GpuParts& parts) {
  Tree volumes = service::list_of(service::shm_volume(notebook));
  if (!notebook.claim.empty()) volumes.push(service::claim_volume("files", notebook.claim));
  Tree spec = Tree::map_of({{"automountServiceAccountToken", false},
                            {"enableServiceLinks", false},
                            {"terminationGracePeriodSeconds", seconds_to_stop}});
  if (!notebook.claim.empty()) spec.set("securityContext", Tree::map_of({{"fsGroup", group}}));
  spec.set("containers", service::list_of(container_of(notebook)));
  spec.set("volumes", std::move(volumes));
  if (notebook.gpus.any()) add_gpus(spec, parts);
  return spec;
}

/// One pod at a time: a new one waits until the GPUs and the volume of the old one are free.
Tree deployment(const Notebook& notebook, const GpuParts& parts) {
  Tree made = service::object("apps/v1", "Deployment", service::metadata(notebook, notebook.name));
  Tree annotations = Tree::map_of({{std::string(gpus_annotation), notebook.gpus_text}});
  if (!notebook.stop_idle.empty()) annotations.set(std::string(stop_idle_annotation), notebook.stop_idle);
  made["metadata"].set("annotations", std::move(annotations));
  Tree pod = Tree::map_of({{"metadata", Tree::map_of({{"labels", service::labels(notebook)}})},
                           {"spec", pod_spec(notebook, parts)}});
  made.set("spec", Tree::map_of({{"replicas", 1},
                                 {"revisionHistoryLimit", 1},
                                 {"strategy", Tree::map_of({{"type", "Recreate"}})},
                                 {"selector", service::selector(notebook)},
                                 {"template", std::move(pod)}}));
  return made;
}

}  // namespace

Result<Notebook> make_notebook(const NotebookRequest& request) {
  NotebookRequest complete = request;
  if (complete.mount.empty()) complete.mount = default_mount;
  TRY(check_mount("--mount", complete.mount, "--mount /home/jovyan/work"));
  // The name of a framework in the catalog has the form of a reference, too.
  Notebook notebook = TRY(
      make_service_pod(notebook_kind, complete,
                       "for example --image pytorch, or --image quay.io/jupyter/scipy-notebook:2026-07-28"));
  if (request.stop_idle.empty()) return notebook;
  TRY(spec::seconds_in("--stop-idle", request.stop_idle));
  if (!stop_idle_seconds(request.stop_idle))
    return base::fail(base::Fault::usage,
                      fmt::format("--stop-idle {} is not between 5m and 30d", request.stop_idle),
                      "for example --stop-idle 2h");
  notebook.stop_idle = request.stop_idle;
  return notebook;
}

std::string notebook_secret(std::string_view name) {
  return std::string(name) + "-token";
}

std::optional<long long> stop_idle_seconds(std::string_view text) {
  const auto seconds = spec::seconds_in(stop_idle_annotation, text);
  if (!seconds || *seconds < shortest_stop_idle || *seconds > longest_stop_idle) return std::nullopt;
  return *seconds;
}

Result<std::string> image_of(const Tree& catalog, const std::string& requested, const GpuRequest& gpus,
                             const std::optional<base::Version>& cuda) {
  const std::string framework = requested.empty() ? default_framework : requested;
  if (const Tree* images = catalog.at({"notebooks", framework}))
    return image_for(*images, framework, gpus, cuda);
  return requested;
}

std::vector<Tree> objects_of(const Notebook& notebook, const GpuParts& parts, const base::Secret& token) {
  std::vector<Tree> objects;
  if (!notebook.size.empty()) objects.push_back(service::volume_claim(notebook));
  objects.push_back(service::secret(notebook, notebook_secret(notebook.name),
                                    {{std::string(notebook_token_key), token.reveal()}}));
  objects.push_back(service::web_service(notebook, notebook_port));
  if (parts.claim_template) objects.push_back(service::gpu_claim_template(notebook, parts));
  objects.push_back(deployment(notebook, parts));
  return objects;
}

}  // namespace workload
