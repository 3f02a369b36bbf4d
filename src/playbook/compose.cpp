#include "playbook/gpu_nodes.hpp"
#include "playbook/kubeadm.hpp"
#include "playbook/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace playbook {

namespace {

struct Composer {
  const char* name;
  Result<std::vector<Composed>> (*compose)(const Context&);
};

constexpr Composer table[] = {
    {"containerd-config", compose_containerd_config}, {"crio-config", compose_crio_config},
    {"device-plugin", compose_device_plugin},         {"docker-daemon", compose_docker_daemon},
    {"kubeadm-config", compose_kubeadm_config},
};

}  // namespace

Result<std::vector<Composed>> compose(std::string_view name, const Context& context) {
  const auto* row = std::ranges::find_if(table, [&](const Composer& c) { return name == c.name; });
  if (row == std::end(table))
    return base::fail(base::Fault::bug, fmt::format("no composer is called '{}'", name));
  return row->compose(context);
}

std::vector<std::string> composers() {
  std::vector<std::string> names;
  for (const Composer& composer : table) names.emplace_back(composer.name);
  return names;
}

}  // namespace playbook
