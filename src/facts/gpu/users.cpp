#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/gpu_sample.hpp"
#include "gpuadm/facts/gpu_users.hpp"

#include "facts/text/words.hpp"

namespace facts {

namespace {

constexpr std::string_view users_greeting = "gpuadm-gpu-users 1";
constexpr std::size_t most_users = 4096, longest_name = 15, longest_unit = 100;

bool is_uid(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         text.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

/// The unit of "0::/system.slice/UNIT.service", by the end of the whole path.
std::string service_in(std::string_view group) {
  constexpr std::string_view services = "/system.slice/";
  const std::size_t slash = group.rfind('/');
  if (slash == std::string_view::npos || group.contains("kubepods") || is_group_of_user(group)) return {};
  const bool is_service = group.substr(0, slash + 1).ends_with(services) && group.ends_with(".service");
  return is_service ? base::printable(group.substr(slash + 1), longest_unit) : std::string();
}

}  // namespace

base::Result<GpuUsers> parse_gpu_users(std::string_view output) {
  GpuUsers users{std::vector<std::string>(), {}, true};
  std::string_view part;
  bool ended = false;
  for (const std::string_view line : base::lines(output)) {
    if (line.starts_with("=== ")) {
      part = base::trim(line.substr(4));
      ended = part == "end";
      continue;
    }
    if (part == "pods" && line == "unknown") users.pods.reset();
    if (part == "pods" && users.pods && is_uid(base::trim(line)) && users.pods->size() < most_users)
      users.pods->emplace_back(base::trim(line));
    if (part != "programs") continue;
    if (line == "unknown" || users.programs.size() >= most_users) {
      users.all_programs = false;
      continue;
    }
    const auto cells = base::split(line, '\t');
    const auto pid = cells.size() == 3 ? count(cells[0]) : std::nullopt;
    if (!pid) {
      users.all_programs = false;
      continue;
    }
    CgroupOwner owner = cgroup_owner(cells[2]);
    users.programs.push_back({*pid, base::printable(cells[1], longest_name), std::move(owner.pod_uid),
                              std::move(owner.container), service_in(cells[2])});
  }
  if (!output.starts_with(users_greeting) || !ended)
    return base::fail(base::Fault::parse, "the host did not print who uses its GPU: " +
                                              base::printable(output.substr(0, output.find('\n')), 200));
  return users;
}

}  // namespace facts
