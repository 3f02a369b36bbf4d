#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/assets/fetch.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <string>
#include <vector>

/// The packages of the NVIDIA driver and of what builds its modules, for hosts that reach no repository.
namespace app {

/// A host with GPUs, as facts in JSON have it; they are not trusted.
struct DriverHost {
  std::string name, kernel;
  facts::Os os;
  std::vector<facts::PciGpu> gpus;
  bool nvswitch = false, nvlink5 = false;
};
/// Nothing where it has no GPU.
[[nodiscard]] std::optional<DriverHost> driver_host(const base::Tree& facts, const std::string& name);

/// What is fetched for one release of an operating system.
struct DriverRepositories {
  assets::Fetcher& fetcher;
  const assets::Store& store;
  const playbook::Catalog& catalog;
  const spec::Cluster& cluster;  ///< gpu.driver says install, and perhaps a branch
  base::Version kubernetes;      ///< for the catalog
  std::string architecture;      ///< amd64, arm64
  bool public_source = true;     ///< else the operator has named a mirror of everything
  Io& io;

  /// A file of kind `repository` for each release among the hosts: every package that any of them lacks for
  /// its driver. Packages that a host has are among them: nobody knows here what is installed.
  [[nodiscard]] Result<std::vector<assets::BundleFile>> collect(const std::vector<DriverHost>& hosts) const;
};

}  // namespace app
