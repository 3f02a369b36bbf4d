#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/bundle/fetch.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "commands/command.hpp"

#include <set>
#include <string>
#include <vector>

/// Packages of the operating system for hosts without a reachable repository: for the NVIDIA driver, the
/// build dependencies of its modules, and programs that kubeadm calls.
namespace commands {

/// A host, with facts from facts::read_package_facts(); untrusted.
struct PackageHost {
  std::string name;
  facts::Facts facts;
};

/// The requested packages and their source.
struct SystemPackages {
  bundle::Fetcher& fetcher;
  const assets::Store& store;
  const playbook::Catalog& catalog;
  const spec::Cluster& cluster;           ///< gpu.driver is install, with an optional branch
  base::Version kubernetes;               ///< for the catalog
  std::string architecture;               ///< amd64, arm64
  bool public_source = true;              ///< otherwise, a complete mirror
  bool driver = false, programs = false;  ///< the requested packages
  Io& io;

  /// A file of kind `repository` for each release among the hosts of which one lacks something. Includes
  /// packages that a host already has, because the installed ones are unknown.
  [[nodiscard]] Result<std::vector<bundle::BundleFile>> collect(const std::vector<PackageHost>& hosts) const;
  [[nodiscard]] bool lacks_driver(const PackageHost& host) const;
  /// Packages of programs that kubeadm calls or that mount storage, and the host lacks; for Debian's family
  /// only.
  [[nodiscard]] std::set<std::string> missing(const PackageHost& host) const;
};

}  // namespace commands
