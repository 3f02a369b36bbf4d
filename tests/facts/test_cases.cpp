#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/facts/from_tree.hpp"

#include "case_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> machines() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(GPUADM_TESTS_DIR "/cases/facts"))
    if (entry.is_directory()) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST_CASE("the output of a probe gives the facts next to it") {
  REQUIRE(machines().size() >= 3);
  for (const fs::path& machine : machines()) {
    CAPTURE(machine.filename().string());
    const auto facts = facts::parse(case_text(machine / "probe.txt"));
    REQUIRE(facts.has_value());
    const std::string got = base::json::write(facts::to_tree(*facts)) + "\n";
    if (std::getenv("GPUADM_REWRITE_CASES")) REQUIRE(base::write_file(machine / "facts.json", got, 0644));
    CHECK(got == case_text(machine / "facts.json"));
  }
}

TEST_CASE("facts that decide which packages a host needs survive being written and read") {
  for (const fs::path& machine : machines()) {
    CAPTURE(machine.filename().string());
    const auto facts = facts::parse(case_text(machine / "probe.txt"));
    REQUIRE(facts.has_value());
    const facts::Facts got =
        facts::read_package_facts(base::json::read(case_text(machine / "facts.json"), "facts.json").value());
    CHECK(got.os.id == facts->os.id);
    CHECK(got.os.parent_id == facts->os.parent_id);
    CHECK(got.os.parent_version_id == facts->os.parent_version_id);
    CHECK(got.os.parent_codename == facts->os.parent_codename);
    CHECK(got.os.family == facts->os.family);
    CHECK(got.os.architecture == facts->os.architecture);
    CHECK(got.kernel.release == facts->kernel.release);
    CHECK(got.software.tool_paths == facts->software.tool_paths);
    CHECK(got.nvidia.nvswitches == facts->nvidia.nvswitches);
    CHECK(got.nvidia.nvlink_managers == facts->nvidia.nvlink_managers);
    CHECK(got.runtime.containerd.has_value() == facts->runtime.containerd.has_value());
    REQUIRE(got.nvidia.pci_gpus.size() == facts->nvidia.pci_gpus.size());
    for (std::size_t i = 0; i < got.nvidia.pci_gpus.size(); ++i) {
      CHECK(got.nvidia.pci_gpus[i].slot == facts->nvidia.pci_gpus[i].slot);
      CHECK(got.nvidia.pci_gpus[i].device_id == facts->nvidia.pci_gpus[i].device_id);
      CHECK(got.nvidia.pci_gpus[i].subsystem == facts->nvidia.pci_gpus[i].subsystem);
      CHECK(got.nvidia.pci_gpus[i].pci_class == facts->nvidia.pci_gpus[i].pci_class);
    }
  }
}
