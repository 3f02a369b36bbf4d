#include "commands/install/bring_up_served.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;
using report::Did;

std::string step_of(const spec::Served& served) {
  return fmt::format("model {}/{}", served.ns, served.name);
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
    : ListedStage(run, serve_phase, serve_title, !run.identity.cluster.serve.empty()), io_(io) {}

Result<int> ServeStage::preview(report::Reporter& reporter) {
  const spec::Cluster& cluster = run().identity.cluster;
  TRY(check_described(cluster, run().options.hosts.file, run().assets));
  reporter.on(begins());
  const auto report = [&](const DescribedModel& model) {
    report::Event event = event_of(step_of(*model.served), Did::needed, title_of(model));
    event.diff = diff_of(model);
    reporter.on(event);
  };
  if (run().identity.control_plane.empty()) {
    for (const spec::Served& served : cluster.serve) report({&served, false, {}});
    return static_cast<int>(cluster.serve.size());
  }
  const auto models = compare_models(cluster, run().options.common, run().options.hosts, io_);
  if (!models) {
    const Fault fault = models.error().fault;
    if (run().options.consent == Consent::preview || fault == Fault::interrupted)
      return std::unexpected(models.error());
    session::notify(
        reporter, Did::note,
        "served models are compared after the hosts: " + base::printable(models.error().what, 500));
    return 1;
  }
  for (const DescribedModel& model : models->changes) report(model);
  for (const std::string& note : models->notes) session::notify(reporter, Did::note, note);
  return static_cast<int>(models->changes.size());
}

Result<Outcome> ServeStage::apply(report::Reporter& reporter) {
  const InitOptions& options = run().options;
  const auto models = compare_models(run().identity.cluster, options.common, options.hosts, io_);
  if (!models) return failed({}, models.error(), reporter);
  if (!models->changes.empty()) reporter.on(begins());
  Io io = io_;
  io.out = io.err = as_notes(reporter);
  io.confirm = {};  // the question of the run was about these changes, and about no storage
  for (const DescribedModel& model : models->changes) {
    reporter.on(event_of(step_of(*model.served), Did::started, title_of(model)));
    ServeCreateOptions asked = options_of(*model.served, options.common, options.hosts);
    if (model.exists) asked.consent = Consent::given;
    const auto served = serve_model(asked, io);
    if (!served) return failed(step_of(*model.served), served.error(), reporter);
    if (*served != Outcome::done) return *served;
    reporter.on(event_of(step_of(*model.served), Did::applied, title_of(model)));
  }
  return Outcome::done;
}

}  // namespace commands
