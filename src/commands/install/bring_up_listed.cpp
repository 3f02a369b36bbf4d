#include "commands/install/bring_up_listed.hpp"

namespace commands {

using report::Did;

bool is_listed_phase(std::string_view phase) {
  return phase == users_phase || phase == serve_phase;
}

ListedStage::ListedStage(const BringUpRun& run, const char* phase, const char* title, bool lists_some)
    : run_(run),
      phase_(phase),
      title_(title),
      host_(run.identity.control_plane),
      chosen_(run.setup.playbook == "init" && !run.options.hosts.file.empty() && run.options.phases.empty() &&
              lists_some) {
  const spec::Host* first = playbook::first_control_plane(run.identity.cluster, run.survey.census);
  if (host_.empty() && first) host_ = first->name;
}

report::Event ListedStage::begins() const {
  report::Event event;
  event.stage = phase_;
  event.did = Did::started;
  event.detail = title_;
  return event;
}

report::Event ListedStage::event_of(const std::string& step, Did did, const std::string& detail) const {
  report::Event event;
  event.host = host_;
  event.stage = phase_;
  event.step = step.empty() ? phase_ : step;
  event.did = did;
  event.detail = detail;
  return event;
}

Result<Outcome> ListedStage::failed(const std::string& step, const base::Error& error,
                                    report::Reporter& reporter) const {
  if (error.fault == base::Fault::interrupted) return std::unexpected(error);
  report::Event event = event_of(step, Did::failed, error.what);
  event.hint = error.hint;
  reporter.on(event);
  return Outcome::failed;
}

}  // namespace commands
