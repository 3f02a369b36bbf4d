#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/playbook/playbook.hpp"

#include <doctest/doctest.h>

/// A workstation with one GPU, Debian 12, containerd 1.6: what a Context needs, owned in one place.
struct Sample {
  assets::Store store = *assets::Store::open({});
  playbook::Library library = *playbook::Library::load(store, "init");
  spec::Cluster cluster = *spec::single("");
  spec::Decisions decisions;
  facts::Facts facts;
  base::Version kubernetes{1, 20, 2};
  std::optional<bundle::Bundle> bundle;

  Sample() {
    facts.machine.hostname = "Box";
    facts.network.default_address = "192.0.2.11";
    facts.os.family = facts::Family::debian;
    facts.os.architecture = "x86_64";
    facts.os.init = "systemd";
    facts.runtime.containerd = facts::Containerd{};
    facts.runtime.containerd->version = "1.6.20";
    facts.runtime.docker = facts::Docker{};
    facts.runtime.docker->version = "20.10.24";
    facts.nvidia.pci_gpus = {{"0000:00:06.0", "2335", "10de:18bf", "0302", "nvidia"}};
  }
  [[nodiscard]] playbook::Context context() const {
    return {cluster,   decisions,         cluster.hosts.front(),
            facts,     library.catalog(), bundle ? &*bundle : nullptr,
            kubernetes};
  }
};
