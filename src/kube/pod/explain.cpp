#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/last_error.hpp"

#include "kube/log/logs.hpp"
#include "kube/pod/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>

namespace kube {

namespace {

using base::Fault;

using Evaluate = PodLink (*)(const pod::Context&);
constexpr std::array<std::pair<const char*, Evaluate>, 9> later_links = {
    {{"scheduled", pod::scheduled},
     {"node", pod::node},
     {"volumes", pod::volumes},
     {"sandbox", pod::sandbox},
     {"image", pod::image},
     {"configuration", pod::configuration},
     {"start", pod::start},
     {"run", pod::run},
     {"ready", pod::ready}}};

/// The lines of containers that did not work.
std::vector<LogExcerpt> logs_of(const Pod& pod) {
  std::vector<LogExcerpt> logs;
  for (const Container& container : pod.containers) {
    const bool restarted = container.state.kind != "terminated" && !container.previous_log.empty();
    const bool has_log = !container.log.empty() || restarted;
    const auto lines = pod::failed_log(container);
    if (!lines.empty()) logs.push_back({container.name, restarted, !has_log, lines, last_error(lines).end});
  }
  return logs;
}

PodExplanation explain_one(const PodView& view, const Pod& object, const NodeFacts& hosts) {
  PodExplanation explanation;
  explanation.ns = object.ns;
  explanation.name = explanation.pod = object.name;
  explanation.node = object.node;
  explanation.status = pod::status_of(object);
  explanation.clock = view.cluster.clock;
  const auto host = hosts.find(object.node);
  pod::Context context{view, object, host == hosts.end() ? nullptr : host->second};
  if (view.events)
    for (const PodEvent& event : *view.events)
      if (event.kind == "Pod" && event.name == object.name &&
          (!object.created || !event.last || *event.last + 1 >= *object.created))
        context.events.push_back(&event);
  explanation.links = pod::evaluate(context);
  explanation.verdict = verdict_of(object, explanation.first());
  if (const PodLink* first = explanation.first();
      first && (first->reason == "gpus-in-use" || first->reason == "resource-claim-pending"))
    explanation.holders = pod::holders(view, object);
  if (!explanation.is_well()) explanation.logs = logs_of(object);
  return explanation;
}

/// When the pod failed; pods that did not come last.
double failure_time(const Pod& object) {
  double time = std::numeric_limits<double>::max();
  for (const Container& container : object.containers)
    if (const auto* ended = pod::ending(container); ended && ended->exit_code != 0 && ended->finished)
      time = std::min(time, *ended->finished);
  return time;
}

int rank(const PodExplanation& explanation) {
  const PodLink* first = explanation.first();
  return !first ? 2 : first->state == LinkState::broken ? 0 : 1;
}

bool has_completed(const PodView& view, const PodTarget& target) {
  for (const PodOwner* owner : pod::owners_of(view, target))
    if (const auto place = owner->conditions.find("Complete");
        place != owner->conditions.end() && place->second.status == "True")
      return true;
  return false;
}

/// Failed pods that their controller has replaced do not count.
std::vector<const Pod*> current_pods(const PodView& view, const PodTarget& target) {
  std::vector<const Pod*> all, kept;
  for (const Pod& object : *view.pods) all.push_back(&object);
  const bool is_complete = target.what != "pod" && has_completed(view, target);
  const std::string_view only = is_complete ? "Succeeded" : "";
  for (const Pod* object : all) {
    const bool is_replaced =
        object->phase == "Failed" && object->owner_kind != "Job" && !object->owner.empty();
    if (only.empty() ? !is_replaced : object->phase == only) kept.push_back(object);
  }
  return kept.empty() ? all : kept;
}

std::string kind_of(const PodView& view, const PodTarget& target) {
  if (target.what != "workload") return target.kind;
  for (const Pod& object : *view.pods)
    if (const auto label = object.labels.find("gpuadm.io/kind"); label != object.labels.end())
      return label->second;
  for (const PodOwner* owner : pod::owners_of(view, target))
    if (!owner->label.empty()) return owner->label;
  return target.kind == "StatefulSet" || target.kind == "Deployment" ? "notebook" : "train";
}

PodExplanation worst_of(const PodView& view, const PodTarget& target, const NodeFacts& hosts) {
  struct Candidate {
    PodExplanation explanation;
    double failed;
  };
  std::vector<Candidate> candidates;
  for (const Pod* object : current_pods(view, target))
    candidates.push_back({explain_one(view, *object, hosts), failure_time(*object)});
  std::ranges::stable_sort(
      candidates, {}, [](const Candidate& one) { return std::tuple(rank(one.explanation), one.failed); });
  PodExplanation worst = std::move(candidates.front().explanation);
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    const PodExplanation& other = candidates[i].explanation;
    const PodLink* first = other.first();
    worst.others.push_back({other.pod, other.status, first ? first->what : ""});
  }
  return worst;
}

PodExplanation without_pod(const PodView& view, const PodTarget& target) {
  PodExplanation explanation;
  explanation.clock = view.cluster.clock;
  explanation.links.push_back(pod::created(view, target));
  const PodLink& link = explanation.links.front();
  explanation.verdict = verdict_of({}, explanation.first());
  explanation.verdict.stage = Stage::no_pod;
  const bool is_done = link.state == LinkState::passed;
  explanation.status = is_done                    ? "Completed"
                       : link.reason == "stopped" ? "Stopped"
                       : link.reason == "queued"  ? "Queued"
                                                  : "No pod";
  if (!is_done)
    for (const auto& [name, function] : later_links)
      explanation.links.push_back(pod::pending(name, "not reached"));
  return explanation;
}

/// A controller that could not create all of its pods.
void add_missing_pods(const PodView& view, const PodTarget& target, PodExplanation& explanation) {
  if (target.what == "pod" || !explanation.is_well()) return;
  const auto owners = pod::owners_of(view, target);
  if (owners.empty() || !owners.front()->count) return;
  const auto active = std::ranges::count_if(
      *view.pods, [](const Pod& object) { return object.phase == "Running" || object.phase == "Pending"; });
  if (active >= *owners.front()->count) return;
  PodLink link = pod::created(view, target);
  if (link.state != LinkState::broken) return;
  link.seen.push_back(fmt::format("{} of {} pods exist", active, *owners.front()->count));
  explanation.status = "Incomplete";
  explanation.links.front() = std::move(link);
  explanation.verdict = verdict_of({}, explanation.first());
  explanation.verdict.stage = Stage::no_pod;
}

std::unexpected<base::Error> no_such_name(const PodView& view, const PodName& asked) {
  const auto& spaces = view.cluster.namespaces;
  std::vector<std::string> names;
  if (!asked.ns.empty() && spaces && !spaces->contains(asked.ns)) {
    for (const auto& [name, level] : *spaces) names.push_back(name);
    const auto near = base::nearest(asked.ns, names);
    return base::fail(
        Fault::usage, fmt::format("the namespace {} does not exist", asked.ns),
        near ? fmt::format("did you mean {}/{}?", *near, asked.name) : "kubectl get namespaces");
  }
  std::set<std::string> all;
  if (view.uses)
    for (const PodUse& use : *view.uses)
      if (asked.ns.empty() || use.ns == asked.ns) {
        all.insert(use.name);
        if (!use.workload.empty()) all.insert(use.workload);
      }
  names.assign(all.begin(), all.end());
  const std::string where = asked.ns.empty() ? "" : " in namespace " + asked.ns;
  const auto near = base::nearest(asked.name, names);
  std::string hint = asked.ns.empty() ? "kubectl get pods -A" : "kubectl -n " + asked.ns + " get pods";
  if (near) {
    hint = "did you mean " + *near + "?";
    if (view.uses)
      for (const PodUse& use : *view.uses)
        if ((use.name == *near || use.workload == *near) && (asked.ns.empty() || use.ns == asked.ns))
          hint = fmt::format("did you mean {}/{}?", use.ns, *near);
  }
  return base::fail(
      Fault::usage,
      fmt::format("no pod, notebook, training job or controller has the name {}{}", asked.name, where),
      std::move(hint));
}

std::unexpected<base::Error> ambiguous(const PodView& view, const PodName& asked) {
  std::set<std::string> spaces;
  for (const PodTarget& target : view.targets) spaces.insert(target.ns + "/" + asked.name);
  return base::fail(Fault::usage, fmt::format("several namespaces have the name {}", asked.name),
                    "specify one of " + base::join(std::vector(spaces.begin(), spaces.end()), ", "));
}

}  // namespace

Result<PodName> parse_pod_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  PodName name{slash == std::string_view::npos ? "" : std::string(text.substr(0, slash)),
               std::string(slash == std::string_view::npos ? text : text.substr(slash + 1))};
  const auto is_name = [](std::string_view part, std::size_t limit) {
    return !part.empty() && part.size() <= limit &&
           std::ranges::all_of(part,
                               [](char c) {
                                 return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                                        c == '.';
                               }) &&
           part.front() != '-' && part.front() != '.' && part.back() != '-' && part.back() != '.';
  };
  if (is_name(name.name, 253) && (slash == std::string_view::npos || is_name(name.ns, 63))) return name;
  return base::fail(Fault::usage, "invalid pod name: " + base::printable(text, 80),
                    "[NAMESPACE/]NAME of lower-case letters, digits, '-' and '.'");
}

const PodLink* first_of(const std::vector<PodLink>& links) {
  for (const LinkState state : {LinkState::broken, LinkState::unknown})
    for (const PodLink& link : links)
      if (link.state == state && link.what != "not reached") return &link;
  return nullptr;
}

std::vector<PodLink> pod::evaluate(const Context& context) {
  std::vector<PodLink> links = {passed("created", "the pod exists")};
  bool reached = true;
  for (const auto& [name, function] : later_links) {
    links.push_back(reached ? function(context) : pending(name, "not reached"));
    // A link in progress is not an obstacle for the evaluation of the next ones, except for scheduling.
    reached =
        reached && (links.back().state == LinkState::passed ||
                    (links.back().state == LinkState::unknown && name != std::string_view("scheduled")));
  }
  return links;
}

const PodLink* PodExplanation::first() const {
  return first_of(links);
}

std::string PodExplanation::headline() const {
  const PodLink* link = first();
  if (!link) return fmt::format("{}: {}", status, links.empty() ? "" : links.back().what);
  std::string text = fmt::format("{}: {}", status, link->what);
  for (std::size_t i = 0; i < holders.size() && i < 3; ++i)
    text += fmt::format("{} {} holds {}{}", i == 0 ? ";" : ",", holders[i].holder, holders[i].count,
                        holders[i].since ? " since " + pod::clock_text(*holders[i].since, clock) : "");
  if (holders.size() > 3) text += fmt::format(", and {} others", holders.size() - 3);
  return text;
}

Result<PodExplanation> explain(const PodView& view, const PodName& asked, const NodeFacts& hosts) {
  if (view.targets.empty()) {
    if (!view.uses)
      return base::fail(Fault::remote, "the API server did not return the pods",
                        "gpuadm doctor --stage cluster");
    return no_such_name(view, asked);
  }
  if (view.ns.empty()) return ambiguous(view, asked);
  if (!view.pods)
    return base::fail(Fault::remote, fmt::format("the API server did not return the pods of {}", asked.name),
                      "run again; gpuadm doctor --stage cluster");
  const auto target = std::ranges::find(view.targets, view.ns, &PodTarget::ns);
  if (target == view.targets.end()) return no_such_name(view, asked);
  PodExplanation explanation =
      view.pods->empty() ? without_pod(view, {target->what, target->kind, target->ns, asked.name})
                         : worst_of(view, {target->what, target->kind, target->ns, asked.name}, hosts);
  add_missing_pods(view, {target->what, target->kind, target->ns, asked.name}, explanation);
  explanation.ns = view.ns;
  explanation.name = asked.name;
  explanation.kind = kind_of(view, *target);
  return explanation;
}

}  // namespace kube
