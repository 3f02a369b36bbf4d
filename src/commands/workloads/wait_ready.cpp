#include "commands/workloads/wait_ready.hpp"

#include "gpuadm/base/text.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/workloads/read_failures.hpp"

#include <fmt/format.h>

#include <optional>
#include <span>

namespace commands {

namespace {

using namespace std::chrono_literals;
using base::Fault;
using kube::PodVerdict;

constexpr std::chrono::seconds between_reads{1};

std::string seconds(std::chrono::seconds time) {
  return base::human_seconds(static_cast<double>(time.count()));
}

/// Whether all pods that the Deployment requests are ready, and no earlier ones are left that an update
/// replaces; kube::judge is about the newest one.
bool are_all_ready(const std::vector<base::Tree>& objects) {
  const base::Tree* deployment = object_of(objects, "Deployment");
  if (!deployment) return true;
  const auto number = [&](std::initializer_list<std::string_view> path) {
    const base::Tree* found = deployment->at(path);
    return found ? found->as_int().value_or(0) : 0;
  };
  const long long requested = number({"spec", "replicas"});
  return number({"status", "observedGeneration"}) >= number({"metadata", "generation"}) &&
         number({"status", "updatedReplicas"}) >= requested &&
         number({"status", "readyReplicas"}) >= requested && number({"status", "replicas"}) <= requested;
}

bool is_current_pod(const base::Tree& object) {
  const base::Tree* kind = object.find("kind");
  return kind && kind->text() == "Pod" && !object.at({"metadata", "deletionTimestamp"});
}

/// The revision of the newest pod of a Deployment: an earlier one may never become ready.
std::string newest_revision(const std::vector<base::Tree>& objects) {
  std::string newest, revision;
  for (const base::Tree& object : objects) {
    if (!is_current_pod(object)) continue;
    const std::string created = base::text_at(object, {"metadata", "creationTimestamp"});
    if (created < newest) continue;
    newest = created;
    revision = base::text_at(object, {"metadata", "labels", "pod-template-hash"});
  }
  return revision;
}

/// The verdict on the first pod of the newest revision that is not ready; nothing: there is none yet.
std::optional<PodVerdict> not_ready_one(const std::vector<base::Tree>& objects) {
  const std::string revision = newest_revision(objects);
  for (const base::Tree& object : objects) {
    if (!is_current_pod(object) ||
        base::text_at(object, {"metadata", "labels", "pod-template-hash"}) != revision)
      continue;
    PodVerdict verdict = kube::judge(std::span(&object, 1));
    if (verdict.stage != kube::Stage::ready) return verdict;
  }
  return std::nullopt;
}

/// Waits on the node until the Deployment is available, one read long at most.
Result<PodVerdict> read_pod(const AwaitedPod& awaited, session::ClusterClient& client) {
  const auto objects = TRY(client.get({.kinds = {"deployments.apps", "pods"},
                                       .ns = awaited.ns,
                                       .selector = awaited.selector,
                                       .available_within = between_reads}));
  PodVerdict verdict = kube::judge(objects);
  if (awaited.pods == AwaitedPods::one || verdict.stage != kube::Stage::ready || are_all_ready(objects))
    return verdict;
  if (auto other = not_ready_one(objects)) return std::move(*other);
  verdict.stage = kube::Stage::no_pod;
  return verdict;
}

std::string line_of(const PodVerdict& verdict, const AwaitedPod& awaited) {
  if (verdict.stage == kube::Stage::running && awaited.running && verdict.text.empty())
    if (std::string line = awaited.running(verdict); !line.empty()) return line;
  return kube::describe(verdict) + (verdict.text.empty() ? "" : ": " + verdict.text);
}

}  // namespace

Result<> wait_until_ready(ReachedCluster& cluster, std::chrono::seconds timeout,
                          const std::function<Result<ReadyProgress>()>& read,
                          const std::function<base::Error(Fault)>& not_ready, Io& io) {
  const base::Instant until = base::Clock::now() + timeout;
  base::Instant well_until = base::Clock::now();
  ReadFailures failures(io);
  std::string shown;
  while (true) {
    const base::Instant began = base::Clock::now();
    const auto answer = read();
    const base::Instant now = base::Clock::now();
    if (!answer) {
      TRY(failures.tolerate(answer.error()));
      if (now >= until) return std::unexpected(answer.error());
      well_until = now;
      TRY(cluster.pause(between_reads));
      continue;
    }
    failures.reset();
    const ReadyProgress& progress = *answer;
    if (progress.ready) return {};
    if (progress.outlook == kube::Outlook::waiting) well_until = now;
    const auto lasted = std::chrono::duration_cast<std::chrono::seconds>(now - well_until);
    if (kube::ends_wait(kube::notebook_wait, progress.outlook, lasted))
      return std::unexpected(not_ready(Fault::remote));
    if (now >= until) {
      base::Error error = not_ready(Fault::timeout);
      error.what += fmt::format(" (not within {})", seconds(timeout));
      return std::unexpected(std::move(error));
    }
    if (progress.line != shown && io.err_style.verbosity != report::Verbosity::quiet)
      io.err(fmt::format("{} (at most {})\n", progress.line, seconds(timeout)));
    shown = progress.line;
    if (now - began < between_reads)
      TRY(cluster.pause(std::chrono::ceil<std::chrono::milliseconds>(began + between_reads - now)));
  }
}

Result<std::string> wait_ready(ReachedCluster& cluster, const AwaitedPod& awaited,
                               std::chrono::seconds timeout, Io& io) {
  PodVerdict verdict;
  const auto read = [&]() -> Result<ReadyProgress> {
    verdict = TRY(read_pod(awaited, cluster.client()));
    return ReadyProgress{verdict.stage == kube::Stage::ready, verdict.outlook, line_of(verdict, awaited)};
  };
  const auto not_ready = [&](Fault fault) {
    const kube::PodName name{awaited.ns, verdict.pod.empty() ? awaited.name : verdict.pod};
    const auto reason = reason_of(cluster.spec(), name, cluster.client());
    std::string what = reason ? reason->what : verdict.text;
    if (fault == Fault::timeout) what = kube::describe(verdict) + (what.empty() ? "" : ": " + what);
    // The pod is deleted after this, and its log with it.
    if (reason && !reason->log.empty()) what += "\n  " + reason->log;
    return base::Error{fault, std::move(what), reason ? reason->fix : verdict.fix};
  };
  TRY(wait_until_ready(cluster, timeout, read, not_ready, io));
  return verdict.node;
}

}  // namespace commands
