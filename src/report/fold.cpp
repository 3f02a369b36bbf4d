#include "gpuadm/report/fold.hpp"

#include "gpuadm/base/text.hpp"

#include "report/paint.hpp"

#include <fmt/format.h>

namespace report {
namespace {

bool decides(Did did) {
  return did == Did::satisfied || did == Did::applied || did == Did::needed || did == Did::skipped ||
         did == Did::failed;
}

int& counter(HostReport& host, Did did) {
  switch (did) {
    case Did::applied:
      return host.changed;
    case Did::needed:
      return host.needed;
    case Did::skipped:
      return host.skipped;
    case Did::failed:
      return host.failed;
    default:
      return host.satisfied;
  }
}

/// Whether the results of a preview are outdated: steps have run since.
bool has_run(const HostReport& host) {
  return host.failed == 0 && host.changed > 0;
}

std::string counts(const HostReport& host) {
  std::vector<std::string> parts;
  if (host.failed) parts.push_back(fmt::format("{} failed", host.failed));
  if (host.needed && !has_run(host)) parts.push_back(fmt::format("{} needed", host.needed));
  parts.push_back(fmt::format("{} changed", host.changed));
  if (host.satisfied) parts.push_back(fmt::format("{} ok", host.satisfied));
  if (host.skipped) parts.push_back(fmt::format("{} skipped", host.skipped));
  return base::join(parts, ", ");
}

HostReport sum(const Report& report) {
  HostReport all;
  for (const HostReport& host : report.hosts) {
    all.satisfied += host.satisfied;
    all.changed += host.changed;
    all.needed += host.needed;
    all.skipped += host.skipped;
    all.failed += host.failed;
  }
  return all;
}

/// Why a step failed, without its title, which precedes it.
std::string reason_of(const FailedStep& failure) {
  const std::string head = failure.title + ": ";
  return failure.why.starts_with(head) ? failure.why.substr(head.size()) : failure.why;
}

/// "kubeadm init failed on gpu1: etcd exits with status 1: unknown flag: --foo", its output, what to type.
/// Without a known cause: the step's own reason.
std::string explained(const FailedStep& failure, const std::string& same_hosts, const Style& style) {
  std::string title = base::printable(failure.title.empty() ? failure.step : failure.title);
  if (title.starts_with("Run ")) title.erase(0, 4);  // "kubeadm init", the usual name
  const std::string head =
      fmt::format("{}{}failed on {}", title, title.empty() ? "" : " ", base::printable(failure.host));
  const bool known = !failure.cause.empty();
  std::string text = fmt::format("{}: {}\n", paint(style, Ink::red, head),
                                 hang(known ? failure.cause : reason_of(failure), 7, style));
  if (!failure.evidence.empty()) text += fmt::format("       seen: {}\n", hang(failure.evidence, 13, style));
  if (known) text += fmt::format("       {}\n", hang(reason_of(failure), 7, style));
  const std::string& fix = known ? failure.remedy : failure.hint;
  if (!fix.empty()) text += fmt::format("       fix:  {}\n", indent_typed(fix, 13, style));
  if (!known) return text;
  return text +
         fmt::format("       then: {}\n",
                     indent_typed("gpuadm doctor " + base::printable(failure.host) + same_hosts, 13, style));
}

}  // namespace

int Report::changed() const {
  return sum(*this).changed;
}
int Report::needed() const {
  return sum(*this).needed;
}

Report fold(std::span<const Event> events) {
  Report report;
  std::map<std::string, std::map<std::string, Did>> last;  // host -> step -> its result
  std::map<std::string, std::string> titles;
  for (const Event& event : events) {
    if (event.did == Did::started && !event.step.empty()) titles[event.step] = event.detail;
    if (event.did == Did::cause)
      for (FailedStep& failure : report.failures)
        if (failure.host == event.host && failure.step == event.step) {
          failure.cause = event.detail;
          failure.evidence = event.output;
          failure.remedy = event.hint;
        }
    if (!decides(event.did)) continue;
    if (event.did == Did::failed)
      report.failures.push_back({.host = event.host,
                                 .stage = event.stage,
                                 .step = event.step,
                                 .why = event.detail,
                                 .hint = event.hint,
                                 .title = titles[event.step],
                                 .cause = {},
                                 .evidence = {},
                                 .remedy = {}});
    if (event.host.empty()) continue;
    if (!last.contains(event.host)) report.hosts.push_back({.host = event.host});
    last[event.host][event.step] = event.did;
  }
  for (HostReport& host : report.hosts)
    for (const auto& [step, did] : last[host.host]) ++counter(host, did);
  if (events.empty()) return report;
  // Before a run begins, its plan is shown and confirmed. A run that finds nothing to do is its preview.
  base::Time from = events.front().at, begun = from;
  for (const Event& event : events)
    if (event.did == Did::started && event.host.empty() && event.stage.empty() && event.step.empty())
      begun = event.at;
    else if (decides(event.did) && !event.host.empty())
      from = begun;
  report.seconds = std::chrono::duration<double>(events.back().at - from).count();
  return report;
}

std::string to_text(const Report& report, const Style& style) {
  std::size_t width = 0;
  for (const HostReport& host : report.hosts) width = std::max(width, host.host.size());
  std::string text;
  for (const bool known : {true, false})
    for (const FailedStep& failure : report.failures)
      if (failure.cause.empty() != known) text += explained(failure, report.same_hosts, style);
  if (report.hosts.size() > 1 && style.verbosity != Verbosity::quiet)
    for (const HostReport& host : report.hosts)
      if (!is_brief(style) || host.failed > 0)
        text += fmt::format("  {:<{}}  {}\n", base::printable(host.host), width, counts(host));
  return text + fmt::format("{}: {} ({})\n", count(report.hosts.size(), "host"), counts(sum(report)),
                            base::human_seconds(report.seconds));
}

base::Tree to_tree(const Report& report) {
  const HostReport all = sum(report);
  base::Tree hosts = base::Tree::list(), failures = base::Tree::list();
  for (const HostReport& host : report.hosts)
    hosts.push(base::Tree::map_of({{"host", host.host},
                                   {"ok", host.satisfied},
                                   {"changed", host.changed},
                                   {"needed", host.needed},
                                   {"skipped", host.skipped},
                                   {"failed", host.failed}}));
  for (const FailedStep& failure : report.failures) {
    base::Tree one = base::Tree::map_of({{"host", failure.host},
                                         {"stage", failure.stage},
                                         {"step", failure.step},
                                         {"why", failure.why},
                                         {"hint", failure.hint}});
    if (!failure.cause.empty()) {
      one.set("cause", failure.cause);
      one.set("evidence", failure.evidence);
      one.set("remedy", failure.remedy);
    }
    failures.push(std::move(one));
  }
  return base::Tree::map_of({{"changed", all.changed},
                             {"needed", all.needed},
                             {"failed", all.failed},
                             {"seconds", report.seconds},
                             {"hosts", std::move(hosts)},
                             {"failures", std::move(failures)}});
}

}  // namespace report
