#pragma once

#include "gpuadm/session/run_playbook.hpp"

namespace session {

/// What a verb that works on control planes stands on, once the hosts were looked at.
struct ControlPlaneContext {
  const assets::Store& assets;
  const playbook::Library& library;
  const spec::Cluster& cluster;  ///< roles by what stands on the hosts, and whichever version they have
  const Survey& survey;
  const Session& session;
  const std::vector<std::string>& hosts;  ///< the control planes, in the cluster's order; at least one
};

struct Asked {
  const Common& common;
  const Hosts& hosts;
  Consent consent = Consent::ask;
};

/// Reads the cluster and playbooks/NAME.yaml, looks at every host, finds the control planes, and acts.
/// Fault::usage where there is none; an error where a host cannot be reached.
[[nodiscard]] Result<Outcome> on_control_planes(
    const Asked& asked, std::string_view playbook, Io& io,
    const std::function<Result<Outcome>(const ControlPlaneContext&)>& act);

/// What a function of the playbook prints on a host; it only reads. Fault::remote if its status is not 0.
[[nodiscard]] Result<std::string> call(const ControlPlaneContext& context, const std::string& host,
                                       const std::string& label, const std::string& function,
                                       const std::vector<std::string>& words = {});

/// The options of a playbook run on control-plane nodes.
struct OneByOne {
  std::vector<std::string> hosts;
  plan::Choice choice;
  Consent consent = Consent::ask;
  const bundle::Bundle* bundle = nullptr;
};

/// Runs the playbook on these hosts, one after the other: a host begins when the one before it has ended
/// well. They are locked together, and inspected again once they are locked, as `execute` does.
[[nodiscard]] Result<Outcome> run_one_by_one(const ControlPlaneContext& context, const OneByOne& how,
                                             report::Reporter& reporter, Io& io);

/// The same on all of these hosts at once, phase by phase: none begins a phase before all have ended the one
/// before it well.
[[nodiscard]] Result<Outcome> run_together(const ControlPlaneContext& context, const OneByOne& how,
                                           report::Reporter& reporter, Io& io);

}  // namespace session
