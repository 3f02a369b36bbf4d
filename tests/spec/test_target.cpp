#include "gpuadm/base/yaml.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <doctest/doctest.h>

using namespace spec;

namespace {

/// "user address port", or the fault.
std::string read(std::string_view target) {
  const auto endpoint = parse_target(target);
  if (!endpoint) return std::string(base::name_of(endpoint.error().fault));
  if (endpoint->local) return "local";
  return fmt::format("{} {} {}", endpoint->user, endpoint->address, endpoint->port);
}

}  // namespace

TEST_CASE("a target is [user@]host[:port], or nothing for this machine") {
  CHECK(read("") == "local");
  CHECK(read("gpu1") == " gpu1 0");
  CHECK(read("root@gpu1") == "root gpu1 0");
  CHECK(read("gpu1:2222") == " gpu1 2222");
  CHECK(read("me@corp@192.0.2.1:22") == "me@corp 192.0.2.1 22");
  CHECK(read("LAB\\me@GPU_box.lab") == "LAB\\me GPU_box.lab 0");
  CHECK(read("2001:db8::1") == " 2001:db8::1 0");
  CHECK(read("[2001:db8::1]") == " 2001:db8::1 0");
  CHECK(read("root@[fe80::1%eth0]:2222") == "root fe80::1%eth0 2222");
}

TEST_CASE("a target that cannot be one is a usage fault") {
  for (const char* target : {"@gpu1",      "root@",          "gpu1:",        "gpu1:0",
                             "gpu1:65536", "gpu1:ssh",       "[gpu1]:22",    "[2001:db8::1",
                             "[::1]22",    "2001:db8::zz",   "gpu 1",        "-oProxyCommand=reboot",
                             "-l@gpu1",    "a;reboot@gpu1",  "gpu1\n",       "[]",
                             "gpu1/24",    "ssh://gpu1",     "192.0.2.1/24", "5",
                             "1.7",        "root@580.65.06", "5:22",         "256.0.2.1",
                             "1.2.3.4.5",  "0x7f.1",         "010.0.2.1"}) {
    CAPTURE(target);
    CHECK(read(target) == "usage");
  }
  CHECK(parse_target("a b").error().hint.find("[user@]host[:port]") != std::string::npos);
}

TEST_CASE("a cluster of one target can be written and read as a file") {
  for (const char* target : {"", "root@GPU_box:2222", "[2001:db8::1]:22", "192.0.2.1"}) {
    CAPTURE(target);
    const auto cluster = single(target);
    REQUIRE(cluster);
    REQUIRE(cluster->hosts.size() == 1);
    CHECK(cluster->hosts[0].role == Role::control_plane);
    const auto again = parse(base::yaml::write(to_tree(*cluster)), "again");
    REQUIRE_MESSAGE(again, again.error().what);
    CHECK(to_tree(*again) == to_tree(*cluster));
  }
  CHECK(single("")->hosts[0].endpoint.local);
  CHECK(single("GPU_box")->hosts[0].name == "gpu-box");
}
