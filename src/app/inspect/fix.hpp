#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/assets/assets.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/report/finding.hpp"

#include <map>
#include <string>
#include <vector>

namespace app {

/// Steps of playbooks/fix.yaml by the check whose finding they mend, each with its title.
using Fixes = std::map<std::string, std::vector<std::string>, std::less<>>;
[[nodiscard]] Fixes fixes_of(const playbook::Library& library);

/// Marks the findings that a step of playbooks/fix.yaml mends on their host.
[[nodiscard]] Result<> mark_fixable(std::vector<report::Finding>& findings, const spec::Cluster& cluster,
                                    const facts::Census& census, const assets::Store& assets);

/// `gpuadm doctor --fix`: looks, mends what has a safe fix and is agreed to, looks again and says what is
/// mended and what remains.
[[nodiscard]] Result<Outcome> fix(const DoctorOptions& options, Io& io);

}  // namespace app
