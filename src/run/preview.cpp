#include "run/preview.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/text.hpp"

#include "run/program.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace run {

namespace {

using report::Did;
using report::Event;

struct Item {
  const plan::Stage* stage;
  const plan::Action* action;
};

/// Whether a step installs a program: a package or a file with that name. kubectl and kubelet are installed
/// with kubeadm.
bool installs(const plan::Action& action, const std::string& program) {
  const auto target = action.variables.find("bundle_target");
  if (target != action.variables.end() && target->second.ends_with("/" + program)) return true;
  return std::ranges::find(action.effects.packages, program) != action.effects.packages.end();
}

/// Why a check has no result before the run. `before`: the preceding needed steps on its host, one of which
/// may change that.
std::string undecided(const Checked& checked, const std::vector<const plan::Action*>& before) {
  std::string program = missing_program(checked.said);
  if (program == "kubectl" || program == "kubelet") program = "kubeadm";
  if (!program.empty() &&
      std::ranges::any_of(before, [&](const plan::Action* action) { return installs(*action, program); }))
    return fmt::format("decided after {} is installed", base::printable(program, 50));
  if (!before.empty()) return "decided after earlier steps";
  const std::string reason = base::tail(without_shell_noise(checked.said), 1);
  return "cannot be checked: " + (reason.empty() ? fmt::format("exit status {}", checked.status) : reason);
}

Event event_of(const std::string& host, const Item& item, const Checked& checked,
               const std::vector<const plan::Action*>& before) {
  const plan::Action& action = *item.action;
  Event event;
  event.host = host;
  event.stage = item.stage->name;
  event.step = action.id;
  event.detail = action.title;
  event.did = checked.status == 0 ? Did::satisfied : Did::needed;
  event.program = action.check + action.apply;
  if (checked.status == 0) return event;
  if (action.kind == plan::Kind::file && action.later.empty()) {
    const bool there = checked.status == 1 && !checked.said.empty();
    event.diff = base::unified_diff(there ? checked.said : "", action.variables.at("content"),
                                    there ? action.path : "/dev/null", action.path);
  } else if (checked.status == 1 && checked.said.starts_with("--- ")) {
    event.diff = checked.said;  // from would_become in playbooks/prelude.sh
  } else if (checked.status > 1) {
    event.detail += fmt::format(" ({})", undecided(checked, before));
  }
  return event;
}

using Items = std::map<std::string, std::vector<Item>>;

void report_stage(const plan::Stage& stage, const Items& items,
                  const std::map<std::string, std::vector<Checked>>& checked, Outcome& outcome,
                  report::Reporter& reporter) {
  Event heading{base::now(), "", stage.name, ""};
  heading.did = Did::started;
  heading.detail = stage.title;
  reporter.on(heading);
  for (const auto& [host, results] : checked) {
    const std::vector<Item>& all = items.at(host);
    std::vector<const plan::Action*> before;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].stage != &stage) {
        if (results[i].status != 0) before.push_back(all[i].action);
        continue;
      }
      const Event event = event_of(host, all[i], results[i], before);
      if (event.did == Did::needed) before.push_back(all[i].action);
      ++(event.did == Did::satisfied ? outcome.satisfied : outcome.needed);
      reporter.on(event);
    }
  }
}

}  // namespace

Outcome preview(const plan::Plan& plan, transport::Fleet& fleet, report::Reporter& reporter,
                const Identity& who) {
  Outcome outcome;
  const std::string mark = nonce();
  std::map<std::string, std::vector<Item>> items;
  for (const plan::Stage& stage : plan.stages)
    for (const plan::Walk& walk : stage.walks)
      for (const plan::Action& action : walk.actions) items[walk.host].push_back({&stage, &action});
  // A program has some hundred KiB: it is made when its host can start it.
  auto following = items.begin();
  const auto submit_next = [&] {
    if (following == items.end()) return;
    const auto& [host, all] = *following++;
    std::vector<const plan::Action*> actions;
    for (const Item& item : all) actions.push_back(item.action);
    transport::Command command;
    command.label = "check the steps";
    command.script = preview_program(actions, plan.prelude, who, mark);
    command.timeout = std::chrono::seconds(120);
    command.output_limit = 64u << 20;
    fleet.submit(host, std::move(command));
  };
  for (std::size_t i = 0; i < fleet.window(); ++i) submit_next();
  std::map<std::string, std::vector<Checked>> checked;
  while (auto completion = fleet.next()) {
    submit_next();
    const std::string& host = completion->host;
    if (completion->result) {
      checked[host] = read_preview(completion->result->out, items[host].size(), mark);
      continue;
    }
    const base::Error& error = completion->result.error();
    outcome.failed.insert(host);
    if (base::is_connection_fault(error.fault)) outcome.lost.insert(host);
    outcome.interrupted = outcome.interrupted || error.fault == base::Fault::interrupted;
    Event event{base::now(), host, "plan", "preview"};
    event.did = Did::failed;
    event.detail = base::without_host(error.what, host);
    event.hint = error.hint;
    reporter.on(event);
  }
  for (const plan::Stage& stage : plan.stages) report_stage(stage, items, checked, outcome, reporter);
  outcome.next_stage = plan.stages.size();
  return outcome;
}

}  // namespace run
