#include "checks/case_files.hpp"
#include "checks/repository_data.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

// Recordings of machines that are sick (data/faults), a byte at a time replaced by one that no text has: what
// failed before fails still, or is unknown. Every byte of the lines about the fault, and a sample of
// the others; with GPUADM_MUTATE_ALL=1 every byte (two hours of a CPU), with GPUADM_MUTATE_ALL=FAULT,FAULT
// every byte of these.

namespace {

using namespace case_files;

constexpr std::size_t evidence_step = sample_step(199);
constexpr std::size_t samples = 50 / sample_step(5);

struct Sick {
  std::string name, machine, probe;
  checks::Stage stage = checks::Stage::node;
};

/// Faults of one host, of which the cluster file knows nothing.
std::vector<Sick> sick_machines(const std::string& file, std::size_t most) {
  const std::string path = std::string(GPUADM_SOURCE_DIR "/data/faults/") + file;
  const auto faults = base::yaml::read(case_text(path), path);
  REQUIRE(faults);
  std::vector<Sick> found;
  for (const auto& [name, fault] : faults->entries()) {
    const std::string machine = fault.find("machine")->text();
    if (found.size() == most || fault.find("hosts") || fault.find("cluster") || machine == "pair") continue;
    const Tree* stage = fault.find("stage");
    const bool before = stage ? stage->text() == "preflight" : machine.ends_with("machine");
    found.push_back({name, machine, edit(recorded_probe(machine), fault),
                     before ? checks::Stage::preflight : checks::Stage::node});
  }
  return found;
}

/// The offsets of all bytes of the lines that the healthy machine's probe does not have.
std::vector<std::size_t> evidence_of(const std::string& healthy, const std::string& sick) {
  std::set<std::string_view> known;
  for (const std::string_view line : base::lines(healthy)) known.insert(line);
  std::vector<std::size_t> offsets;
  for (const std::string_view line : base::lines(sick)) {
    if (known.contains(line)) continue;
    const auto begin = static_cast<std::size_t>(line.data() - sick.data());
    for (std::size_t i = 0; i <= line.size(); i += evidence_step) offsets.push_back(begin + i);
    if (line.size() % evidence_step != 0) offsets.push_back(begin + line.size());  // the line's end
  }
  return offsets;
}

using Verdicts = std::map<std::string, std::set<report::Verdict>>;

Verdicts verdicts_of(const spec::Cluster& cluster, const Sick& sick, const std::string& probe,
                     const checks::Data& data) {
  Verdicts verdicts;
  auto facts = facts::parse(probe);
  if (!facts) return verdicts;  // refused
  facts::Census census;
  census.emplace(cluster.hosts.front().name, std::move(*facts));
  for (const Finding& finding : checks::examine(cluster, {}, census, data, sick.stage))
    verdicts[finding.id].insert(finding.verdict);
  return verdicts;
}

/// The recordings of which every byte is replaced.
struct Extent {
  std::string names = std::getenv("GPUADM_MUTATE_ALL") ? std::getenv("GPUADM_MUTATE_ALL") : "";
  [[nodiscard]] bool is_sample() const { return names.empty(); }
  [[nodiscard]] bool has(const std::string& name) const {
    return names.empty() || names == "1" || std::ranges::count(base::split(names, ','), name) > 0;
  }
};

bool fails(const std::set<report::Verdict>& verdicts) {
  return verdicts.contains(report::Verdict::fail);
}

bool is_well(const std::set<report::Verdict>& verdicts) {
  return std::ranges::all_of(verdicts, [](report::Verdict verdict) {
    return verdict == report::Verdict::pass || verdict == report::Verdict::skip;
  });
}

void check_every_byte(const Sick& sick, const checks::Data& data, const Extent& extent) {
  const auto cluster =
      spec::parse(case_text(fs::path(GPUADM_SOURCE_DIR) / "data/recordings" / sick.machine / "cluster.yaml"),
                  "cluster.yaml");
  REQUIRE(cluster);
  const Verdicts before = verdicts_of(*cluster, sick, sick.probe, data);
  std::vector<std::size_t> offsets = evidence_of(recorded_probe(sick.machine), sick.probe);
  const std::size_t step = extent.is_sample() ? sick.probe.size() / samples : 1;
  for (std::size_t i = 0; i < sick.probe.size(); i += step) offsets.push_back(i);
  std::string probe = sick.probe;
  for (const std::size_t offset : offsets) {
    const char byte = std::exchange(probe.at(offset), '\xff');
    const Verdicts after = verdicts_of(*cluster, sick, probe, data);
    if (offset % step == 0) {  // such a change may mean something else, but never a crash
      constexpr std::string_view texts = "0x|\n";
      probe[offset] = texts[offset / step % texts.size()];
      (void)verdicts_of(*cluster, sick, probe, data);
    }
    probe[offset] = byte;
    for (const auto& [id, verdicts] : before) {
      if (after.empty() || !fails(verdicts) || !is_well(after.at(id))) continue;
      const std::size_t begin = sick.probe.rfind('\n', offset == 0 ? 0 : offset - 1) + 1;
      CHECK_MESSAGE(false, fmt::format("{}: {} is well without byte {} of: {}", sick.name, id, offset - begin,
                                       sick.probe.substr(begin, sick.probe.find('\n', offset) - begin)));
    }
  }
}

}  // namespace

TEST_CASE("no byte that a recording of a sick machine has lost makes it healthy") {
  const auto data = repository_data();
  const Extent extent;
  std::size_t count = 0;
  for (const auto& [file, most] : {std::pair{"gpu.yaml", 8},
                                   {"driver.yaml", 4},
                                   {"fabric.yaml", 3},
                                   {"host.yaml", 3},
                                   {"kubelet.yaml", 3},
                                   {"toolkit.yaml", 2}})
    for (const Sick& sick : sick_machines(file, static_cast<std::size_t>(most))) {
      ++count;
      if (!extent.has(sick.name)) continue;
      check_every_byte(sick, *data, extent);
      if (!extent.is_sample())
        MESSAGE(fmt::format("{}: every one of {} bytes", sick.name, sick.probe.size()));
    }
  CHECK(count >= 20);
}
