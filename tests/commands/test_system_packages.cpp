#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/from_tree.hpp"

#include "bundle/folder.hpp"
#include "commands/bundles/system_packages.hpp"

#include <doctest/doctest.h>

namespace {

constexpr const char* with_gpu = R"({
  "os": {"id": "debian", "versionId": "12", "codename": "bookworm", "family": "debian", "kernel": "6.1.0-56-amd64"},
  "software": {"tools": {"ip": "/usr/sbin/ip", "tc": "/usr/sbin/tc", "iptables": "/usr/sbin/iptables", "mount": "/bin/mount",
                         "nsenter": "/usr/bin/nsenter", "socat": "/usr/bin/socat", "ethtool": "/usr/sbin/ethtool"}},
  "nvidia": {"pci": [{"slot": "0000:00:06.0", "deviceId": "2335", "class": "0302"}], "nvswitches": ["0000:00:07.0"]}})";

commands::PackageHost host_of(const std::string& json) {
  return {"node", facts::read_package_facts(base::json::read(json, "facts").value())};
}

}  // namespace

TEST_CASE("what a host lacks of the operating system follows from its facts") {
  const Place place;
  auto fetcher =
      bundle::Fetcher::open({.place = place.path.string(), .registries = {}, .logins = {}, .proxy = {}},
                            place.path / "blobs", [](const std::string&, std::uint64_t) {});
  REQUIRE(fetcher);
  const assets::Store store = assets::Store::open({}).value();
  const playbook::Library library = playbook::Library::load(store, "init").value();
  spec::Cluster cluster;
  session::Io io;
  commands::SystemPackages packages{
      *fetcher, store, library.catalog(), cluster, {1, 36, 4}, "amd64", false, true, true, io};
  const commands::PackageHost host = host_of(with_gpu);
  CHECK(host.facts.kernel.release == "6.1.0-56-amd64");
  CHECK(host.facts.nvidia.nvswitches.size() == 1);
  CHECK(host.facts.nvidia.nvlink_managers.empty());
  CHECK(packages.lacks_driver(host));
  const auto missing = packages.missing(host);
  CHECK(base::join(std::vector(missing.begin(), missing.end()), " ") == "conntrack ebtables");
  cluster.storage.resize(2);
  cluster.storage[0].kind = spec::StorageKind::nfs;
  cluster.storage[1].kind = spec::StorageKind::cephfs;
  const auto clients = packages.missing(host);
  CHECK(base::join(std::vector(clients.begin(), clients.end()), " ") ==
        "ceph-common ceph-fuse conntrack ebtables nfs-common");
  cluster.storage.clear();

  CHECK(packages
            .missing(host_of(base::replace_all(with_gpu, "\"debian\", \"kernel\"", "\"redhat\", \"kernel\"")))
            .empty());
  CHECK(packages.missing(host_of(R"({"os": {"family": "debian"}})")).empty());  // of which nothing is known
  packages.programs = packages.driver = false;
  CHECK(packages.missing(host).empty());
  CHECK_FALSE(packages.lacks_driver(host));
  const auto nothing = packages.collect({host});
  REQUIRE(nothing);
  CHECK(nothing->empty());
  packages.driver = true;
  commands::PackageHost odd = host;
  odd.facts.kernel.release = "6.1 $(reboot)";
  CHECK(packages.collect({odd}).error().what == "node: its facts have no kernel");
}
