#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/bundle/fetch.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <set>
#include <string>
#include <vector>

/// Packages of the operating system for hosts that reach no repository: the NVIDIA driver's, those of what
/// builds its modules, and of programs that kubeadm calls.
namespace app {

/// A host, with facts of facts::read_package_facts(); they are not trusted.
struct PackageHost {
  std::string name;
  facts::Facts facts;
};

/// What is asked for, and where it comes from.
struct SystemPackages {
  bundle::Fetcher& fetcher;
  const assets::Store& store;
  const playbook::Catalog& catalog;
  const spec::Cluster& cluster;           ///< gpu.driver says install, and perhaps a branch
  base::Version kubernetes;               ///< for the catalog
  std::string architecture;               ///< amd64, arm64
  bool public_source = true;              ///< else the operator has named a mirror of everything
  bool driver = false, programs = false;  ///< what is asked for
  Io& io;

  /// A file of kind `repository` for each release among the hosts of which one lacks something. Packages that
  /// a host has are among them: nobody knows here what is installed.
  [[nodiscard]] Result<std::vector<bundle::BundleFile>> collect(const std::vector<PackageHost>& hosts) const;
  [[nodiscard]] bool lacks_driver(const PackageHost& host) const;
  /// Packages of programs that kubeadm calls and the host does not have; it is one of Debian's family.
  [[nodiscard]] std::set<std::string> missing(const PackageHost& host) const;
};

}  // namespace app
