#include "gpuadm/facts/facts.hpp"

#include "facts/probe_text.hpp"

#include <doctest/doctest.h>

using facts::parse;

TEST_CASE("a process's name may hold anything") {
  const auto facts = parse(probe_text({{"/proc/uptime", "1000.50 900.00"},
                                       {"processes",
                                        "41 (a) D (b) Z 1 41 41 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 90000 0 "
                                        "0\n42 (short) D 1\nnonsense\n43 () Z\n"}}));
  REQUIRE(facts);
  REQUIRE(facts->kernel.stuck);
  REQUIRE(facts->kernel.stuck->size() == 3);
  CHECK(facts->kernel.stuck->at(0).name == "a) D (b");
  CHECK(facts->kernel.stuck->at(0).state == 'Z');
  CHECK(facts->kernel.stuck->at(0).age == doctest::Approx(100.5));
  CHECK(!facts->kernel.stuck->at(1).age);
}

TEST_CASE("counters of several memory controllers are one sum, and none is not zero") {
  const auto facts = parse(probe_text({{"sysfs",
                                        "/sys/devices/system/edac/mc/mc0/ce_count 3\n"
                                        "/sys/devices/system/edac/mc/mc1/ce_count 4\n"
                                        "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages 16\n"
                                        "/proc/net/stat/arp_cache 000003f2 0000a12c\n"}}));
  REQUIRE(facts);
  CHECK(facts->machine.ecc_corrected == 7);
  CHECK(!facts->machine.ecc_uncorrected);
  CHECK(facts->kernel.huge_pages.at(1048576) == 16);
  CHECK(facts->network.neighbours == 1010);
  CHECK(!parse(probe_text({}))->network.neighbours);
  CHECK(!parse(probe_text({{"sysfs", "/proc/net/stat/arp_cache \n"}}))->network.neighbours);
}

TEST_CASE("an RDMA port is what its files say") {
  const auto facts =
      parse(probe_text({{"rdma",
                         "/sys/class/infiniband/mlx5_0/fw_ver 28.39.1002\n"
                         "/sys/class/infiniband/mlx5_0/ports/1/state 4: ACTIVE\n"
                         "/sys/class/infiniband/mlx5_0/ports/1/phys_state 5: LinkUp\n"
                         "/sys/class/infiniband/mlx5_0/ports/1/rate 400 Gb/sec (4X NDR)\n"
                         "/sys/class/infiniband/mlx5_0/ports/1/link_layer InfiniBand\n"
                         "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed N/A (no PMA)\n"
                         "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0 IB/RoCE v1\n"
                         "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1 IB/RoCE v1\n"
                         "/sys/class/infiniband/mlx5_0/ports/900/state 4: ACTIVE\n"}}));
  REQUIRE(facts);
  CHECK(facts->rdma.devices.at("mlx5_0") == "28.39.1002");
  REQUIRE(facts->rdma.ports.size() == 1);
  const auto& port = facts->rdma.ports.front();
  CHECK(port.state == "ACTIVE");
  CHECK(port.physical == "LinkUp");
  CHECK(port.gbps == 400);
  CHECK(port.width == "4X");
  CHECK(!port.link_downed);
  CHECK(port.gid_types.size() == 1);
}

TEST_CASE("how long etcd's writes take is read off its buckets") {
  const auto facts = parse(probe_text({{"etcd-metrics",
                                        "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.008\"} 900\n"
                                        "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.016\"} 1000\n"
                                        "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 1000\n"
                                        "etcd_disk_wal_fsync_duration_seconds_count 1000\n"
                                        "etcd_disk_backend_commit_duration_seconds_count 7\n? 0"}}));
  REQUIRE(facts);
  REQUIRE(facts->kubernetes.etcd_fsync);
  CHECK(*facts->kubernetes.etcd_fsync == doctest::Approx(0.0152));
  CHECK(!facts->kubernetes.etcd_commit);
}

TEST_CASE("the filter table, drives and links are typed") {
  const auto facts =
      parse(probe_text({{"iptables-filter", ":FORWARD DROP [0:0]\n-A FORWARD -j DOCKER-USER\n? 0"},
                        {"smart",
                         "/dev/nvme0 SMART overall-health self-assessment test result: PASSED\n"
                         "/dev/nvme0 Critical Warning:                   0x00\n"
                         "/dev/nvme0 Percentage Used:                    12%\n"
                         "/dev/sda SMART Health Status: OK\n"},
                        {"links", "eth0 address=02:00:00:00:00:01 mtu=1500 state=up physical=yes"},
                        {"link-values",
                         "/sys/class/net/eth0/speed -1\n/sys/class/net/eth0/duplex unknown\n"
                         "/sys/class/net/eth0/statistics/rx_errors 2\n"
                         "/sys/class/net/eth0/statistics/tx_errors 3\n"},
                        {"secure-boot", "   6   0   0   0   1\n? 0"}}));
  REQUIRE(facts);
  CHECK(facts->network.firewall.policies.at("FORWARD") == "DROP");
  CHECK(facts->network.firewall.rules.size() == 1);
  REQUIRE(facts->storage.drives.size() == 2);
  CHECK(facts->storage.drives[0].wear == 12);
  CHECK(facts->storage.drives[1].passed == true);
  CHECK(!facts->storage.drives[1].wear);
  REQUIRE(facts->network.links.size() == 1);
  CHECK(!facts->network.links[0].speed);
  CHECK(facts->network.links[0].errors == 5);
  CHECK(facts->security.secure_boot == true);
}

TEST_CASE("a system that is built from another has that one's packages") {
  const auto os = [](std::string_view release) {
    return parse(probe_text({{"/etc/os-release", release}}))->os;
  };
  const auto mint =
      os("ID=linuxmint\nVERSION_ID=\"22\"\nVERSION_CODENAME=wilma\nID_LIKE=\"ubuntu debian\"\n"
         "UBUNTU_CODENAME=noble");
  CHECK(mint.family == facts::Family::debian);
  CHECK(mint.parent_id + mint.parent_version_id + mint.parent_codename == "ubuntu24.04noble");
  const auto pop = os("ID=pop\nVERSION_ID=\"22.04\"\nID_LIKE=\"ubuntu debian\"\nUBUNTU_CODENAME=jammy");
  CHECK(pop.parent_id + pop.parent_version_id == "ubuntu22.04");
  const auto lmde = os("ID=linuxmint\nVERSION_ID=\"6\"\nID_LIKE=debian\nDEBIAN_CODENAME=bookworm");
  CHECK(lmde.parent_id + lmde.parent_version_id == "debian12");
  const auto ubuntu = os("ID=ubuntu\nVERSION_ID=\"24.04\"\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble");
  CHECK(ubuntu.parent_id + ubuntu.parent_version_id + ubuntu.parent_codename == "ubuntu24.04noble");
}

TEST_CASE("the family of a system is known by its name, of those that come in two kinds by its tools") {
  using enum facts::Family;
  const auto family = [](const std::string& id, std::string_view tools = "") {
    return parse(probe_text({{"/etc/os-release", "ID=" + id}, {"tools", tools}}))->os.family;
  };
  for (const char* id : {"\"openEuler\"", "\"tencentos\"", "TencentOS", "hce", "nobara", "euleros"}) {
    CAPTURE(id);
    CHECK(family(id) == redhat);
  }
  for (const char* id : {"sles", "sled", "sles_sap"}) CHECK(family(id) == suse);
  for (const char* id : {"Deepin", "pureos"}) CHECK(family(id) == debian);
  for (const char* id : {"kylin", "uos"}) {
    CHECK(family(id, "rpm /usr/bin/rpm\nyum /usr/bin/yum") == redhat);
    CHECK(family(id, "dpkg /usr/bin/dpkg\napt-get /usr/bin/apt-get") == debian);
    CHECK(family(id) == other);
  }
}
