#pragma once

#include "gpuadm/session/run_playbook.hpp"

namespace session {

/// Context of a command that works on control-plane nodes, after the facts were read.
struct ControlPlaneContext {
  const assets::Store& assets;
  const playbook::Library& library;
  const spec::Cluster& cluster;  ///< with the hosts' actual roles and the installed version
  const Survey& survey;
  const Session& session;
  const std::vector<std::string>& hosts;  ///< the control-plane nodes, in the cluster's order; at least one
  const std::vector<spec::Host>& lost;    ///< the hosts of Asked::lost
};

/// Whether workers of a cluster file that cannot be reached end the command, or are left out.
enum class AbsentWorkers { refused, left_out };

struct Asked {
  const Common& common;
  const Hosts& hosts;
  Consent consent = Consent::ask;
  AbsentWorkers absent_workers = AbsentWorkers::refused;
  std::vector<std::string> lost = {};  ///< hosts that are left out because they are lost
};

/// The hosts of `lost`, which must not answer, because a control-plane node that runs is not lost:
/// Fault::blocked.
[[nodiscard]] Result<> are_lost(const std::vector<spec::Host>& lost, const facts::Census& census);

/// Reads the cluster and playbooks/NAME.yaml, surveys all hosts, finds the control-plane nodes, and calls the
/// action. Fault::usage if there are none; an error if a host is unreachable,
/// except for those that are left out.
[[nodiscard]] Result<Outcome> on_control_planes(
    const Asked& asked, std::string_view playbook, Io& io,
    const std::function<Result<Outcome>(const ControlPlaneContext&)>& act);

/// The output of a read-only function of the playbook on a host. Fault::remote if its status is not 0.
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

/// Runs the playbook on these hosts, one after the other: a host starts when the previous one has succeeded.
/// All are locked together and inspected again after that, as in `execute`.
[[nodiscard]] Result<Outcome> run_one_by_one(const ControlPlaneContext& context, const OneByOne& how,
                                             report::Reporter& reporter, Io& io);

/// The same on all of these hosts in parallel, phase by phase: a phase starts when all hosts have succeeded
/// in the previous one.
[[nodiscard]] Result<Outcome> run_together(const ControlPlaneContext& context, const OneByOne& how,
                                           report::Reporter& reporter, Io& io);

}  // namespace session
