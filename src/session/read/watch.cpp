#include "gpuadm/session/watch.hpp"

#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {

namespace {

using base::Clock;
using base::Fault;
using base::Instant;
using report::Finding;

/// How long answers are collected before they are evaluated.
constexpr std::chrono::milliseconds gathering{200};
/// When a host is reported as not responding; the wait continues.
constexpr std::chrono::seconds watch_timeout{20};

enum class Asked { nothing, probe, view };

/// One host, polled independently.
struct Watched {
  Asked asked = Asked::nothing;
  Instant since, due;  ///< when it was queried; when it is due again
  std::optional<base::Error> error;
};

class Watch {
 public:
  Watch(ClusterSurvey& recording, transport::Fleet& fleet, const Watcher& watcher, transport::Command probe,
        transport::Command view)
      : recording_(recording),
        fleet_(fleet),
        watcher_(watcher),
        probe_(std::move(probe)),
        view_(std::move(view)) {
    for (const std::string& host : fleet.hosts()) hosts_[host];
  }

  Result<> run() {
    while (!fleet_.interrupted()) {
      ask();
      auto completion = fleet_.next_until(wake());
      if (fleet_.interrupted()) break;
      if (completion) take(std::move(*completion));
      complain();
      if (news_ && Clock::now() >= *news_ + gathering) TRY(judge());
      if (Clock::now() >= drawn_ + std::chrono::seconds(1)) notify({});
    }
    return {};
  }

 private:
  void ask() {
    const Instant now = Clock::now();
    for (auto& [name, host] : hosts_) {
      if (host.asked != Asked::nothing || host.due > now) continue;
      host.asked = Asked::probe;
      host.since = now;
      fleet_.submit(name, probe_);
    }
  }

  Instant wake() const {
    Instant when = Clock::now() + std::chrono::seconds(1);
    for (const auto& [name, host] : hosts_)
      if (host.asked == Asked::nothing) when = std::min(when, host.due);
    return news_ ? std::min(when, *news_ + gathering) : when;
  }

  void take(transport::Completion completion) {
    Watched& host = hosts_.at(completion.host);
    news_ = news_.value_or(Clock::now());
    const Asked asked = std::exchange(host.asked, Asked::nothing);
    host.due = std::max(Clock::now(), host.since + watcher_.every);
    host.error.reset();
    if (!completion.result) {
      host.error = std::move(completion.result).error();
      return;
    }
    if (asked == Asked::view) {
      recording_.view = std::move(completion.result->out);
      return;
    }
    auto facts = read_probe(completion.host, *completion.result, completion.ended);
    if (!facts) {
      host.error = std::move(facts).error();
      return;
    }
    recording_.survey.census.insert_or_assign(completion.host, std::move(facts));
    if (!watcher_.view || completion.host != control_plane()) return;
    host.asked = Asked::view;
    fleet_.submit(completion.host, view_);
  }

  /// The first host of the cluster that can describe the whole cluster.
  std::string control_plane() const {
    for (const spec::Host& host : recording_.cluster.hosts)
      if (facts::is_control_plane(recording_.survey.census, host.name) && !hosts_.at(host.name).error)
        return host.name;
    return {};
  }

  bool all_answered() const {
    return recording_.survey.census.size() == hosts_.size() &&
           std::ranges::none_of(hosts_, [](const auto& host) { return host.second.error.has_value(); });
  }

  /// Slow hosts are reported before their time limit.
  void complain() {
    for (auto& [name, host] : hosts_) {
      const auto begun = fleet_.begun(name);
      if (!begun || host.error || Clock::now() < *begun + watch_timeout) continue;
      host.error = base::Error{
          Fault::timeout, fmt::format("{}: no answer within {}s; still waiting", name, watch_timeout.count()),
          "log in and check what hangs: nvidia-smi, a mount, the login itself"};
      news_ = news_.value_or(Clock::now());
    }
  }

  /// The last facts of hosts that answered once, and the errors of those that do not answer now.
  Result<> judge() {
    news_.reset();
    for (const auto& [name, host] : hosts_)
      if (host.error && !recording_.survey.census.contains(name))
        recording_.survey.census.emplace(name, std::unexpected(*host.error));
    if (watcher_.view && !recording_.view && control_plane().empty() && all_answered())
      return std::unexpected(no_control_plane());
    std::vector<Finding> now = TRY(watcher_.judge(recording_));
    std::erase_if(now, [](const Finding& finding) { return finding.id == reachable; });
    facts::Census unreached;
    for (const auto& [name, host] : hosts_)
      if (host.error) unreached.emplace(name, std::unexpected(*host.error));
    std::ranges::move(unreached_in(unreached), std::inserter(now, now.begin()));
    const auto changes = report::changes(findings_, now, base::now());
    findings_ = std::move(now);
    notify(changes);
    return {};
  }

  void notify(std::span<const report::Change> changes) {
    drawn_ = Clock::now();
    watcher_.notify(changes, findings_);
  }

  ClusterSurvey& recording_;
  transport::Fleet& fleet_;
  const Watcher& watcher_;
  const transport::Command probe_, view_;
  std::map<std::string, Watched> hosts_;
  std::optional<Instant> news_;  ///< arrival of the first answer that was not evaluated
  Instant drawn_;
  std::vector<Finding> findings_;
};

}  // namespace

Result<> watch(ClusterSurvey& recording, transport::Fleet& fleet, const assets::Store& assets,
               const Watcher& watcher) {
  auto probe = TRY(probe_command(assets, watcher.reasons, &recording.cluster));
  auto view = TRY(view_command(assets));
  return Watch(recording, fleet, watcher, std::move(probe), std::move(view)).run();
}

}  // namespace session
