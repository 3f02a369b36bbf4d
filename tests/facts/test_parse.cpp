#include "gpuadm/base/json.hpp"
#include "gpuadm/facts/facts.hpp"

#include "facts/probe_text.hpp"

#include <doctest/doctest.h>

using facts::parse;

TEST_CASE("text that is not probe output is rejected and shown") {
  const auto facts = parse("sh: 1: Syntax error: \033[31mword unexpected\n");
  REQUIRE(!facts);
  CHECK(facts.error().fault == base::Fault::parse);
  CHECK(facts.error().what.find("\\x1b[31mword unexpected") != std::string::npos);
  CHECK(!parse(""));
}

TEST_CASE("output without its end mark is refused") {
  const auto facts = parse("gpuadm-probe 1\n=== machine\n| x86_64\n");
  REQUIRE(!facts);
  CHECK(facts.error().what.find("truncated") != std::string::npos);
}

TEST_CASE("what the login prints before the probe is kept as noise") {
  const auto facts = parse("Welcome!\n" + probe_text({{"machine", "aarch64"}}));
  REQUIRE(facts);
  CHECK(facts->noise == "Welcome!");
  CHECK(facts->os.architecture == "aarch64");
  CHECK(parse(probe_text({}))->noise.empty());
}

TEST_CASE("an empty probe gives empty facts, not defaults that look read") {
  const auto facts = parse(probe_text({}));
  REQUIRE(facts);
  CHECK(!facts->kernel.swap);
  CHECK(!facts->network.listeners);
  CHECK(!facts->machine.memory_kib);
  CHECK(!facts->nvidia.driver);
  CHECK(!facts->runtime.containerd);
  CHECK(!facts->nvidia.smi_status);
}

TEST_CASE("of two sections with one name the first counts") {
  const auto facts = parse(probe_text({{"machine", "x86_64"}, {"machine", "sparc"}}));
  CHECK(facts->os.architecture == "x86_64");
}

TEST_CASE("the clock offset cancels the way there and back") {
  auto facts = parse(probe_text({{"clock", "1000.25"}, {"clock-end", "1000.50"}}));
  REQUIRE(facts);
  using std::chrono::milliseconds;
  // The host is 2 s ahead; 40 ms there, 40 ms back.
  facts::place_clock(facts->clock, base::Time(milliseconds(998'210)), base::Time(milliseconds(998'540)));
  REQUIRE(facts->clock.offset);
  CHECK(*facts->clock.offset == doctest::Approx(2.0));
}

TEST_CASE("a clock without fractions is whole seconds") {
  CHECK(*parse(probe_text({{"clock", "1000.%N"}}))->clock.probe_begin == doctest::Approx(1000));
  CHECK(*parse(probe_text({{"clock", "1000."}}))->clock.probe_begin == doctest::Approx(1000));
  CHECK(!parse(probe_text({{"clock", "never"}}))->clock.probe_begin);
}

TEST_CASE("cpus are those the probe may run on") {
  const auto facts =
      parse(probe_text({{"/proc/self/status", "Uid:\t0\t1000\t0\t0\nCpus_allowed_list:\t0-3,8"}}));
  CHECK(facts->machine.cpus == 5);
  CHECK(facts->euid == "1000");
}

TEST_CASE("swap areas are read, and none is not the same as unread") {
  CHECK(parse(probe_text({{"/proc/swaps", "Filename Type Size Used Priority"}}))->kernel.swap->empty());
  const auto facts = parse(probe_text(
      {{"/proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 8388604 0 100"},
       {"/etc/fstab", "# /dev/sdb none swap sw 0 0\nUUID=1 none swap sw 0 0\n/swap\tnone\tswap\tsw 0 0"}}));
  REQUIRE(facts->kernel.swap->size() == 1);
  CHECK(facts->kernel.swap->front().kib == 8388604);
  CHECK(facts->kernel.swap_fstab.size() == 2);
}

TEST_CASE("cgroup versions and their controllers") {
  const std::string_view v1 =
      "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t2\t9\t1\nhugetlb\t0\t1\t1\nmemory\t4\t9\t0";
  CHECK(parse(probe_text({{"/proc/cgroups", v1}}))->kernel.cgroup == facts::CgroupVersion::v1);
  CHECK(parse(probe_text({{"/proc/cgroups", v1}}))->kernel.controllers == std::vector<std::string>{"cpu"});
  const auto hybrid =
      parse(probe_text({{"/proc/cgroups", v1}, {"paths", "directory /sys/fs/cgroup/unified"}}));
  CHECK(hybrid->kernel.cgroup == facts::CgroupVersion::hybrid);
  const auto v2 = parse(probe_text({{"paths", "file /sys/fs/cgroup/cgroup.controllers"},
                                    {"/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids"}}));
  CHECK(v2->kernel.cgroup == facts::CgroupVersion::v2);
  CHECK(v2->kernel.controllers.size() == 5);
}

TEST_CASE("listeners come from ss, or from the kernel's tables without a process") {
  const auto ss = parse(
      probe_text({{"listeners",
                   "State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n"
                   "LISTEN 0 4096 127.0.0.53%lo:53 0.0.0.0:* users:((\"systemd-resolve\",pid=1,fd=14))\n"
                   "LISTEN 0 128 [::]:22 [::]:*\n? 0"}}));
  REQUIRE(ss->network.listeners->size() == 2);
  CHECK(ss->network.listeners->at(0).process == "systemd-resolve");
  CHECK(ss->network.listeners->at(1).port == 22);
  const auto table = parse(probe_text(
      {{"/proc/net/tcp", "   0: 0100007F:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0"}}));
  REQUIRE(table->network.listeners->size() == 1);
  CHECK(table->network.listeners->front().port == 6443);
  CHECK(table->network.listeners->front().address == "127.0.0.1");
}

TEST_CASE("the default address is the source of the best default route") {
  const std::string_view addresses =
      "2: docker0    inet 172.17.0.1/16 scope global docker0\n3: eth0    inet 192.0.2.7/24 scope global "
      "eth0\n"
      "3: eth0    inet 192.0.2.8/24 scope global secondary eth0\n4: eth1    inet 198.51.100.3/24 scope "
      "global eth1";
  const auto with = [&](std::string_view routes) {
    return parse(probe_text({{"addresses", addresses}, {"routes", routes}}))->network.default_address;
  };
  CHECK(with("default via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.8 metric 100") == "192.0.2.8");
  CHECK(with("default via 192.0.2.1 dev eth0 metric 200\ndefault via 198.51.100.1 dev eth1 metric 100") ==
        "198.51.100.3");
  CHECK(with("192.0.2.0/24 dev eth0 scope link") == "172.17.0.1");
}

TEST_CASE("units carry their state and only proxy variables") {
  const auto facts = parse(probe_text(
      {{"units",
        "LoadState=loaded\nId=docker.service\nActiveState=active\nSubState=running\nUnitFileState=enabled\n"
        "Environment=HTTP_PROXY=http://***@proxy:3128 \"NO_PROXY=10.0.0.0/8, .svc\" TOKEN=abc\n\n"
        "Id=kubelet.service\nLoadState=not-found\n? 0"}}));
  const auto& docker = facts->software.units.at("docker.service");
  CHECK(docker.active == "active");
  CHECK(docker.environment.size() == 2);
  CHECK(docker.environment.at("NO_PROXY") == "10.0.0.0/8, .svc");
  CHECK(facts->software.units.at("kubelet.service").load == "not-found");
}
