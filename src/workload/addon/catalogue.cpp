#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/queue.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;

std::vector<Addon> make_catalogue() {
  return {
      {.name = "local-path",
       .message = "Default StorageClass with volumes on a local storage",
       .ns = "local-path-storage",
       .manifest = "templates/local-path.yaml",
       .images = {"local_path_image", "local_path_helper_image"},
       .settings = {{"storage", "NAME", "Storage of kind local (gpuadm storage list)", true}},
       .proof = "a claim without a class is bound, and a pod writes to it",
       .data = "the folder volumes of the storage",
       .by_hand = ""},
      {.name = "metrics-server",
       .message = "CPU and memory of nodes and pods, for kubectl top and autoscalers",
       .ns = "gpuadm-metrics-server",
       .manifest = "templates/addons/metrics-server.yaml",
       .images = {"metrics_server_image"},
       .settings = {{"kubelet-tls", "skip|verify",
                     "Whether certificates of kubelets are verified (default skip: kubeadm's are signed by "
                     "themselves)"}},
       .proof = "the metrics API has CPU and memory of every Ready node",
       .data = "",
       .by_hand = ""},
      {.name = "dcgm-exporter",
       .message = "Metrics of GPUs from NVIDIA DCGM, by pod, for Prometheus",
       .ns = "gpuadm-dcgm-exporter",
       .manifest = "templates/addons/dcgm-exporter.yaml",
       .images = {"dcgm_exporter_image"},
       .settings = {{"interval", "SECONDS", "Time between two readings of the GPUs (default 30)"}},
       .proof = "a metric of a GPU is read from each node with GPUs",
       .data = "",
       .by_hand = ""},
      {.name = "prometheus",
       .message = "Prometheus with metrics of nodes, containers and GPUs",
       .ns = "gpuadm-prometheus",
       .manifest = "templates/addons/prometheus.yaml",
       .images = {"prometheus_image"},
       .settings = {{"storage", "NAME",
                     "Storage for the metrics (gpuadm storage list); without one they are lost when the pod "
                     "ends"},
                    {"size", "SIZE", "Size at which the oldest metrics are deleted (default 20Gi)"},
                    {"retention", "TIME", "Age at which metrics are deleted, such as 15d (default 15d)"}},
       .proof = "all of its targets are up, and a query for the CPU time of a node has a value",
       .data = "the claim gpuadm-prometheus/metrics on the storage",
       .by_hand = ""},
      {.name = "jupyterhub",
       .message = "Notebooks with GPUs for many users, through one address and a login",
       .ns = "gpuadm-jupyterhub",
       .manifest = "templates/addons/jupyterhub.yaml",
       .images = {"jupyterhub_hub_image", "jupyterhub_proxy_image"},
       .settings = {{"users", "FILE", "Users and passwords, a line each NAME:PASSWORD[:admin], mode 0600"},
                    {"oidc", "FILE", "OpenID Connect settings as YAML, mode 0600, instead of users"},
                    {"storage", "NAME",
                     "Storage for files of users (gpuadm storage list); without one they are lost when a "
                     "notebook ends"}},
       .proof =
           "a user logs in, starts a notebook with a GPU if the cluster has one, and runs a program in it",
       .data = "the claim gpuadm-jupyterhub/files on the storage, with the files of all users",
       .by_hand = ""},
      {.name = kueue_addon,
       .message = "Queues of jobs for GPUs, with a share for each user",
       .ns = "gpuadm-kueue",
       .manifest = "templates/addons/kueue.yaml",
       .images = {"kueue_image"},
       .settings =
           {{"sharing", "strict|borrow|reclaim",
             "GPUs of a share that its user does not use: they stay free, others borrow them until their "
             "jobs end (default borrow), or until the user needs them"}},
       .proof = "a job in a queue is admitted and runs, and one over the quota waits",
       .data = "",
       .by_hand = ""},
      {.name = "kubeflow-trainer",
       .message = "Operator for TrainJob objects (not installed by gpuadm)",
       .ns = "",
       .manifest = "",
       .images = {},
       .settings = {},
       .proof = "",
       .data = "",
       .by_hand =
           "gpuadm train run -f FILE runs manifests of Kubeflow Trainer (TrainJob) and of its predecessor "
           "(PyTorchJob, TFJob, MPIJob) without an operator. To install the operator as well, which needs "
           "Kubernetes 1.31: kubectl apply --server-side -k "
           "\"https://github.com/kubeflow/trainer.git/manifests/overlays/manager?ref=VERSION\", then the "
           "same with manifests/overlays/runtimes. Both may be used in one cluster: gpuadm selects its "
           "own objects by its labels and never changes those of the operator."},
  };
}

Result<> refuse(std::string_view setting, std::string_view value, std::string_view expected) {
  return base::fail(Fault::usage,
                    fmt::format("--set {}: invalid value: {}", setting, base::printable(value, 80)),
                    fmt::format("expected {}", expected));
}

bool is_number(std::string_view digits, long long least, long long most) {
  const auto number = base::to_int(digits);
  return number && digits.find_first_not_of("0123456789") == std::string_view::npos && *number >= least &&
         *number <= most;
}

/// Of what needs no cluster and no file.
Result<> check_value(const std::string& name, const std::string& value) {
  constexpr int shortest_interval = 1, longest_interval = 3600, longest_retention = 100000;
  if (value.empty()) return refuse(name, value, "a value: --set " + name + "=VALUE");
  if (name == "storage") return check_name("storage", value);
  if (name == "size") {
    TRY(size_of("--set size", value));
  } else if (name == "kubelet-tls") {
    if (value != "skip" && value != "verify") return refuse(name, value, "skip or verify");
  } else if (name == "sharing") {
    if (!parse_sharing(value)) return refuse(name, value, "strict, borrow or reclaim");
  } else if (name == "interval") {
    if (!is_number(value, shortest_interval, longest_interval))
      return refuse(name, value, fmt::format("seconds, {} to {}", shortest_interval, longest_interval));
  } else if (name == "retention") {
    const std::string_view digits = std::string_view(value).substr(0, value.size() - 1);
    if (std::string_view("hdwy").find(value.back()) == std::string_view::npos ||
        !is_number(digits, 1, longest_retention))
      return refuse(name, value, "a number with h, d, w or y, such as 15d");
  }
  return {};
}

std::vector<std::string> setting_names(const Addon& addon) {
  std::vector<std::string> names;
  for (const AddonSetting& setting : addon.settings) names.emplace_back(setting.name);
  return names;
}

Result<> check_all(const Addon& addon, const AddonSettings& settings) {
  for (const AddonSetting& setting : addon.settings)
    if (setting.required && !settings.contains(std::string(setting.name)))
      return base::fail(
          Fault::usage,
          fmt::format("the add-on {} needs --set {}={}", addon.name, setting.name, setting.value),
          std::string(setting.message));
  if (addon.name == "jupyterhub" && settings.contains("users") == settings.contains("oidc"))
    return base::fail(Fault::usage, "the add-on jupyterhub needs either users or oidc",
                      "--set users=FILE, or --set oidc=FILE");
  if (addon.name == "prometheus" && settings.contains("size") && !settings.contains("storage"))
    return base::fail(Fault::usage, "--set size: there is no storage",
                      "add --set storage=NAME, or leave out size");
  return {};
}

}  // namespace

std::span<const Addon> addons() {
  static const std::vector<Addon> all = make_catalogue();
  return all;
}

Result<const Addon*> find_addon(std::string_view name) {
  std::vector<std::string> names;
  for (const Addon& addon : addons()) {
    if (addon.name == name) return &addon;
    names.emplace_back(addon.name);
  }
  const auto near = base::nearest(std::string(name), names);
  return base::fail(Fault::usage, fmt::format("unknown add-on: {}", base::printable(name, 80)),
                    near ? fmt::format("did you mean {}?", *near) : "known: " + base::join(names, ", "));
}

Result<const Addon*> find_installable_addon(std::string_view name) {
  const Addon* addon = TRY(find_addon(name));
  if (addon->by_hand.empty()) return addon;
  return base::fail(Fault::usage, fmt::format("{} is not installed by gpuadm", addon->name),
                    fmt::format("gpuadm addon show {}", addon->name));
}

Result<AddonSettings> parse_addon_settings(const Addon& addon, const std::vector<std::string>& words) {
  AddonSettings settings;
  const std::vector<std::string> known = setting_names(addon);
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (std::ranges::find(known, name) == known.end()) {
      const auto near = base::nearest(name, known);
      return base::fail(
          Fault::usage,
          fmt::format("--set {}: the add-on {} has no such setting", base::printable(name, 80), addon.name),
          near            ? fmt::format("did you mean {}?", *near)
          : known.empty() ? "it has no settings"
                          : "it has: " + base::join(known, ", "));
    }
    if (equals == std::string::npos)
      return base::fail(Fault::usage, fmt::format("--set {}: the value is missing", name),
                        fmt::format("--set {}=VALUE", name));
    const std::string value = word.substr(equals + 1);
    TRY(check_value(name, value));
    if (!settings.emplace(name, value).second)
      return base::fail(Fault::usage, fmt::format("--set {} is given twice", name), "omit one of them");
  }
  TRY(check_all(addon, settings));
  return settings;
}

}  // namespace workload
