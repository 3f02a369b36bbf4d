#include "gpuadm/cluster/gpu_board.hpp"

#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/gpu_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <tuple>

namespace cluster {

namespace {

using base::Tree;

constexpr std::size_t most_board_gpus = 8192, most_users = 32;
constexpr float no_value = std::numeric_limits<float>::quiet_NaN();
constexpr const char* value_names[] = {"utilization", "memory", "power", "temperature"};

float float_of(const std::optional<double>& value) {
  return value ? static_cast<float>(*value) : no_value;
}

/// Whole numbers are enough for a page; nothing is null.
Tree rounded(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Tree(std::int64_t{std::llround(*value)}) : Tree();
}

/// "2026-11-26T10:00:00Z"; empty if the time of the frame is invalid.
std::string time_before(const std::string& time, double seconds) {
  const auto end = base::parse_time(time);
  if (!end) return {};
  const auto since = std::chrono::duration<double>(*end - seconds);
  return base::iso8601(base::Time(std::chrono::duration_cast<base::Time::duration>(since)));
}

std::string_view word_of(TopHost::State state) {
  switch (state) {
    case TopHost::State::silent:
      return "not answering";
    case TopHost::State::failed:
      return "no readings";
    case TopHost::State::no_smi:
      return "no nvidia-smi";
    case TopHost::State::partial:
      break;
  }
  return "some GPUs have no readings";
}

/// The users of a GPU, each once, the largest first.
Tree users_of(const TopGpu& gpu) {
  struct User {
    std::string label;
    double mib = 0;
    bool known = true;
  };
  std::vector<User> users;
  for (const TopProgram& program : gpu.programs) {
    auto user = std::ranges::find(users, program.label(), &User::label);
    if (user == users.end()) user = users.insert(user, User{program.label(), 0, true});
    user->mib += program.used_mib.value_or(0);
    user->known = user->known && program.used_mib;
  }
  std::ranges::stable_sort(users, std::greater<>(), &User::mib);
  Tree list = Tree::list();
  for (const User& user : users) {
    if (list.items().size() == most_users) {
      list.push(Tree::map_of(
          {{"label", fmt::format("and {} more", users.size() - most_users)}, {"memoryMiB", Tree()}}));
      break;
    }
    list.push(Tree::map_of({{"label", user.label}, {"memoryMiB", user.known ? rounded(user.mib) : Tree()}}));
  }
  return list;
}

/// Values of a ring as "12 13 - 15": the oldest first, "-" is unknown. A list would be ten times as large in
/// memory.
std::string series(const std::vector<std::array<float, 4>>& points, std::size_t value, std::size_t samples) {
  const std::size_t size = points.size(), known = std::min(samples, size);
  std::string text;
  for (std::size_t i = samples - known; i < samples; ++i) {
    const float number = points[i % size][value];
    if (!text.empty()) text += ' ';
    text += std::isnan(number) ? std::string("-") : fmt::format("{:.0f}", number);
  }
  return text;
}

}  // namespace

void GpuBoard::refresh(const TopFrame& frame) {
  silent_.clear();
  for (const TopHost& host : frame.hosts)
    silent_[host.host] = {host.state, host.seconds > 0 ? time_before(frame.time, host.seconds) : "",
                          host.why};
}

void GpuBoard::add(const TopFrame& frame) {
  refresh(frame);
  const std::size_t at = samples_++ % most_points;
  times_.resize(std::min(samples_, most_points));
  times_[at] = frame.time;
  for (auto& [key, gpu] : gpus_) {
    gpu.current = false;
    if (!gpu.points.empty()) gpu.points[at].fill(no_value);
  }
  for (const TopGpu& top : frame.gpus) {
    const facts::GpuReading& r = top.reading;
    const std::string id = r.uuid.empty() ? fmt::format("#{}", r.index) : r.uuid;
    if (gpus_.size() >= most_board_gpus && !gpus_.contains({top.host, id})) break;
    const auto [place, is_new] = gpus_.try_emplace({top.host, id});
    Gpu& gpu = place->second;
    if (is_new && plots_ < most_plots) {
      Point nothing;
      nothing.fill(no_value);
      gpu.points.assign(most_points, nothing);
      ++plots_;
    }
    gpu.last = top;
    gpu.seen = frame.time;
    gpu.current = true;
    if (!gpu.points.empty())
      gpu.points[at] = {float_of(r.utilization), float_of(r.used_mib), float_of(r.power),
                        float_of(r.temperature)};
  }
}

std::string GpuBoard::old_because(const Gpu& gpu) const {
  if (gpu.current) return {};
  const auto host = silent_.find(gpu.last.host);
  if (host == silent_.end() || host->second.state == TopHost::State::partial)
    return "nvidia-smi does not list it any more";
  return std::string(word_of(host->second.state));
}

Tree GpuBoard::plot_tree(const Gpu& gpu) const {
  Tree tree = Tree::map();
  if (gpu.points.empty()) return tree;
  for (std::size_t v = 0; v < values; ++v) tree.set(value_names[v], series(gpu.points, v, samples_));
  return tree;
}

Tree GpuBoard::gpu_tree(const Gpu& gpu) const {
  const facts::GpuReading& r = gpu.last.reading;
  Tree partitions = Tree::list();
  for (const facts::MigInstance& mig : r.instances)
    partitions.push(Tree::map_of({{"index", mig.index},
                                  {"profile", mig.profile},
                                  {"memoryUsedMiB", rounded(mig.used_mib)},
                                  {"memoryTotalMiB", rounded(mig.total_mib)}}));
  return Tree::map_of(
      {{"host", gpu.last.host},
       {"index", r.index},
       {"uuid", r.uuid},
       {"model", r.model},
       {"old", old_because(gpu)},
       {"seen", gpu.seen},
       {"utilization", rounded(r.utilization)},
       {"memoryUsedMiB", rounded(r.used_mib)},
       {"memoryTotalMiB", rounded(r.total_mib)},
       {"powerW", rounded(r.power)},
       {"powerLimitW", rounded(r.power_limit)},
       {"temperatureC", rounded(r.temperature)},
       {"throttle", r.clock_reasons ? Tree::list_of(facts::throttle_reasons(*r.clock_reasons)) : Tree()},
       {"fault", r.fault},
       {"quarantine", r.quarantine
                          ? Tree::map_of({{"since", r.quarantine->since}, {"reason", r.quarantine->reason}})
                          : Tree()},
       {"partitions", std::move(partitions)},
       {"users", gpu.last.programs_read ? users_of(gpu.last) : Tree()},
       {"plots", plot_tree(gpu)}});
}

Tree GpuBoard::gpus() const {
  std::vector<const Gpu*> ordered;
  for (const auto& [key, gpu] : gpus_) ordered.push_back(&gpu);
  std::ranges::stable_sort(ordered, [](const Gpu* a, const Gpu* b) {
    return std::tie(a->last.host, a->last.reading.index) < std::tie(b->last.host, b->last.reading.index);
  });
  Tree list = Tree::list();
  for (const Gpu* gpu : ordered) list.push(gpu_tree(*gpu));
  return list;
}

Tree GpuBoard::plots() const {
  const bool full = samples_ > most_points;
  const std::string from = times_.empty() ? "" : times_[full ? samples_ % most_points : 0];
  const std::string to = times_.empty() ? "" : times_[(samples_ - 1) % most_points];
  return Tree::map_of({{"from", from},
                       {"to", to},
                       {"points", std::uint64_t{times_.size()}},
                       {"most", std::uint64_t{most_points}},
                       {"omitted", std::uint64_t{gpus_.size() - plots_}}});
}

Tree GpuBoard::silent() const {
  Tree tree = Tree::map();
  for (const auto& [name, host] : silent_)
    tree.set(name, Tree::map_of({{"state", word_of(host.state)}, {"since", host.since}, {"why", host.why}}));
  return tree;
}

}  // namespace cluster
