#pragma once

#include "gpuadm/plan/undo.hpp"
#include "gpuadm/report/reporters.hpp"
#include "gpuadm/transport/fleet.hpp"

#include "commands/command.hpp"

#include <map>
#include <string>

/// Shared by gpuadm undo and gpuadm reset: journals to undo plans.
namespace commands {

using Journals = std::map<std::string, plan::Journal>;
using UndoPlans = std::map<std::string, plan::UndoPlan>;

/// The journals of hosts; an error names its host. `functions`: prelude.sh and undo.sh.
[[nodiscard]] Result<Journals> read_journals(transport::Fleet& fleet, const std::vector<std::string>& hosts,
                                             const std::string& functions);

/// Whether undo also removes the cluster of an unfinished init or join on the host.
[[nodiscard]] bool undoes_cluster(const plan::Journal& journal, const plan::Undo& undo);

/// Errors contain the host's name.
[[nodiscard]] Result<UndoPlans> make_undo_plans(const Journals& journals, const plan::Undo& asked);

/// Reports what is kept; whether anything is.
bool report_kept(report::Reporter& reporter, const UndoPlans& undo_plans);

/// A sentence about a host (or none), or the last one.
void notify(report::Reporter& reporter, report::Did did, const std::string& host, const std::string& text);

}  // namespace commands
