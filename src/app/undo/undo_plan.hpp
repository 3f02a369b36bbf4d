#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/plan/undo.hpp"
#include "gpuadm/report/reporters.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <map>
#include <string>

/// What gpuadm undo and gpuadm reset share: journals into ways back.
namespace app {

using Journals = std::map<std::string, plan::Journal>;
using UndoPlans = std::map<std::string, plan::UndoPlan>;

/// The journals of hosts; an error names its host. `functions`: prelude.sh and undo.sh.
[[nodiscard]] Result<Journals> read_journals(transport::Fleet& fleet, const std::vector<std::string>& hosts,
                                             const std::string& functions);

/// Whether undo also takes back the cluster that an init or a join on the host did not finish.
[[nodiscard]] bool takes_cluster_back(const plan::Journal& journal, const plan::Undo& undo);

/// What is refused names its host.
[[nodiscard]] Result<UndoPlans> make_undo_plans(const Journals& journals, const plan::Undo& asked);

/// Says what stays; whether anything does.
bool report_kept(report::Reporter& reporter, const UndoPlans& undo_plans);

/// A sentence about a host (or none), or the last one.
void notify(report::Reporter& reporter, report::Did did, const std::string& host, const std::string& text);

}  // namespace app
