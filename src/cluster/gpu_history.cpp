#include "gpuadm/cluster/gpu_history.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <tuple>

namespace cluster {

namespace {

constexpr std::size_t most_uses = 32, most_gpus = 8192, most_marks = 5;
constexpr float unknown = std::numeric_limits<float>::quiet_NaN();

base::Time time_of(double seconds) {
  return base::Time(std::chrono::duration_cast<base::Time::duration>(std::chrono::duration<double>(seconds)));
}

/// "2026-11-26 10:00:00"
std::string date_of(double seconds) {
  std::string text = base::iso8601(time_of(seconds)).substr(0, 19);
  text[10] = ' ';
  return text;
}

std::string clock_of(double seconds) {
  return date_of(seconds).substr(11);
}

/// The end of an axis: 1, 2 or 5 times a power of ten, at least `most`.
double round_up(double most) {
  double end = 1;
  while (end < most)
    for (const double factor : {2.0, 2.5, 2.0})
      if (end < most) end *= factor;
  return end;
}

}  // namespace

void GpuHistory::Point::merge(const Point& other) {
  for (std::size_t v = 0; v < values; ++v) {
    sum[v] += other.sum[v];
    most[v] = std::max(most[v], other.most[v]);
    known[v] += other.known[v];
  }
  throttled += other.throttled;
  clocks_known += other.clocks_known;
}

void GpuHistory::halve() {
  step_ *= 2;
  for (auto& [key, gpu] : gpus_) {
    auto& points = gpu.points;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i % 2 == 0)
        points[i / 2] = points[i];
      else
        points[i / 2].merge(points[i]);
    }
    points.resize((points.size() + 1) / 2);
  }
}

std::size_t GpuHistory::place(double seconds) {
  // Samples do not arrive at exact distances: the nearest point is theirs.
  while (std::round(points_to(seconds)) >= static_cast<double>(most_points)) halve();
  return static_cast<std::size_t>(std::round(points_to(seconds)));
}

void GpuHistory::add(Gpu& gpu, const TopGpu& top, double seconds) {
  const facts::GpuReading& r = top.reading;
  gpu.host = top.host;
  gpu.index = r.index;
  gpu.uuid = r.uuid;
  if (!r.model.empty()) gpu.model = r.model;
  gpu.quarantine = r.quarantine ? facts::since_text(*r.quarantine) : "";
  gpu.total_mib = r.total_mib.value_or(gpu.total_mib);
  gpu.power_limit = r.power_limit.value_or(gpu.power_limit);
  const std::size_t at = place(seconds);
  if (gpu.points.size() <= at) gpu.points.resize(at + 1);
  Point& point = gpu.points[at];
  const std::optional<double> read[values] = {r.utilization, r.used_mib, r.power, r.temperature};
  for (std::size_t v = 0; v < values; ++v) {
    if (!read[v]) continue;
    point.sum[v] += static_cast<float>(*read[v]);
    point.most[v] = std::max(point.most[v], static_cast<float>(*read[v]));
    ++point.known[v];
  }
  if (r.clock_reasons) {
    const auto reasons = facts::throttle_reasons(*r.clock_reasons);
    ++point.clocks_known;
    point.throttled += reasons.empty() ? 0 : 1;
    gpu.reasons.insert(reasons.begin(), reasons.end());
  }
  for (const TopProgram& program : top.programs) {
    const std::string label = program.label();
    auto use = gpu.uses.find(label);
    if (use == gpu.uses.end()) {
      if (gpu.uses.size() >= most_uses) {
        ++gpu.more_uses;
        continue;
      }
      use = gpu.uses.emplace(label, Use{seconds, seconds, -1}).first;
    }
    use->second.to = seconds;
    use->second.most_mib = std::max(use->second.most_mib, program.used_mib.value_or(-1));
  }
}

void GpuHistory::add(const TopFrame& frame) {
  const auto seconds = base::parse_time(frame.time);
  if (!seconds) return;
  if (frames_ == 0) {
    first_ = last_ = *seconds;
    step_ = std::max(1, frame.every);
  }
  if (*seconds < last_) return;
  last_ = *seconds;
  ++frames_;
  for (const TopGpu& top : frame.gpus) {
    if (gpus_.size() >= most_gpus) break;
    add(gpus_[{top.host, top.reading.uuid}], top, *seconds);
  }
  for (const TopHost& host : frame.hosts) {
    const bool silent = host.state == TopHost::State::silent || host.state == TopHost::State::failed;
    if (!silent || silent_.size() >= most_gpus) continue;
    const auto silence = silent_.try_emplace(host.host, Silence{*seconds, *seconds, host.why}).first;
    silence->second.to = *seconds;
    silence->second.why = host.why;
  }
}

report::GpuPlot GpuHistory::plot_of(const Gpu& gpu, std::size_t points) const {
  report::GpuPlot plot{gpu.host,     std::to_string(gpu.index), gpu.model, gpu.uuid, {}, {}, {}, {},
                       gpu.more_uses};
  float hottest = 0, strongest = 0, fullest = 0;
  for (const Point& point : gpu.points) {
    hottest = std::max(hottest, point.most[temperature]);
    strongest = std::max(strongest, point.most[power]);
    fullest = std::max(fullest, point.most[memory]);
  }
  constexpr float mib_per_gib = 1024;
  plot.lines = {
      {"Utilization", "%", 100, {}, {}},
      {"Memory", "GiB", std::max(gpu.total_mib, static_cast<double>(fullest)) / mib_per_gib, {}, {}},
      {"Power",
       "W",
       std::max(1.0, gpu.power_limit >= strongest ? gpu.power_limit : round_up(strongest)),
       {},
       {}},
      {"Temperature", "°C", std::max(100.0, round_up(hottest)), {}, {}}};
  for (std::size_t i = 0; i < points; ++i) {
    const Point* point = i < gpu.points.size() ? &gpu.points[i] : nullptr;
    for (std::size_t v = 0; v < values; ++v) {
      const float scale = v == memory ? mib_per_gib : 1;
      const bool known = point && point->known[v] > 0;
      plot.lines[v].mean.push_back(known ? point->sum[v] / static_cast<float>(point->known[v]) / scale
                                         : unknown);
      plot.lines[v].most.push_back(known ? point->most[v] / scale : unknown);
    }
    plot.throttled.push_back(point && point->clocks_known > 0 ? static_cast<float>(point->throttled) /
                                                                    static_cast<float>(point->clocks_known)
                                                              : unknown);
  }
  plot.reasons.assign(gpu.reasons.begin(), gpu.reasons.end());
  for (const auto& [label, use] : gpu.uses)
    plot.uses.push_back({label, clock_of(use.from), clock_of(use.to), use.most_mib});
  return plot;
}

report::PlotPage GpuHistory::page() const {
  report::PlotPage page;
  std::set<std::string> hosts;
  for (const auto& [key, gpu] : gpus_) hosts.insert(gpu.host);
  page.title = fmt::format("{} GPU{} on {} host{}", gpus_.size(), gpus_.size() == 1 ? "" : "s", hosts.size(),
                           hosts.size() == 1 ? "" : "s");
  const std::size_t points = step_ > 0 ? static_cast<std::size_t>(std::round(points_to(last_))) + 1 : 1;
  const double seconds = step_ * static_cast<double>(points);
  page.from = date_of(first_);
  page.to = date_of(last_);
  page.resolution =
      fmt::format("{} sample{}, a point is {}", frames_, frames_ == 1 ? "" : "s", base::human_seconds(step_));
  const std::size_t marks = std::min(most_marks, std::max<std::size_t>(2, points));
  for (std::size_t i = 0; i < marks; ++i)
    page.time_marks.push_back(
        clock_of(first_ + seconds * static_cast<double>(i) / static_cast<double>(marks - 1)));
  std::vector<const Gpu*> ordered;
  for (const auto& [key, gpu] : gpus_) ordered.push_back(&gpu);
  std::ranges::stable_sort(ordered, [](const Gpu* a, const Gpu* b) {
    return std::tie(a->host, a->index) < std::tie(b->host, b->index);
  });
  for (const Gpu* gpu : ordered) {
    page.gpus.push_back(plot_of(*gpu, points));
    if (!gpu->quarantine.empty())
      page.notes.push_back(
          fmt::format("{} GPU {} is in quarantine {}.", gpu->host, gpu->index, gpu->quarantine));
  }
  for (const auto& [host, silence] : silent_)
    page.notes.push_back(fmt::format("{} had no readings between {} and {}{}.", host, clock_of(silence.from),
                                     clock_of(silence.to), silence.why.empty() ? "" : ": " + silence.why));
  return page;
}

}  // namespace cluster
