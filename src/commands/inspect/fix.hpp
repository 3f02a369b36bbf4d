#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/report/finding.hpp"

#include "commands/inspect/doctor_options.hpp"

#include <map>
#include <string>
#include <vector>

namespace commands {

/// The titles of the steps of playbooks/fix.yaml, by the check whose finding they fix.
using Fixes = std::map<std::string, std::vector<std::string>, std::less<>>;
[[nodiscard]] Fixes fixes_of(const playbook::Library& library);

/// Marks the findings that a step of playbooks/fix.yaml can fix on their host.
[[nodiscard]] Result<> mark_fixable(std::vector<report::Finding>& findings, const spec::Cluster& cluster,
                                    const facts::Census& census, const assets::Store& assets);

/// `gpuadm doctor --fix`: checks, applies the safe fixes that were confirmed, checks again, and reports what
/// was fixed and what remains.
[[nodiscard]] Result<Outcome> fix(const DoctorOptions& options, Io& io);

}  // namespace commands
