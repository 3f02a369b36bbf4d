#include "gpuadm/base/json.hpp"
#include "gpuadm/cluster/usage_record.hpp"

#include <algorithm>

namespace cluster {

namespace {

constexpr double intervals = 3, least_longest = 300;
constexpr std::size_t hour_length = 13;  // "2026-11-30T12"

std::string hour_of(const Moment& moment) {
  return moment.at.substr(0, hour_length);
}

/// The row of this hour for a holder of a part; nullptr: there are too many.
UsageRow* row_for(UsageMeter& meter, const std::string& hour, const UsagePart& part,
                  const UsageHolder& holder) {
  const auto found = std::ranges::find_if(meter.rows, [&](const UsageRow& row) {
    return row.hour == hour && row.gpu == part.gpu && row.mig == part.mig && row.state == part.state &&
           row.holder.uid == holder.uid;
  });
  if (found != meter.rows.end()) {
    if (!holder.pod.empty()) found->holder = holder;  // its name may not have been known
    return &*found;
  }
  if (meter.rows.size() >= most_usage_rows) return nullptr;
  UsageRow row{.hour = hour, .gpu = part.gpu, .mig = part.mig, .state = part.state, .holder = holder};
  return &meter.rows.emplace_back(std::move(row));
}

void add(UsageRow& row, const UsagePart& part, double gpu_seconds) {
  row.seconds += gpu_seconds;
  if (part.utilization) {
    row.used += gpu_seconds * *part.utilization;
    row.used_of += gpu_seconds;
  }
  if (part.power) {
    row.energy += gpu_seconds * *part.power;
    row.energy_of += gpu_seconds;
  }
}

/// Names of pods that hold nothing any more are removed, and so are GPUs that were replaced.
void remove_ended(UsageMeter& meter, std::span<const UsagePart> parts) {
  std::set<std::string> pods, gpus;
  for (const UsagePart& part : parts) {
    pods.insert(part.pods.begin(), part.pods.end());
    if (!part.gpu.starts_with("unlisted-")) gpus.insert(part.gpu);
  }
  std::erase_if(meter.pods, [&](const auto& one) { return !pods.contains(one.first); });
  meter.gpus.assign(gpus.begin(), gpus.end());
}

}  // namespace

double longest_usage_interval(double timer_seconds) {
  return std::max(intervals * timer_seconds, least_longest);
}

void add_usage(UsageMeter& meter, const Moment& now, std::span<const UsagePart> parts, double longest) {
  const bool same_boot = !now.boot_id.empty() && meter.last.boot_id == now.boot_id;
  const double interval = same_boot ? now.uptime - meter.last.uptime : 0;
  meter.last = now;
  remove_ended(meter, parts);
  if (!(interval > 0 && interval <= longest)) return;
  const std::string hour = hour_of(now);
  for (const UsagePart& part : parts) {
    const double gpu_seconds = interval * part.share;
    const double each = gpu_seconds / static_cast<double>(std::max<std::size_t>(part.pods.size(), 1));
    if (part.pods.empty())
      if (UsageRow* row = row_for(meter, hour, part, {})) add(*row, part, gpu_seconds);
    for (const std::string& uid : part.pods) {
      const auto named = meter.pods.find(uid);
      const UsageHolder holder = named == meter.pods.end() ? UsageHolder{.uid = uid} : named->second;
      if (UsageRow* row = row_for(meter, hour, part, holder)) add(*row, part, each);
    }
  }
}

std::string usage_lines(const UsageMeter& meter, const Moment& now) {
  std::string lines;
  for (const UsageRow& row : meter.rows)
    if (row.hour != hour_of(now)) lines += base::json::write(to_tree(row, meter.batch), 0) + "\n";
  return lines;
}

void drop_written_usage(UsageMeter& meter, const Moment& now) {
  std::erase_if(meter.rows, [&](const UsageRow& row) { return row.hour != hour_of(now); });
  ++meter.batch;
}

}  // namespace cluster
