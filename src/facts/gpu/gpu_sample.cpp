#include "gpuadm/facts/gpu_sample.hpp"

#include "gpuadm/base/text.hpp"

#include "facts/gpu/mig.hpp"
#include "facts/text/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace facts {

namespace {

constexpr std::string_view greeting = "gpuadm-gpu-top 1";
constexpr std::size_t most_gpus = 256, most_programs = 4096, most_text = 200;

/// nvidia-smi: "Return code 2 - A supplied argument or flag is invalid".
constexpr int invalid_argument = 2;

struct Part {
  std::vector<std::string_view> lines;
  std::vector<std::string_view> groups;  ///< "PID PATH"
  std::optional<int> status;
};

struct Parts {
  std::map<std::string_view, Part> by_name;
  [[nodiscard]] const Part* find(std::string_view name) const {
    const auto at = by_name.find(name);
    return at == by_name.end() ? nullptr : &at->second;
  }
};

Parts parts_of(std::string_view output) {
  Parts parts;
  Part* part = nullptr;
  for (const std::string_view line : base::lines(output)) {
    if (line.starts_with("=== "))
      part = &parts.by_name[base::trim(line.substr(4))];
    else if (part && line.starts_with("| "))
      part->lines.push_back(line.substr(2));
    else if (part && line.starts_with("@ "))
      part->groups.push_back(line.substr(2));
    else if (part && line.starts_with("? "))
      part->status = static_cast<int>(base::to_int(line.substr(2)).value_or(-1));
  }
  return parts;
}

/// Cells of a line of `--format=csv`; the last of `most` has the rest of the line.
std::vector<std::string_view> cells_of(std::string_view line, std::size_t most) {
  std::vector<std::string_view> cells;
  while (cells.size() + 1 < most) {
    const std::size_t comma = line.find(", ");
    if (comma == std::string_view::npos) break;
    cells.push_back(base::trim(line.substr(0, comma)));
    line.remove_prefix(comma + 2);
  }
  cells.push_back(base::trim(line));
  return cells;
}

std::optional<double> number(std::string_view cell) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !(value >= 0 && value < 1e15))
    return std::nullopt;
  return value;
}

std::optional<std::uint64_t> mask(std::string_view cell) {
  if (!cell.starts_with("0x")) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data() + 2, cell.data() + cell.size(), value, 16);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

using Member = std::optional<double> GpuReading::*;

constexpr std::pair<std::string_view, Member> columns[] = {
    {"utilization.gpu", &GpuReading::utilization},
    {"utilization.memory", &GpuReading::memory_utilization},
    {"memory.used", &GpuReading::used_mib},
    {"memory.total", &GpuReading::total_mib},
    {"temperature.gpu", &GpuReading::temperature},
    {"temperature.memory", &GpuReading::memory_temperature},
    {"power.draw", &GpuReading::power},
    {"enforced.power.limit", &GpuReading::power_limit},
    {"clocks.current.sm", &GpuReading::sm_clock},
    {"clocks.sm", &GpuReading::sm_clock},
    {"clocks.max.sm", &GpuReading::sm_max},
    {"clocks.current.memory", &GpuReading::memory_clock},
    {"clocks.mem", &GpuReading::memory_clock},
};

void set(GpuReading& gpu, std::string_view name, std::string_view cell) {
  if (name == "index") {
    gpu.index = static_cast<int>(base::to_int(cell).value_or(-1));
  } else if (name == "uuid" || name == "gpu_uuid") {
    gpu.uuid = cell.substr(0, most_text);
  } else if (name == "name" || name == "gpu_name") {
    gpu.model = known(cell.substr(0, most_text)).value_or("");
  } else if (name == "mig.mode.current") {
    gpu.mig = cell == "Enabled";
  } else if (name.starts_with("clocks_")) {
    gpu.clock_reasons = mask(cell);
  } else {
    const auto column = std::ranges::find(columns, name, &std::pair<std::string_view, Member>::first);
    if (column == std::end(columns)) return;
    gpu.*(column->second) = number(cell);
    if (const auto text = known(cell); text && !number(cell) && gpu.fault.empty())
      gpu.fault = text->substr(0, most_text);
  }
}

/// The lines of `--query-gpu`: a header with units, a line for each GPU; a message instead of a GPU that the
/// driver has lost.
void read_gpus(const Part& part, GpuSample& sample) {
  std::vector<std::string_view> names;
  std::string message;
  for (const std::string_view line : part.lines) {
    const auto cells = cells_of(line, 64);
    if (names.empty() && cells.front() == "index" && cells.size() > 2) {
      for (const std::string_view cell : cells) names.push_back(cell.substr(0, cell.find(" [")));
      continue;
    }
    if (names.empty() || cells.size() != names.size() || sample.gpus.size() >= most_gpus) {
      if (message.empty() && !base::trim(line).empty())
        message = base::printable(base::trim(line), most_text);
      continue;
    }
    GpuReading& gpu = sample.gpus.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) set(gpu, names[i], cells[i]);
    if (gpu.index < 0) sample.gpus.pop_back();
  }
  if (!sample.gpus.empty()) sample.warning = message;
  if (part.status == 124 || part.status == 137)
    sample.failure = "nvidia-smi did not end within 20s";
  else if (sample.gpus.empty())
    sample.failure = !message.empty() ? message
                                      : fmt::format("nvidia-smi exits with status {}, no output",
                                                    part.status.value_or(-1));
}

void read_programs(const Part& part, GpuSample& sample) {
  sample.programs_read = part.status == 0;
  std::map<std::uint64_t, CgroupOwner> owners;
  for (const std::string_view line : part.groups) {
    const std::size_t blank = line.find(' ');
    if (const auto pid = count(line.substr(0, blank)); pid && blank != std::string_view::npos)
      owners.emplace(*pid, cgroup_owner(line.substr(blank + 1)));
  }
  std::size_t programs = 0;
  for (const std::string_view line : part.lines) {
    const auto cells = cells_of(line, 4);
    if (cells.size() != 4 || programs >= most_programs) continue;
    const auto gpu = std::ranges::find(sample.gpus, cells[0], &GpuReading::uuid);
    const auto pid = count(cells[1]);
    if (gpu == sample.gpus.end() || !pid) continue;
    GpuProgram program{.pid = *pid,
                       .name = known(cells[3].substr(0, most_text)).value_or(""),
                       .used_mib = number(cells[2]),
                       .pod_uid = {},
                       .container = {}};
    if (const auto owner = owners.find(*pid); owner != owners.end()) {
      program.pod_uid = owner->second.pod_uid;
      program.container = owner->second.container;
    }
    gpu->programs.push_back(std::move(program));
    ++programs;
  }
}

/// The lines of `nvidia-smi -L`, and the memory of the instances.
void read_instances(const Part& list, const Part* memory, GpuSample& sample) {
  sample.instances_read = list.status == 0;
  GpuReading* gpu = nullptr;
  const auto gpu_of = [&](std::optional<std::uint64_t> index) -> GpuReading* {
    for (GpuReading& other : sample.gpus)
      if (index && static_cast<std::uint64_t>(other.index) == *index) return &other;
    return nullptr;
  };
  for (const std::string_view line : list.lines) {
    if (line.starts_with("GPU ")) gpu = gpu_of(count(line.substr(4, line.find(':') - 4)));
    if (auto instance = mig_instance_in(line); gpu && instance && gpu->instances.size() < most_instances)
      gpu->instances.push_back(std::move(*instance));
  }
  if (!memory) return;
  for (const std::string_view line : memory->lines) {
    const auto words = base::split(line, ' ');
    GpuReading* of = words.size() == 4 ? gpu_of(count(words[0])) : nullptr;
    const auto index = words.size() == 4 ? count(words[1]) : std::nullopt;
    if (!of || !index) continue;
    for (MigInstance& instance : of->instances)
      if (static_cast<std::uint64_t>(instance.index) == *index) {
        instance.total_mib = number(words[2]);
        instance.used_mib = number(words[3]);
      }
  }
}

/// The entries of GPUs that have readings.
void read_quarantine(const Part& part, GpuSample& sample) {
  constexpr std::size_t most_since = 40;
  for (const std::string_view line : part.lines) {
    auto entry = quarantined_in(line);
    const auto gpu =
        entry ? std::ranges::find(sample.gpus, entry->uuid, &GpuReading::uuid) : sample.gpus.end();
    if (gpu == sample.gpus.end()) continue;
    entry->since = base::printable(entry->since, most_since);
    entry->reason = base::printable(entry->reason, most_text);
    gpu->quarantine = std::move(entry);
  }
}

/// "UUID POD-UID" of each pod that has a GPU.
void read_reserved(const Part& part, GpuSample& sample) {
  constexpr std::size_t most_pods = 64, longest = 40;
  for (const std::string_view line : part.lines) {
    const auto words = base::words(line);
    if (words.size() != 2 || words[1].size() > longest) continue;
    const auto gpu = std::ranges::find(sample.gpus, words[0], &GpuReading::uuid);
    if (gpu != sample.gpus.end() && gpu->reserved.size() < most_pods) gpu->reserved.emplace_back(words[1]);
  }
}

}  // namespace

base::Result<GpuSample> parse_gpu_sample(std::string_view output) {
  if (!output.starts_with(greeting))
    return base::fail(base::Fault::parse,
                      "the host did not print a sample of its GPUs: " +
                          base::printable(output.substr(0, output.find('\n')), most_text));
  GpuSample sample;
  const Parts parts = parts_of(output);
  sample.control_plane = parts.find("control-plane") != nullptr;
  sample.has_smi = parts.find("absent") == nullptr;
  if (!sample.has_smi) return sample;
  if (const Part* hangs = parts.find("hangs")) {
    sample.hangs = true;
    const std::string pid = hangs->lines.empty() ? "" : base::printable(hangs->lines.front(), 20);
    if (constexpr std::string_view unknown = " unknown"; pid.ends_with(unknown))
      sample.failure = fmt::format(
          "nvidia-smi (pid {}) may hang in the kernel, which only root can read: use root or --sudo",
          pid.substr(0, pid.size() - unknown.size()));
    else
      sample.failure =
          fmt::format("nvidia-smi hangs in the kernel{}", pid.empty() ? "" : " (pid " + pid + ")");
    return sample;
  }
  const Part* gpus = parts.find("gpus");
  if (!gpus || !gpus->status) {
    sample.hangs = true;
    sample.failure = "nvidia-smi did not end within 45s and could not be stopped";
    return sample;
  }
  read_gpus(*gpus, sample);
  if (const Part* fields = parts.find("fields"); fields && !fields->lines.empty() && *gpus->status == 0)
    if (const std::string_view list = fields->lines.front(); list == "1" || list == "2" || list == "3")
      sample.fields = list;
  if (*gpus->status == invalid_argument && sample.gpus.empty())
    sample.failure = "nvidia-smi does not support the fields: " + sample.failure;
  if (const Part* programs = parts.find("programs")) read_programs(*programs, sample);
  if (const Part* list = parts.find("quarantine")) read_quarantine(*list, sample);
  if (const Part* list = parts.find("reserved")) read_reserved(*list, sample);
  if (const Part* list = parts.find("mig")) read_instances(*list, parts.find("mig-memory"), sample);
  return sample;
}

}  // namespace facts
