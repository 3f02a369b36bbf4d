#include "commands/inspect/doctor_text.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/report/wrap.hpp"
#include "gpuadm/session/cluster.hpp"

#include "commands/cli/hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace commands {

void complete_remedies(std::vector<report::Finding>& findings, const report::Style& style) {
  if (!style.complete) return;
  std::map<std::string, base::SharedText> known;
  for (report::Finding& finding : findings) {
    if (!report::is_open(finding) || finding.remedy.find("gpuadm ") == std::string::npos) continue;
    const auto [place, fresh] = known.try_emplace(finding.remedy);
    if (fresh) place->second = style.complete(finding.remedy.text());
    finding.remedy = place->second;
  }
}

namespace {

/// The command that fixes a finding: `doctor --fix` if it fixes this one, the command whose step is the
/// remedy, or a remedy that is a command. Empty: only its article helps.
std::string command_for(const report::Finding& finding, const DoctorOptions& options) {
  const std::string& remedy = finding.remedy;
  if (finding.fixable) return "gpuadm doctor --fix";
  const bool is_step = remedy.find(' ') == std::string::npos && remedy.find('.') != std::string::npos;
  if (is_step) return options.hosts.file.empty() ? "gpuadm init" : "gpuadm apply";
  const auto commands = suggestions_in(remedy);
  if (commands.empty() || commands.front().begin > 0) return {};
  return remedy.substr(0, commands.front().end);
}

}  // namespace

std::string next_command(const std::vector<report::Finding>& findings, const facts::Census& census,
                         const DoctorOptions& options) {
  const bool recorded = !options.from.empty() || options.demo;
  if (const auto first = report::first_broken(findings)) {
    const std::string command = recorded ? "" : command_for(*first->first, options);
    return command.empty() ? "gpuadm explain " + first->first->id : command;
  }
  if (recorded || findings.empty()) return {};
  const bool fresh = std::ranges::all_of(census, [](const auto& host) {
    return host.second && session::state_of(*host.second) == session::HostState::fresh;
  });
  if (!fresh) return "gpuadm verify";
  return options.hosts.file.empty() ? "gpuadm init" : "gpuadm apply";
}

namespace {

/// "Cluster lab: 2 problems found": the verdict that status shows. Empty: no cluster was read, or only a part
/// of the checks was asked for.
std::string cluster_verdict(const std::vector<report::Finding>& findings,
                            const session::ClusterSurvey& recording, const DoctorOptions& options,
                            StatusJudge& judges) {
  const bool all_checks = options.only.empty() && options.skip.empty() && options.baseline.empty() &&
                          (options.stage.empty() || options.stage == "cluster");
  if (!recording.view || !all_checks) return {};
  const auto& census = recording.survey.census;
  std::string asked;
  for (const spec::Host& host : recording.cluster.hosts)
    if (asked.empty() && facts::is_control_plane(census, host.name)) asked = host.name;
  const auto judged = judges.judge(recording, asked);
  if (!judged) return {};
  const cluster::Verdict& verdict = judged->status.verdict;
  std::string text = to_text(verdict, recording.cluster.name);
  if (!report::first_broken(findings) && !verdict.problems.empty())
    text += fmt::format("; first: {}: {}", verdict.problems.front().where, verdict.problems.front().what);
  else if (verdict.health() == cluster::Health::unknown)
    text += fmt::format("; first: {}: {}", verdict.unread.front().where, verdict.unread.front().what);
  return base::printable(text);
}

}  // namespace

std::string text_of(const std::vector<report::Finding>& findings, const session::ClusterSurvey& recording,
                    const DoctorOptions& options, StatusJudge& judges, const report::Style& style) {
  const std::string verdict = cluster_verdict(findings, recording, options, judges);
  const std::string checked = session::describe_stages(recording.survey.census, options.stage);
  const std::string next = next_command(findings, recording.survey.census, options);
  std::string text = verdict.empty() || report::first_broken(findings)
                         ? report::headline(findings, style) + "\n"
                         : std::string();
  if (!verdict.empty()) text += report::wrapped(verdict, 0, style.width) + "\n";
  if (!checked.empty()) text += report::wrapped(checked, 0, style.width) + "\n";
  text += "\n" + (report::is_brief(style) ? report::short_details(findings, style)
                                          : report::details(findings, style));
  if (style.view == report::View::live && !next.empty())
    text += fmt::format("next: {}\n", style.complete ? style.complete(next) : next);
  return text;
}

}  // namespace commands
