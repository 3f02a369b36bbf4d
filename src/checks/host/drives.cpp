#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

void nvme_count(const Group& group, Verdicts& out) {
  std::map<std::string, std::map<std::size_t, std::vector<std::string>>> models;
  for (const auto& [name, facts] : group.hosts)
    if (!facts->machine.product.empty() && is_bare_metal(*facts))
      models[facts->machine.vendor + " " + facts->machine.product][facts->storage.nvme_states.size()]
          .push_back(name);
  if (models.empty()) return out.skip("no machine's model is known");
  for (const auto& [model, counts] : models) {
    if (counts.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [count, names] : counts) parts.push_back(fmt::format("{} in {}", count, list(names)));
    out.fail(Severity::note, "machines of one model have different numbers of NVMe drives",
             fmt::format("{}: {}", model, base::join(parts, "; ")),
             "find the missing drive: nvme list; lspci -d ::0108");
  }
}

void raid(const Subject& s, Verdicts& out) {
  bool any = false;
  for (const facts::BlockDevice& device : s.facts.storage.block_devices) {
    if (!device.degraded) continue;
    any = true;
    if (*device.degraded > 0)
      out.fail(
          Severity::blocker, fmt::format("the array {} has lost a member", device.name),
          fmt::format("{} missing, state {}", *device.degraded, device.array_state),
          fmt::format(
              "mdadm --detail /dev/{} names it; replace the disk, then: mdadm --manage /dev/{} --add DISK",
              device.name, device.name));
  }
  if (!any) out.skip("there is no md array");
}

/// Of a drive's rated writes.
constexpr std::uint64_t worn = 90;

void smart(const Subject& s, Verdicts& out) {
  const auto bad = [&](const std::string& device, const std::string& message, const std::string& evidence) {
    out.fail(Severity::warning, fmt::format("{} {}", device, message), evidence,
             "move its data, and replace the drive");
  };
  for (const auto& [name, state] : s.facts.storage.nvme_states)
    if (state == "dead") bad(name, "no longer answers", "state " + state);
  for (const facts::DriveHealth& drive : s.facts.storage.drives) {
    if (drive.passed == false)
      bad(drive.device, "reports that it is failing", "SMART health: failed");
    else if (drive.critical && *drive.critical != "0x00")
      bad(drive.device, "reports a critical warning", "critical warning " + *drive.critical);
    else if (drive.wear.value_or(0) >= worn)
      bad(drive.device, "is almost worn out", fmt::format("{} % of its writes used", *drive.wear));
  }
  if (s.facts.storage.drives.empty() && s.facts.storage.nvme_states.empty())
    out.skip("no drive reports its health; smartctl (smartmontools) reads it");
}

constexpr std::array drive_rows = std::to_array<Check>({
    {"st.raid-degraded", "every array is complete", "the next failure loses its datas data", "sysfs",
     preflight | node, raid},
    {"host.disk.smart", "drives report that they are healthy", "drives report defects before they fail",
     "smart sysfs", node, smart},
    {"st.local-nvme-count", "machines of one model have the same number of drives",
     "a missing drive has usually failed", "sysfs /sys/class/dmi/id/product_name", preflight | node, nullptr,
     nvme_count},
});

}  // namespace

std::span<const Check> drive_checks() {
  return drive_rows;
}

}  // namespace checks
