#include "checks/case_files.hpp"
#include "checks/family_commands.hpp"
#include "checks/repository_data.hpp"

#include <algorithm>
#include <set>

// A remedy that names a command or a package of another distribution cannot be pasted.

namespace {

using namespace case_files;

constexpr std::array systems = {
    "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\nVERSION_CODENAME=noble\nPRETTY_NAME=\"Ubuntu 24.04 "
    "LTS\"",
    "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nPRETTY_NAME=\"Debian GNU/Linux 12\"",
    "ID=rocky\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.5\"\nPRETTY_NAME=\"Rocky Linux 9.5\"",
    "ID=opensuse-leap\nID_LIKE=\"suse opensuse\"\nVERSION_ID=\"15.6\"\nPRETTY_NAME=\"openSUSE Leap 15.6\"",
    "ID=arch\nPRETTY_NAME=\"Arch Linux\"",
    "ID=unheard\nVERSION_ID=\"1\"\nPRETTY_NAME=\"Unheard Linux\"",
};

/// About files of apt, which only systems with apt have.
const std::set<std::string> of_apt = {"host.pkg.apt-lock", "host.pkg.apt-signed-by-conflict",
                                      "kubeadm.repo-legacy"};

std::string with_system(const std::string& probe, const std::string& system) {
  Tree sections = Tree::map(), edits = Tree::map();
  sections.set("/etc/os-release", Tree(system));
  edits.set("probe", sections);
  return edit(probe, edits);
}

TEST_CASE("no remedy has a command or a package that the host's distribution does not have") {
  const auto data = repository_data();
  std::set<std::string> wrong, seen;
  std::size_t cases = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "checks")) {
    if (entry.path().extension() != ".yaml" || ++cases % sample_step(24) != 0) continue;
    const auto test = base::yaml::read(base::read_file(entry.path()).value(), entry.path().string());
    REQUIRE(test.has_value());
    if (is_of_cluster(*test)) continue;
    for (const char* system : systems) {
      auto probes = probes_of(*test);
      for (auto& [name, probe] : probes) probe = with_system(probe, system);
      const facts::Os os = facts::parse(probes.begin()->second)->os;
      for (const Finding& finding : judge(*test, probes, *data, "")) {
        if (finding.verdict != report::Verdict::fail || of_apt.contains(finding.id)) continue;
        seen.insert(finding.id);
        if (finding.remedy.contains('@'))
          wrong.insert(finding.id.text() + ": a word without a command: " + finding.remedy.text());
        for (const std::string_view command : checks::commands_not_of(os))
          if (finding.remedy.contains(command))
            wrong.insert(fmt::format("{} on {}: {} in: {}", finding.id, os.id, command, finding.remedy));
      }
    }
  }
  for (const std::string& one : wrong) MESSAGE(one);
  CHECK(wrong.empty());
  CHECK(seen.size() > (with_sanitizers ? 5 : 150));
}

}  // namespace
