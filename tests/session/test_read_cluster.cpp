#include "gpuadm/base/files.hpp"
#include "gpuadm/session/connections.hpp"

#include <unistd.h>

#include <filesystem>

namespace {

constexpr std::string_view two_hosts = R"(apiVersion: gpuadm/v1alpha1
kind: GpuCluster
ssh: { user: ubuntu, window: 8 }
hosts:
  - { name: cp1, address: 192.0.2.1, port: 2222 }
  - { name: gpu1, address: 192.0.2.2, user: root, role: worker }
)";

/// A cluster file that is there as long as this is.
struct File {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("gpuadm-{}.yaml", getpid());
  explicit File(std::string_view text) { REQUIRE(base::write_file(path, text)); }
  ~File() { std::filesystem::remove(path); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
};

}  // namespace

TEST_CASE("the command line goes over the cluster file, for every host") {
  const File file(two_hosts);
  const auto cluster = session::read_cluster({.file = file.path, .targets = {}},
                                             {.user = "me", .port = 22, .client = "openssh", .window = 3});
  REQUIRE(cluster);
  for (const spec::Host& host : cluster->hosts) {
    CHECK(host.endpoint.user == "me");
    CHECK(host.endpoint.port == 22);
  }
  CHECK(cluster->ssh.client == spec::SshClient::openssh);
  CHECK(cluster->ssh.window == 3);
}

TEST_CASE("what the command line does not say stays as the cluster file has it") {
  const File file(two_hosts);
  const auto cluster = session::read_cluster({.file = file.path, .targets = {}}, {});
  REQUIRE(cluster);
  CHECK(cluster->hosts.at(0).endpoint.user == "ubuntu");
  CHECK(cluster->hosts.at(0).endpoint.port == 2222);
  CHECK(cluster->hosts.at(1).endpoint.user == "root");
  CHECK(cluster->ssh.window == 8);
}

TEST_CASE("with a file, targets are names and leave the file's order") {
  const File file(two_hosts);
  const auto both = session::read_cluster({.file = file.path, .targets = {"gpu1", "cp1"}}, {});
  REQUIRE(both);
  CHECK(both->hosts.at(0).name == "cp1");
  const auto one = session::read_cluster({.file = file.path, .targets = {"gpu1"}}, {});
  REQUIRE(one);
  CHECK(one->hosts.size() == 1);
  const auto none = session::read_cluster({.file = file.path, .targets = {"gpu2"}}, {});
  REQUIRE_FALSE(none);
  CHECK(none.error().fault == base::Fault::usage);
  CHECK(none.error().hint.find("gpu1") != std::string::npos);
}

TEST_CASE("without a file each target is a host, and named once") {
  const auto three = session::read_cluster(
      {.file = {}, .targets = {"a.example", "root@b.example:2222", "[2001:db8::1]:22"}}, {});
  REQUIRE(three);
  CHECK(three->hosts.size() == 3);
  CHECK(three->hosts.at(1).endpoint.port == 2222);
  const auto twice = session::read_cluster({.file = {}, .targets = {"a.example", "a.example"}}, {});
  REQUIRE_FALSE(twice);
  CHECK(twice.error().fault == base::Fault::usage);
}

TEST_CASE("without anything it is this machine, which no login goes over") {
  const auto here = session::read_cluster({}, {.user = "me"});
  REQUIRE(here);
  REQUIRE(here->hosts.size() == 1);
  CHECK(here->hosts.front().endpoint.local);
  CHECK(here->hosts.front().endpoint.user.empty());
}
