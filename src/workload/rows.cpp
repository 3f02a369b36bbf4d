#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/kube/quantity.hpp"
#include "gpuadm/kube/verdict.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/notebook.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/service_pod.hpp"
#include "gpuadm/workload/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <set>
#include <tuple>

namespace workload {

namespace {

using base::Tree;

constexpr std::size_t longest_cell = 300;
constexpr int minute = 60, hour = 60 * minute, day = 24 * hour;

using Key = std::tuple<std::string, std::string, std::string>;  ///< kind, namespace, name

std::string cell_at(const Tree& tree, std::initializer_list<std::string_view> path) {
  const Tree* found = tree.at(path);
  return found ? base::printable(found->text(), longest_cell) : "";
}

std::string label(const Tree& object, std::string_view name) {
  const Tree* labels = object.at({"metadata", "labels"});
  const Tree* found = labels ? labels->find(name) : nullptr;
  return found ? base::printable(found->text(), longest_cell) : "";
}

long long number_at(const Tree& tree, std::initializer_list<std::string_view> path) {
  const Tree* found = tree.at(path);
  return found ? found->as_int().value_or(0) : 0;
}

bool has_ended(const Tree& pod) {
  const std::string phase = cell_at(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

bool is_being_deleted(const Tree& pod) {
  return pod.at({"metadata", "deletionTimestamp"}) != nullptr;
}

/// The objects of one workload.
struct Group {
  std::vector<Tree> deployments, jobs, claims, pods;
};

void see_pods(const Group& group, WorkloadRow& row) {
  std::set<std::string> nodes;
  long long gpus = 0;
  // A pod that is being deleted counts until its successor is there.
  const bool is_replaced = std::ranges::any_of(
      group.pods, [](const Tree& pod) { return !has_ended(pod) && !is_being_deleted(pod); });
  for (const Tree& pod : group.pods) {
    if (has_ended(pod) || (is_replaced && is_being_deleted(pod))) continue;
    row.runs = true;
    gpus += kube::gpus_in(*pod.find("spec"));
    if (const std::string node = cell_at(pod, {"spec", "nodeName"}); !node.empty()) nodes.insert(node);
  }
  row.node = base::join(std::vector<std::string>(nodes.begin(), nodes.end()), ",");
  row.gpus = std::to_string(gpus);
}

/// The GPUs of all pods; `each`: of one, as they were requested.
std::string gpus_of_all(const Tree& deployment, const std::string& each) {
  const Tree* replicas = deployment.at({"spec", "replicas"});
  const auto pods = replicas ? replicas->as_int().value_or(1) : 1;
  if (pods <= 1 || each.empty() || each == "0") return each;
  const auto count = base::to_int(each);
  return count ? std::to_string(*count * pods) : fmt::format("{} x {}", pods, each);
}

void see_template(const Tree& deployment, WorkloadRow& row) {
  if (const Tree* annotations = deployment.at({"metadata", "annotations"}))
    if (const Tree* gpus = annotations->find(gpus_annotation))
      row.gpus = gpus_of_all(deployment, base::printable(gpus->text(), longest_cell));
  const Tree* spec = deployment.at({"spec", "template", "spec"});
  if (!spec) return;
  if (const Tree* containers = spec->find("containers"); containers && !containers->items().empty())
    row.image = cell_at(containers->items().front(), {"image"});
  if (const Tree* volumes = spec->find("volumes"))
    for (const Tree& volume : volumes->items())
      // The claim of a model is mounted read-only, and belongs to no single workload.
      if (const std::string claim = cell_at(volume, {"persistentVolumeClaim", "claimName"});
          !claim.empty() && cell_at(volume, {"persistentVolumeClaim", "readOnly"}) != "true")
        row.volume = claim;
}

void see_service(const Group& group, WorkloadRow& row) {
  if (group.deployments.empty()) {
    row.state = group.pods.empty() ? "deleted, volume kept" : "ending";
    return;
  }
  const Tree& deployment = group.deployments.front();
  see_template(deployment, row);
  if (number_at(deployment, {"spec", "replicas"}) == 0) {
    row.state = group.pods.empty() ? "stopped" : "stopping";
    if (const Tree* annotations = deployment.at({"metadata", "annotations"}))
      if (const Tree* why = annotations->find(stopped_annotation))
        row.why = base::printable(why->text(), longest_cell);
    return;
  }
  std::vector<Tree> objects = group.pods;
  objects.push_back(deployment);
  const kube::PodVerdict verdict = kube::judge(objects);
  row.why = verdict.text;
  row.state = verdict.stage == kube::Stage::ready          ? "ready"
              : verdict.outlook == kube::Outlook::hopeless ? "failed"
                                                           : "starting";
}

/// By its pods: DaemonSets are not read.
void see_addon(const Group& group, WorkloadRow& row) {
  const auto ready = std::ranges::count_if(group.pods, [](const Tree& pod) {
    return kube::judge(std::span(&pod, 1)).stage == kube::Stage::ready;  // one that is being deleted is not
  });
  const auto all = static_cast<long>(group.pods.size());
  row.state = all > 0 && ready == all ? "ready" : fmt::format("{} of {} pods are ready", ready, all);
}

bool has_condition(const Tree& job, std::string_view type) {
  const Tree* all = job.at({"status", "conditions"});
  return all && std::ranges::any_of(all->items(), [&](const Tree& one) {
           return cell_at(one, {"type"}) == type && cell_at(one, {"status"}) == "True";
         });
}

void see_jobs(const Group& group, WorkloadRow& row) {
  const auto having = [&](std::string_view type) {
    return std::ranges::count_if(group.jobs, [&](const Tree& job) { return has_condition(job, type); });
  };
  const auto all = static_cast<long>(group.jobs.size());
  const auto running = std::ranges::count_if(
      group.pods, [](const Tree& pod) { return cell_at(pod, {"status", "phase"}) == "Running"; });
  const auto waiting = std::ranges::count_if(
      group.pods, [](const Tree& pod) { return cell_at(pod, {"status", "phase"}) == "Pending"; });
  if (having("Failed") > 0)
    row.state = "failed";
  else if (all > 0 && having("Complete") == all)
    row.state = "completed";
  else if (waiting > 0)
    row.state = fmt::format("{} of {} pods run", running, running + waiting);
  else
    row.state = running > 0 ? "running" : "starting";
}

void see_age(const Group& group, WorkloadRow& row) {
  for (const auto* objects : {&group.deployments, &group.jobs, &group.claims, &group.pods})
    for (const Tree& object : *objects) {
      const double made = base::parse_time(cell_at(object, {"metadata", "creationTimestamp"})).value_or(0);
      if (made > 0 && (row.created == 0 || made < row.created)) row.created = made;
    }
}

WorkloadRow row_of(const Key& key, const Group& group) {
  WorkloadRow row;
  std::tie(row.kind, row.ns, row.name) = key;
  see_pods(group, row);
  if (row.kind == notebook_kind || row.kind == serve_kind)
    see_service(group, row);
  else if (row.kind == addon_kind)
    see_addon(group, row);
  else if (!group.jobs.empty())
    see_jobs(group, row);
  else if (!group.claims.empty())
    row.state = cell_at(group.claims.front(), {"status", "phase"});
  else
    row.state = row.runs ? "running" : "ended";
  if (row.volume.empty() && !group.claims.empty())
    row.volume = cell_at(group.claims.front(), {"metadata", "name"});
  see_age(group, row);
  return row;
}

}  // namespace

std::vector<std::string> workload_kinds() {
  return {"deployments.apps", "jobs.batch", "pods", "persistentvolumeclaims"};
}

std::vector<WorkloadRow> workload_rows(std::span<const Tree> objects) {
  std::map<Key, Group> groups;
  for (const Tree& object : objects) {
    const std::string kind = label(object, kind_label), name = label(object, name_label);
    if (kind.empty() || name.empty() || !object.find("spec")) continue;
    Group& group = groups[{kind, cell_at(object, {"metadata", "namespace"}), name}];
    const std::string type = cell_at(object, {"kind"});
    if (type == "Deployment") group.deployments.push_back(object);
    if (type == "Job") group.jobs.push_back(object);
    if (type == "Pod") group.pods.push_back(object);
    if (type == "PersistentVolumeClaim") group.claims.push_back(object);
  }
  std::vector<WorkloadRow> rows;
  for (const auto& [key, group] : groups) rows.push_back(row_of(key, group));
  return rows;
}

std::string age_of(const WorkloadRow& row, base::Time now) {
  if (row.created == 0) return "";
  const auto seconds = std::chrono::duration<double>(now.time_since_epoch()).count() - row.created;
  const auto age = static_cast<long long>(std::max(0.0, seconds));
  if (age < minute) return fmt::format("{}s", age);
  if (age < hour) return fmt::format("{}m", age / minute);
  if (age < 2 * day) return fmt::format("{}h", age / hour);
  return fmt::format("{}d", age / day);
}

Tree to_tree(std::span<const WorkloadRow> rows) {
  Tree list = Tree::list();
  for (const WorkloadRow& row : rows)
    list.push(Tree::map_of({{"kind", row.kind},
                            {"namespace", row.ns},
                            {"name", row.name},
                            {"state", row.state},
                            {"why", row.why},
                            {"gpus", row.gpus},
                            {"node", row.node},
                            {"image", row.image},
                            {"volume", row.volume},
                            {"created", row.created}}));
  return Tree::map_of({{"workloads", std::move(list)}});
}

}  // namespace workload
