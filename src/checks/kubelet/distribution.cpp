#include "checks/kubelet/distribution.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <array>

namespace checks {

namespace {

constexpr std::array distributions = {
    Distribution{"k3s", "k3s.service k3s-agent.service", "k3s", "/var/lib/rancher/k3s",
                 "/usr/local/bin/k3s-uninstall.sh (on an agent: k3s-agent-uninstall.sh)"},
    Distribution{"RKE2", "rke2-server.service rke2-agent.service", "rke2", "/var/lib/rancher/rke2",
                 "/usr/local/bin/rke2-uninstall.sh"},
    Distribution{"MicroK8s", "snap.microk8s.daemon-kubelite.service", "kubelite",
                 "/var/snap/microk8s/current", "snap remove --purge microk8s"},
    Distribution{"k0s", "k0scontroller.service k0sworker.service", "k0s", "/var/lib/k0s",
                 "k0s stop && k0s reset, then reboot"},
};

}  // namespace

Running distribution_of(const facts::Facts& facts) {
  for (const Distribution& one : distributions) {
    for (const std::string_view unit : base::split(one.units, ' '))
      if (is_active(facts, std::string(unit))) return {&one, std::string(unit) + " is active"};
    if (facts.network.listeners)
      for (const facts::Listener& listener : *facts.network.listeners)
        if (listener.process == one.process || listener.process.starts_with(std::string(one.process) + "-"))
          return {&one, fmt::format("{} listens on port {}", listener.process, listener.port)};
  }
  return {};
}

}  // namespace checks
