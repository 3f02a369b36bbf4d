#include "commands/operate/health/idle_notebooks.hpp"

#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/interrupt.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/idle.hpp"
#include "gpuadm/http/client.hpp"
#include "gpuadm/workload/notebook.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/operate/health/node_api.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <map>

namespace commands {

namespace {

using base::Tree;
using cluster::IdleStep;
using cluster::IdleWatch;
using cluster::Moment;

constexpr const char* watch_file = "idle.json";
constexpr std::chrono::seconds answers_timeout{10};
constexpr std::size_t most_notebooks = 200, most_answer = 1u << 20, most_watch = 1u << 20;
constexpr double checks_a_limit = 24, least_between = 60, most_between = 300;  // seconds

/// A Deployment that stops when it is idle, and its running pod.
struct Watched {
  Tree deployment;
  std::string ns, name;
  double limit = 0;  ///< seconds
  std::string pod, uid, address, node;
  std::optional<std::string> gpus_idle_since = std::nullopt;  ///< as for cluster::idle_mark
  [[nodiscard]] std::string full() const { return ns + "/" + name; }
};

std::string annotation(const Tree& object, std::string_view name) {
  return base::text_at(object, {"metadata", "annotations", name});
}

std::string list_path(std::string_view resources) {
  return fmt::format("{}?labelSelector={}%3D{},{}%3D{}", resources, workload::managed_by_label,
                     workload::managed_by, workload::kind_label, workload::notebook_kind);
}

std::vector<Watched> watched_in(const Tree& list) {
  std::vector<Watched> all;
  const Tree* items = list.find("items");
  if (!items) return all;
  for (const Tree& item : items->items()) {
    const auto limit = workload::stop_idle_seconds(annotation(item, workload::stop_idle_annotation));
    const Tree* replicas = item.at({"spec", "replicas"});
    if (!limit || (replicas && replicas->as_int() == 0)) continue;
    Watched one{.deployment = item,
                .ns = base::text_at(item, {"metadata", "namespace"}),
                .name = base::text_at(item, {"metadata", "name"}),
                .limit = static_cast<double>(*limit)};
    // Raw answers of lists leave out what all items have in common.
    one.deployment.set("apiVersion", "apps/v1");
    one.deployment.set("kind", "Deployment");
    if (workload::check_namespace(one.ns) && base::is_dns_name(one.name)) all.push_back(std::move(one));
  }
  return all;
}

/// The only pod that runs and is not about to end. A notebook without one is not checked.
void add_pods(const Tree& list, std::vector<Watched>& notebooks) {
  const Tree* items = list.find("items");
  for (Watched& notebook : notebooks) {
    int count = 0;
    for (const Tree& pod : items ? items->items() : Tree::List()) {
      if (base::text_at(pod, {"metadata", "namespace"}) != notebook.ns ||
          base::text_at(pod, {"metadata", "labels", workload::name_label}) != notebook.name ||
          base::text_at(pod, {"status", "phase"}) != "Running" || pod.at({"metadata", "deletionTimestamp"}))
        continue;
      ++count;
      notebook.pod = base::text_at(pod, {"metadata", "name"});
      notebook.uid = base::text_at(pod, {"metadata", "uid"});
      notebook.address = base::text_at(pod, {"status", "podIP"});
      notebook.node = base::text_at(pod, {"spec", "nodeName"});
    }
    if (count != 1 || !base::is_dns_name(notebook.pod)) notebook.uid.clear();
  }
  std::erase_if(notebooks, [](const Watched& one) { return one.uid.empty(); });
}

void add_gpus(NodeApi& api, std::vector<Watched>& notebooks) {
  std::map<std::string, cluster::IdlePods> nodes;
  for (Watched& notebook : notebooks) {
    if (annotation(notebook.deployment, workload::gpus_annotation) == "0") {
      notebook.gpus_idle_since = "";
      continue;
    }
    if (!base::is_dns_name(notebook.node)) continue;
    if (!nodes.contains(notebook.node)) {
      const auto node = api.read(notebook.node);  // one that cannot be read reports nothing
      nodes[notebook.node] = node && cluster::reports_health(*node, base::now())
                                 ? cluster::idle_pods_of_node(*node)
                                 : cluster::IdlePods();
    }
    const auto& idle = nodes.at(notebook.node);
    if (const auto since = idle.find(notebook.uid); since != idle.end())
      notebook.gpus_idle_since = since->second;
  }
}

/// Calls of Jupyter's API in one notebook.
struct Calls {
  std::optional<http::Exchange> status, kernels;
};

std::optional<Tree> answer_of(const std::optional<http::Exchange>& exchange) {
  if (!exchange || !exchange->is_done() || !exchange->answer() || exchange->answer()->status != 200)
    return std::nullopt;
  auto tree = base::json::read(exchange->answer()->body, "answer");
  if (!tree) return std::nullopt;
  return std::move(*tree);
}

/// Asks all of them at the same time. One whose token cannot be read does not answer.
Result<std::vector<Calls>> ask_notebooks(NodeApi& api, const std::vector<Watched>& notebooks) {
  std::vector<Calls> calls(notebooks.size());
  std::vector<http::Exchange*> open;
  for (std::size_t i = 0; i < notebooks.size(); ++i) {
    const Watched& notebook = notebooks[i];
    if (!notebook.gpus_idle_since) continue;  // its GPUs are used
    const auto secret = api.read_path(fmt::format("/api/v1/namespaces/{}/secrets/{}", notebook.ns,
                                                  workload::notebook_secret(notebook.name)));
    if (!secret) continue;
    const auto token = base::from_base64(base::text_at(*secret, {"data", workload::notebook_token_key}));
    if (!token || token->find_first_of("\r\n") != std::string::npos) continue;
    const auto begin = [&](const char* path) {
      http::Call call{.address = notebook.address, .port = workload::notebook_port, .path = path};
      call.headers = {{"Authorization", "token " + *token}};
      call.limit = most_answer;
      return http::Exchange(std::move(call));
    };
    // Otherwise the request itself would be an activity (jupyter_server base/handlers.py).
    calls[i] = {begin("/api/status?no_track_activity=1"), begin("/api/kernels?no_track_activity=1")};
    open.push_back(&*calls[i].status);
    open.push_back(&*calls[i].kernels);
  }
  base::Interrupt interrupt;
  const base::Instant deadline = base::Clock::now() + answers_timeout;
  while (true) {
    std::erase_if(open, [](const http::Exchange* one) { return one->is_done(); });
    if (open.empty()) return calls;
    const auto driven = http::drive(open, deadline, interrupt);
    if (!driven && driven.error().fault == base::Fault::timeout) return calls;
    if (!driven) return std::unexpected(driven.error());
  }
}

/// Stops it as `gpuadm notebook stop` does, and says why.
Result<> stop(NodeApi& api, Watched& notebook) {
  notebook.deployment["spec"].set("replicas", 0);
  notebook.deployment["metadata"]["annotations"].set(std::string(workload::stopped_annotation),
                                                     "idle for " + base::human_seconds(notebook.limit));
  return api.replace(fmt::format("/apis/apps/v1/namespaces/{}/deployments/{}", notebook.ns, notebook.name),
                     notebook.deployment);
}

/// A line in its log.
Result<> warn(NodeApi& api, const Watched& notebook, double idle) {
  auto done = api.log(
      notebook.ns, notebook.pod, "notebook",
      fmt::format("gpuadm: this notebook is idle for {} and is stopped in {} unless it is "
                  "used. Files on its volume are kept.",
                  base::human_seconds(idle), base::human_seconds(std::max(notebook.limit - idle, 0.0))));
  if (!done)
    done.error().what = fmt::format("the idle notebook {} cannot be warned, and is not stopped: {}",
                                    notebook.full(), done.error().what);
  return done;
}

/// The time until the next check, by the shortest limit.
double seconds_to_next_check(const std::vector<Watched>& notebooks) {
  double shortest = checks_a_limit * least_between;
  if (!notebooks.empty()) shortest = std::ranges::min(notebooks, {}, &Watched::limit).limit;
  return std::clamp(shortest / checks_a_limit, least_between, most_between);
}

Result<> check_notebooks(NodeApi& api, const IdleRun& idle, std::vector<Watched> notebooks, IdleWatch& watch,
                         std::vector<std::string>& did) {
  const Moment& now = idle.run.now;
  Result<> all;
  if (notebooks.size() > most_notebooks) {
    all = base::fail(base::Fault::blocked,
                     fmt::format("{} notebooks have --stop-idle; only the first {} are checked",
                                 notebooks.size(), most_notebooks));
    notebooks.resize(most_notebooks);
  }
  add_pods(TRY(api.read_path(list_path("/api/v1/pods"))), notebooks);
  add_gpus(api, notebooks);
  const auto calls = TRY(ask_notebooks(api, notebooks));
  std::map<std::string, cluster::IdleNotebook> kept;
  for (std::size_t i = 0; i < notebooks.size(); ++i) {
    Watched& notebook = notebooks[i];
    const auto status = answer_of(calls[i].status), kernels = answer_of(calls[i].kernels);
    const std::string key = notebook.full() + " " + notebook.uid;
    const auto mark = cluster::idle_mark(status ? &*status : nullptr, kernels ? &*kernels : nullptr,
                                         notebook.gpus_idle_since);
    const auto verdict = cluster::next_step(watch, key, mark, notebook.limit, now);
    if (verdict.step != IdleStep::none) {
      const bool stops = verdict.step == IdleStep::stop;
      const auto done = stops ? stop(api, notebook) : warn(api, notebook, verdict.idle);
      if (done) {
        watch.notebooks.at(key).warned = true;
        did.push_back(fmt::format("{} the notebook {}, idle for {}", stops ? "stopped" : "warned",
                                  notebook.full(), base::human_seconds(verdict.idle)));
      } else {
        all = done;
      }
    }
    if (const auto entry = watch.notebooks.find(key); entry != watch.notebooks.end()) kept.insert(*entry);
  }
  watch.notebooks = std::move(kept);  // without those whose pods have ended
  return all;
}

}  // namespace

Result<> stop_idle_notebooks(const IdleRun& idle, std::vector<std::string>& did) {
  if (::access(admin_conf, R_OK) != 0) return {};
  const Moment& now = idle.run.now;
  const auto file = idle.run.folder / watch_file;
  IdleWatch watch;
  if (const auto text = base::read_file(file, most_watch))
    if (const auto tree = base::json::read(*text, watch_file)) watch = cluster::idle_watch_in(*tree);
  if (!cluster::is_check_due(watch, now)) return {};
  NodeApi api(idle.run.host, admin_conf, idle.run.fleet, idle.run.assets);
  auto notebooks = watched_in(TRY(api.read_path(list_path("/apis/apps/v1/deployments"))));
  const double between = seconds_to_next_check(notebooks);
  Result<> checked;
  if (notebooks.empty() || cluster::node_that_sets_taints(TRY(api.nodes())) != idle.node)
    watch = {};
  else
    checked = check_notebooks(api, idle, std::move(notebooks), watch, did);
  watch.boot_id = now.boot_id;
  watch.next = now.uptime + between;
  const auto saved = base::write_file(file, base::json::write(cluster::to_tree(watch), 0) + "\n");
  return checked ? saved : checked;
}

}  // namespace commands
