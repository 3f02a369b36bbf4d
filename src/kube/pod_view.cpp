#include "gpuadm/kube/pod_view.hpp"

#include "gpuadm/base/redact.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/facts/table.hpp"
#include "gpuadm/kube/quantity.hpp"

#include <algorithm>
#include <span>

namespace kube {

namespace {

using base::Tree;
using facts::Row;
using facts::Section;
using facts::Sections;
using facts::table;

/// Maps that kubectl prints next to each other: {…} {…}
std::vector<Amounts> amounts_in(const std::string& text) {
  std::vector<Amounts> found;
  const auto list = base::json::read("[" + base::replace_all(text, "} {", "},{") + "]", "kubectl");
  if (!list) return found;
  for (const Tree& one : list->items()) found.push_back(amounts_of(one));
  return found;
}

PodUse read_use(const Row& row) {
  PodUse use{.ns = row.text(0),
             .name = row.text(1),
             .node = row.text(2),
             .phase = row.text(3),
             .kind = row.text(5),
             .workload = row.text(6),
             .started = base::parse_time(row.text(4)),
             .requests = {},
             .ready = row.text(9),
             .waiting = row.text(10)};
  for (const Amounts& one : amounts_in(row.text(7)))
    for (const auto& [resource, amount] : one) use.requests[resource] += amount;
  for (const Amounts& one : amounts_in(row.text(8)))
    for (const auto& [resource, amount] : one)
      use.requests[resource] = std::max(use.requests[resource], amount);
  return use;
}

/// "Failed=True:BackoffLimitExceeded:Job has reached the specified backoff limit;;"
std::map<std::string, PodCondition> read_conditions(const std::string& text) {
  std::map<std::string, PodCondition> conditions;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find(";;");
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
    const std::size_t equals = one.find('='), colon = one.find(':');
    if (equals == std::string_view::npos || colon == std::string_view::npos || colon < equals) continue;
    const std::size_t second = one.find(':', colon + 1);
    conditions[std::string(base::trim(one.substr(0, equals)))] = {
        std::string(one.substr(equals + 1, colon - equals - 1)),
        std::string(one.substr(colon + 1, second == std::string_view::npos ? second : second - colon - 1)),
        second == std::string_view::npos ? std::string() : std::string(base::trim(one.substr(second + 1)))};
  }
  return conditions;
}

PodOwner read_owner(const Row& row) {
  PodOwner owner{.kind = row.text(0),
                 .name = row.text(1),
                 .owner_kind = row.text(2),
                 .owner = row.text(3),
                 .workload = row.text(4),
                 .count = {},
                 .conditions = read_conditions(row.text(6)),
                 .created = base::parse_time(row.text(7)),
                 .suspended = row.text(8) == "true",
                 .label = row.text(9),
                 .queue = row.text(10)};
  if (const auto count = base::to_int(row.text(5))) owner.count = static_cast<int>(*count);
  return owner;
}

/// Events of newer clients have only eventTime.
PodEvent read_event(const Row& row) {
  PodEvent event{.kind = row.text(0),
                 .name = row.text(1),
                 .type = row.text(2),
                 .reason = row.text(3),
                 .message = row.text(8),
                 .count = std::max(1, row.number(4)),
                 .first = base::parse_time(row.text(5)),
                 .last = base::parse_time(row.text(6))};
  const auto time = base::parse_time(row.text(7));
  if (!event.first) event.first = time;
  if (!event.last) event.last = event.first;
  return event;
}

PodVolumeObject read_volume(const Row& row) {
  const std::string claim = row.text(2), nfs = row.text(5);
  const Tree terms = row.json(6);
  return {row.text(0), row.text(1),           claim == "/" ? "" : claim, row.text(3),
          row.text(4), nfs == ":" ? "" : nfs, read_node_terms(terms),    terms.is_list()};
}

/// What the kubelet answers, as a log, for a container that the container runtime has removed
/// (`GetContainerLogs` in kubernetes/pkg/kubelet/kuberuntime/kuberuntime_container.go).
bool is_of_removed_container(std::span<const std::string_view> log) {
  return log.size() == 1 && log.front().starts_with("unable to retrieve container logs for ");
}

void read_pods(const Sections& sections, PodView& view) {
  const Section* section = sections.find("pod-objects");
  if (!section || section->status.value_or(1) != 0 || section->cut) return;
  const auto list = base::json::read(section->text(), "kubectl");
  if (!list) return;
  auto& pods = view.pods.emplace();
  const Tree* items = list->find("items");
  if (!items) return;
  const auto lines_of = [&](const std::string& name) {
    std::vector<std::string> lines;
    if (is_of_removed_container(sections.lines(name))) return lines;
    std::size_t secrets = 0;
    for (const std::string_view line : sections.lines(name))
      lines.push_back(base::without_secrets(line, secrets));
    return lines;
  };
  for (const Tree& item : items->items()) {
    Pod pod = read_pod(item);
    for (Container& container : pod.containers) {
      container.log = lines_of("log/" + pod.name + "/" + container.name);
      container.previous_log = lines_of("previous-log/" + pod.name + "/" + container.name);
    }
    pods.push_back(std::move(pod));
  }
}

}  // namespace

base::Result<PodView> parse_pod_view(std::string_view output) {
  PodView view;
  view.cluster = TRY(facts::parse_cluster(output));
  const Sections sections = TRY(Sections::split(output));
  view.ns = sections.first("pod-space").value_or("");
  view.uses = table<PodUse>(sections, "pod-uses", read_use);
  if (auto targets = table<PodTarget>(sections, "pod-targets", [](const Row& row) {
        return PodTarget{row.text(0), row.text(1), row.text(2), row.text(3)};
      }))
    view.targets = std::move(*targets);
  read_pods(sections, view);
  view.owners = table<PodOwner>(sections, "pod-owners", read_owner);
  view.events = table<PodEvent>(sections, "pod-events", read_event);
  if (view.events)
    std::ranges::stable_sort(*view.events, {}, [](const PodEvent& event) { return event.last.value_or(0); });
  view.volumes = table<PodVolumeObject>(sections, "pod-volumes", read_volume);
  view.claims = table<PodClaim>(
      sections, "pod-claims", [](const Row& row) { return PodClaim{row.text(0), row.text(1), row.text(2)}; });
  return view;
}

}  // namespace kube
