#include "commands/install/bring_up_served.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;
using report::Did;

report::Event phase_begins() {
  report::Event event;
  event.stage = serve_phase;
  event.did = Did::started;
  event.detail = serve_title;
  return event;
}

/// What `gpuadm serve create` would print, as notes of a run.
report::Write as_notes(report::Reporter& reporter) {
  return [&reporter](std::string_view text) {
    if (const auto line = base::trim(text); !line.empty())
      session::notify(reporter, Did::note, std::string(line));
  };
}

}  // namespace

ServeStage::ServeStage(const BringUpRun& run, Io& io)
    : run_(run),
      io_(io),
      host_(run.identity.control_plane),
      chosen_(run.setup.playbook == "init" && !run.options.hosts.file.empty() && run.options.phases.empty() &&
              !run.identity.cluster.serve.empty()) {
  const spec::Host* first = playbook::first_control_plane(run.identity.cluster, run.survey.census);
  if (host_.empty() && first) host_ = first->name;
}

report::Event ServeStage::event_of(const spec::Served& served, Did did, const std::string& detail) const {
  report::Event event;
  event.host = host_;
  event.stage = serve_phase;
  event.step = fmt::format("model {}/{}", served.ns, served.name);
  event.did = did;
  event.detail = detail;
  return event;
}

Result<int> ServeStage::preview(report::Reporter& reporter) {
  const spec::Cluster& cluster = run_.identity.cluster;
  TRY(check_described(cluster, run_.options.hosts.file, run_.assets));
  reporter.on(phase_begins());
  const auto report = [&](const DescribedModel& model) {
    report::Event event = event_of(*model.served, Did::needed, title_of(model));
    event.diff = diff_of(model);
    reporter.on(event);
  };
  if (run_.identity.control_plane.empty()) {
    for (const spec::Served& served : cluster.serve) report({&served, false, {}});
    return static_cast<int>(cluster.serve.size());
  }
  const auto models = compare_models(cluster, run_.options.common, run_.options.hosts, io_);
  if (!models) {
    const Fault fault = models.error().fault;
    if (run_.options.consent == Consent::preview || fault == Fault::interrupted)
      return std::unexpected(models.error());
    session::notify(
        reporter, Did::note,
        "served models are compared after the hosts: " + base::printable(models.error().what, 500));
    return 0;
  }
  for (const DescribedModel& model : models->changes) report(model);
  for (const std::string& note : models->notes) session::notify(reporter, Did::note, note);
  return static_cast<int>(models->changes.size());
}

Result<Outcome> ServeStage::apply(report::Reporter& reporter) {
  const InitOptions& options = run_.options;
  const auto models = compare_models(run_.identity.cluster, options.common, options.hosts, io_);
  if (!models && models.error().fault == Fault::interrupted) return std::unexpected(models.error());
  if (!models) {
    report::Event event = event_of(run_.identity.cluster.serve.front(), Did::failed, models.error().what);
    event.hint = models.error().hint;
    reporter.on(event);
    return Outcome::failed;
  }
  if (!models->changes.empty()) reporter.on(phase_begins());
  Io io = io_;
  io.out = io.err = as_notes(reporter);
  io.confirm = {};  // the question of the run was about these changes, and about no storage
  for (const DescribedModel& model : models->changes) {
    reporter.on(event_of(*model.served, Did::started, title_of(model)));
    ServeCreateOptions asked = options_of(*model.served, options.common, options.hosts);
    if (model.exists) asked.consent = Consent::given;
    const auto served = serve_model(asked, io);
    if (!served && served.error().fault == Fault::interrupted) return std::unexpected(served.error());
    if (!served) {
      report::Event event = event_of(*model.served, Did::failed, served.error().what);
      event.hint = served.error().hint;
      reporter.on(event);
      return Outcome::failed;
    }
    reporter.on(event_of(*model.served, Did::applied, title_of(model)));
  }
  return Outcome::done;
}

}  // namespace commands
