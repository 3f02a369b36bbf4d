#include "gpuadm/base/json.hpp"
#include "gpuadm/cluster/gpu_top.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cluster {

namespace {

using base::Tree;

constexpr std::pair<std::string_view, TopHost::State> states[] = {{"not-answering", TopHost::State::silent},
                                                                  {"failed", TopHost::State::failed},
                                                                  {"no-nvidia-smi", TopHost::State::no_smi},
                                                                  {"partial", TopHost::State::partial}};

Tree tree_of(const std::optional<double>& value) {
  if (!value) return {};
  const double rounded = std::round(*value);
  if (rounded == *value) return static_cast<std::int64_t>(rounded);
  return *value;
}

Tree text_or_null(const std::string& text) {
  return text.empty() ? Tree() : Tree(text);
}

Tree tree_of(const TopProgram& program) {
  return Tree::map_of({{"pid", program.pid},
                       {"name", text_or_null(program.name)},
                       {"memoryMiB", tree_of(program.used_mib)},
                       {"pod", text_or_null(program.pod)},
                       {"kind", text_or_null(program.kind)},
                       {"workload", text_or_null(program.workload)},
                       {"container", text_or_null(program.container)}});
}

Tree tree_of(const std::optional<facts::QuarantinedGpu>& quarantine) {
  if (!quarantine) return {};
  return Tree::map_of({{"since", quarantine->since}, {"reason", text_or_null(quarantine->reason)}});
}

Tree tree_of(const TopGpu& gpu) {
  const facts::GpuReading& r = gpu.reading;
  Tree programs = Tree::list(), instances = Tree::list();
  for (const TopProgram& program : gpu.programs) programs.push(tree_of(program));
  for (const facts::MigInstance& mig : r.instances)
    instances.push(Tree::map_of({{"index", mig.index},
                                 {"profile", mig.profile},
                                 {"uuid", mig.uuid},
                                 {"memoryUsedMiB", tree_of(mig.used_mib)},
                                 {"memoryTotalMiB", tree_of(mig.total_mib)}}));
  return Tree::map_of(
      {{"host", gpu.host},
       {"index", r.index},
       {"uuid", r.uuid},
       {"model", text_or_null(r.model)},
       {"utilization", tree_of(r.utilization)},
       {"memoryUtilization", tree_of(r.memory_utilization)},
       {"memoryUsedMiB", tree_of(r.used_mib)},
       {"memoryTotalMiB", tree_of(r.total_mib)},
       {"temperatureC", tree_of(r.temperature)},
       {"memoryTemperatureC", tree_of(r.memory_temperature)},
       {"powerW", tree_of(r.power)},
       {"powerLimitW", tree_of(r.power_limit)},
       {"smClockMHz", tree_of(r.sm_clock)},
       {"smClockMaxMHz", tree_of(r.sm_max)},
       {"memoryClockMHz", tree_of(r.memory_clock)},
       {"throttle", r.clock_reasons ? Tree::list_of(facts::throttle_reasons(*r.clock_reasons)) : Tree()},
       {"fault", text_or_null(r.fault)},
       {"quarantine", tree_of(r.quarantine)},
       {"mig", instances},
       {"reservedBy", Tree::list_of(gpu.reserved)},
       {"processes", gpu.programs_read ? programs : Tree()}});
}

Tree tree_of(const TopHost& host) {
  const auto state =
      std::ranges::find(states, host.state, &std::pair<std::string_view, TopHost::State>::second);
  return Tree::map_of({{"host", host.host},
                       {"state", state->first},
                       {"seconds", std::round(host.seconds * 10) / 10},
                       {"why", host.why}});
}

std::string text_at(const Tree& tree, std::string_view key) {
  const Tree* value = tree.find(key);
  return value && value->as_string() ? value->as_string()->substr(0, 500) : "";
}

std::optional<double> number_at(const Tree& tree, std::string_view key) {
  const Tree* value = tree.find(key);
  const auto number = value ? value->as_real() : std::nullopt;
  return number && std::isfinite(*number) && *number >= 0 && *number < 1e15 ? number : std::nullopt;
}

int int_at(const Tree& tree, std::string_view key) {
  return static_cast<int>(std::min(number_at(tree, key).value_or(0), 1e9));
}

const Tree::List& list_at(const Tree& tree, std::string_view key) {
  static const Tree::List none;
  const Tree* value = tree.find(key);
  return value ? value->items() : none;
}

std::optional<std::uint64_t> reasons_at(const Tree& tree) {
  const Tree* list = tree.find("throttle");
  if (!list || !list->is_list()) return std::nullopt;
  std::uint64_t mask = 0;
  for (const Tree& item : list->items())
    for (std::uint64_t bit = 1; bit <= 0x100; bit <<= 1)
      if (const auto names = facts::throttle_reasons(bit);
          item.as_string() && names.size() == 1 && names.front() == *item.as_string())
        mask |= bit;
  return mask;
}

TopGpu gpu_of(const Tree& tree) {
  TopGpu gpu;
  facts::GpuReading& r = gpu.reading;
  gpu.host = text_at(tree, "host");
  r.index = int_at(tree, "index");
  r.uuid = text_at(tree, "uuid");
  r.model = text_at(tree, "model");
  r.utilization = number_at(tree, "utilization");
  r.memory_utilization = number_at(tree, "memoryUtilization");
  r.used_mib = number_at(tree, "memoryUsedMiB");
  r.total_mib = number_at(tree, "memoryTotalMiB");
  r.temperature = number_at(tree, "temperatureC");
  r.memory_temperature = number_at(tree, "memoryTemperatureC");
  r.power = number_at(tree, "powerW");
  r.power_limit = number_at(tree, "powerLimitW");
  r.sm_clock = number_at(tree, "smClockMHz");
  r.sm_max = number_at(tree, "smClockMaxMHz");
  r.memory_clock = number_at(tree, "memoryClockMHz");
  r.clock_reasons = reasons_at(tree);
  r.fault = text_at(tree, "fault");
  if (const Tree* entry = tree.find("quarantine"); entry && entry->is_map())
    r.quarantine = facts::QuarantinedGpu{r.uuid, {}, text_at(*entry, "since"), text_at(*entry, "reason")};
  for (const Tree& item : list_at(tree, "mig"))
    r.instances.push_back({int_at(item, "index"), text_at(item, "profile"), text_at(item, "uuid"),
                           number_at(item, "memoryUsedMiB"), number_at(item, "memoryTotalMiB")});
  for (const Tree& item : list_at(tree, "reservedBy"))
    if (item.as_string()) gpu.reserved.push_back(item.as_string()->substr(0, 500));
  const Tree* processes = tree.find("processes");
  gpu.programs_read = processes && processes->is_list();
  for (const Tree& item : list_at(tree, "processes"))
    gpu.programs.push_back({static_cast<std::uint64_t>(number_at(item, "pid").value_or(0)),
                            text_at(item, "name"), number_at(item, "memoryMiB"), text_at(item, "pod"),
                            text_at(item, "kind"), text_at(item, "workload"), text_at(item, "container")});
  return gpu;
}

TopHost host_of(const Tree& tree) {
  TopHost host{text_at(tree, "host"), TopHost::State::silent, number_at(tree, "seconds").value_or(0),
               text_at(tree, "why")};
  for (const auto& [name, state] : states)
    if (text_at(tree, "state") == name) host.state = state;
  return host;
}

/// Appends the items with one tree in memory at a time.
template <class Items>
void write_list(std::string& line, const char* key, const Items& items) {
  line += fmt::format(",\"{}\":[", key);
  bool first = true;
  for (const auto& item : items) {
    line += (first ? "" : ",") + base::json::write(tree_of(item), 0);
    first = false;
  }
  line += "]";
}

}  // namespace

std::string to_json_line(const TopFrame& frame) {
  std::string line =
      fmt::format("{{\"time\":{},\"interval\":{}", base::json::write(Tree(frame.time), 0), frame.every);
  write_list(line, "gpus", frame.gpus);
  write_list(line, "hosts", frame.hosts);
  return line + "}\n";
}

base::Result<TopFrame> frame_of_json(std::string_view line, const std::string& source) {
  const auto read = base::json::read(line, source);
  const Tree tree = read.value_or(Tree());
  const Tree* gpus = tree.find("gpus");
  if (!read || text_at(tree, "time").empty() || !gpus || !gpus->is_list())
    return base::fail(base::Fault::parse, source + ": not a record of gpuadm gpu top",
                      "create one with gpuadm gpu top --record FILE");
  TopFrame frame{text_at(tree, "time"), int_at(tree, "interval"), {}, {}};
  for (const Tree& item : list_at(tree, "gpus")) frame.gpus.push_back(gpu_of(item));
  for (const Tree& item : list_at(tree, "hosts")) frame.hosts.push_back(host_of(item));
  return frame;
}

}  // namespace cluster
