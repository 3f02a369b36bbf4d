#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/cluster/health.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cluster {

namespace {

using report::Finding;
using report::Severity;

constexpr std::pair<TaintPolicy, std::string_view> policies[] = {
    {TaintPolicy::off, "off"}, {TaintPolicy::blocker, "blocker"}, {TaintPolicy::warning, "warning"}};

constexpr std::size_t message_limit = 400;

enum Part : std::size_t { gpu_part, fabric_part, driver_part, no_part };

/// The condition that a check belongs to, by the longest prefix of its ID.
struct PartRow {
  std::string_view prefix;
  Part part;
};
constexpr PartRow parts[] = {
    {"gpu.health.nvlink-", fabric_part}, {"gpu.health.sxid-", fabric_part},
    {"gpu.health.dcgm-", no_part},       {"gpu.health.nccl-", no_part},
    {"gpu.health.", gpu_part},           {"gpu.pci.", gpu_part},
    {"gpu.fabric.", fabric_part},        {"gpu.driver.", driver_part},
    {"gpu.vgpu.", driver_part},          {"nct.", driver_part},
    {"gpu.cdi.", driver_part},
};

Part part_of(std::string_view id) {
  const auto* row =
      std::ranges::find_if(parts, [&](const PartRow& one) { return id.starts_with(one.prefix); });
  return row == std::end(parts) ? no_part : row->part;
}

/// The cause of a finding on the same node, as far as it is broken itself.
const Finding& root_of(std::span<const Finding> findings, const Finding& finding) {
  const Finding* root = &finding;
  for (std::size_t steps = 0; steps < findings.size() && !root->caused_by.empty(); ++steps) {
    const auto cause = std::ranges::find_if(findings, [&](const Finding& one) {
      return one.id == root->caused_by && report::is_broken(one) && report::is_open(one);
    });
    if (cause == findings.end()) break;
    root = &*cause;
  }
  return *root;
}

std::string message_of(const Finding& finding) {
  return base::printable(fmt::format("{} ({})", finding.message, finding.id), message_limit);
}

HealthCondition condition_of(Part part, std::span<const Finding> findings, Severity limit) {
  HealthCondition condition{std::string(health_types[part]), "True", "ChecksPassed", "", ""};
  const Finding *broken = nullptr, *unclear = nullptr;
  int lesser = 0, unknown = 0, passed = 0;
  bool any = false;
  for (const Finding& finding : findings) {
    if (part_of(finding.id) != part) continue;
    any = true;
    if (finding.verdict == report::Verdict::pass) ++passed;
    if (!report::is_open(finding) || finding.severity == Severity::note) continue;
    if (finding.verdict == report::Verdict::unknown || finding.verdict == report::Verdict::timeout) {
      ++unknown;
      if (!unclear || finding.severity > unclear->severity) unclear = &finding;
    } else if (finding.severity < limit) {
      ++lesser;
    } else if (!broken || finding.severity > broken->severity) {
      broken = &finding;
    }
  }
  if (broken) {
    condition.status = "False";
    condition.reason = "CheckFailed";
    condition.message = message_of(root_of(findings, *broken));
  } else if (unclear && unclear->severity >= limit) {
    condition.status = "Unknown";
    condition.reason = "CheckIncomplete";
    condition.message = message_of(*unclear);
  } else if (!any) {
    condition.status = "Unknown";
    condition.reason = "NotChecked";
    condition.message = "no check was run";
  } else if (lesser + unknown > 0) {
    std::vector<std::string> counts;
    if (lesser > 0) counts.push_back(lesser == 1 ? "1 warning" : fmt::format("{} warnings", lesser));
    if (unknown > 0) counts.push_back(fmt::format("{} unknown", unknown));
    condition.message = base::join(counts, ", ") + ": run gpuadm doctor";
  } else if (passed == 0) {
    condition.reason = "NotApplicable";
    condition.message = "no check applies to this node";
  } else {
    condition.message = "all checks passed";
  }
  return condition;
}

/// The first blocker, otherwise the first warning, at its cause.
std::string first_of(std::span<const Finding> findings) {
  const Finding* first = nullptr;
  for (const Finding& finding : findings)
    if (report::is_open(finding) && report::is_broken(finding) &&
        (!first || finding.severity > first->severity))
      first = &finding;
  return first ? message_of(root_of(findings, *first)) : std::string();
}

}  // namespace

std::string_view name_of(TaintPolicy policy) {
  return std::ranges::find(policies, policy, [](const auto& row) { return row.first; })->second;
}

std::optional<TaintPolicy> taint_policy_named(std::string_view name) {
  const auto* row = std::ranges::find(policies, name, [](const auto& one) { return one.second; });
  return row == std::end(policies) ? std::nullopt : std::optional(row->first);
}

GpuStates gpu_states(std::span<const Finding> findings, const facts::Nvidia& nvidia) {
  GpuStates states;
  for (const facts::Gpu& gpu : nvidia.gpus) {
    std::string& state = states[gpu.uuid];
    state = quarantine_of(nvidia, gpu) ? "quarantined" : "ok";
    if (state == "quarantined") continue;
    for (const Finding& finding : findings) {
      if (!report::is_open(finding) || !report::is_broken(finding) || finding.severity == Severity::note ||
          !checks::names_gpu(finding, gpu.bus_id, &gpu))
        continue;
      if (finding.severity == Severity::blocker)
        state = "broken";
      else if (state == "ok")
        state = "warning";
    }
  }
  return states;
}

int gpus_of(const facts::Nvidia& nvidia) {
  auto count = nvidia.pci_gpus.empty() ? nvidia.gpus.size() : nvidia.pci_gpus.size();
  // One in quarantine may also have fallen off the bus.
  const auto has_slot = [&](const std::string& slot) {
    return std::ranges::find(nvidia.pci_gpus, slot, &facts::PciGpu::slot) != nvidia.pci_gpus.end() ||
           std::ranges::find(nvidia.gpus, slot, &facts::Gpu::bus_id) != nvidia.gpus.end();
  };
  count += static_cast<std::size_t>(
      std::ranges::count_if(nvidia.quarantine, [&](const auto& entry) { return !has_slot(entry.slot); }));
  return static_cast<int>(count);
}

HealthReport judge_health(std::span<const Finding> findings, int gpus, int known, TaintPolicy policy) {
  HealthReport report{{}, first_of(findings), gpus};
  if (gpus == 0 && known == 0) return report;
  const Severity limit = policy == TaintPolicy::warning ? Severity::warning : Severity::blocker;
  for (const Part part : {gpu_part, fabric_part, driver_part})
    report.conditions.push_back(condition_of(part, findings, limit));
  HealthCondition& cards = report.conditions[gpu_part];
  if (gpus >= known || cards.status == "False") return report;
  cards.status = "False";
  cards.reason = "GPUMissing";
  cards.message = fmt::format("{} of {} GPUs are missing", known - gpus, known);
  report.first = cards.message;
  return report;
}

HealthReport unchecked_health(const std::string& reason, const std::string& message, bool driver_fails,
                              int known) {
  HealthReport report{{}, base::printable(message, message_limit), known};
  if (known == 0) return report;
  for (const std::string_view type : health_types)
    report.conditions.push_back({std::string(type), "Unknown", reason, report.first, ""});
  if (driver_fails) report.conditions[driver_part].status = "False";
  return report;
}

}  // namespace cluster
