#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/gpu_sample.hpp"

#include <algorithm>

/// Which pod a process belongs to, and what slows a GPU down.
namespace facts {

namespace {

constexpr std::string_view hex = "0123456789abcdef";
constexpr std::size_t id_length = 64, most_pods = 20000;

/// "0f1e…": the container's id, which a runtime puts at the end of a component: "cri-containerd-ID.scope",
/// "docker-ID.scope", "ID", "PARENT:cri-containerd:ID".
std::string container_in(std::string_view component) {
  if (component.ends_with(".scope")) component.remove_suffix(6);
  if (component.size() < id_length) return {};
  const std::string_view id = component.substr(component.size() - id_length);
  if (id.find_first_not_of(hex) != std::string_view::npos) return {};
  const bool whole = component.size() == id_length;
  const char before = whole ? '-' : component[component.size() - id_length - 1];
  return before == '-' || before == ':' ? std::string(id) : std::string();
}

/// The UID after "pod" at the end of the component's first part: "podUID", "kubepods-burstable-podUID.slice".
/// systemd's names have underscores instead of hyphens. A static pod has a hash without either.
std::string pod_in(std::string_view component) {
  component = component.substr(0, component.find(':'));
  if (component.ends_with(".slice")) component.remove_suffix(6);
  const std::size_t at = component.rfind("pod");
  if (at == std::string_view::npos || (at != 0 && component[at - 1] != '-')) return {};
  std::string uid(component.substr(at + 3));
  std::ranges::replace(uid, '_', '-');
  const bool fits = (uid.size() == 36 || uid.size() == 32) &&
                    uid.find_first_not_of("0123456789abcdef-") == std::string::npos;
  return fits ? uid : std::string();
}

constexpr std::pair<std::uint64_t, const char*> reasons[] = {
    {0x02, "applications_clocks_setting"}, {0x04, "sw_power_cap"},        {0x10, "sync_boost"},
    {0x20, "sw_thermal_slowdown"},         {0x40, "hw_thermal_slowdown"}, {0x80, "hw_power_brake_slowdown"},
    {0x100, "display_clock_setting"},
};
constexpr std::uint64_t hw_slowdown = 0x08, hw_causes = 0x40 | 0x80;

}  // namespace

bool is_group_of_user(std::string_view line) {
  constexpr std::string_view users = "/user.slice/";
  const std::size_t at = line.find(users);
  if (at == std::string_view::npos || line.find("kubepods") < at) return false;
  return !line.substr(at + users.size()).starts_with("user-0.slice");
}

CgroupOwner cgroup_owner(std::string_view line) {
  CgroupOwner owner;
  if (is_group_of_user(line)) return owner;
  for (const std::string_view component : base::split(line, '/')) {
    if (owner.pod_uid.empty()) owner.pod_uid = pod_in(component);
    if (owner.container.empty()) owner.container = container_in(component);
  }
  return owner;
}

std::vector<std::string> throttle_reasons(std::uint64_t mask) {
  std::vector<std::string> found;
  for (const auto& [bit, name] : reasons)
    if ((mask & bit) != 0) found.emplace_back(name);
  if ((mask & hw_slowdown) != 0 && (mask & hw_causes) == 0) found.emplace_back("hw_slowdown");
  return found;
}

PodNames parse_pod_names(std::string_view output) {
  PodNames names;
  for (const std::string_view line : base::lines(output)) {
    if (line.starts_with("? ")) names.status = static_cast<int>(base::to_int(line.substr(2)).value_or(-1));
    if (!line.starts_with("| ") || names.pods.size() >= most_pods) continue;
    const auto cells = base::split(line.substr(2), '\t');
    if (cells.size() < 3 || cells[1].empty() || cells[2].empty() || line.size() > 1000) continue;
    const auto cell = [&](std::size_t at) {
      return at < cells.size() ? std::string(base::trim(cells[at])) : std::string();
    };
    names.pods.insert_or_assign(cell(0), PodName{cell(1), cell(2), cell(3), cell(4)});
  }
  return names;
}

}  // namespace facts
