#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/spec/selected.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace spec;

namespace {

Cluster every_key() {
  const auto text = base::read_file(GPUADM_TESTS_DIR "/cases/spec/every-key/cluster.yaml");
  REQUIRE(text);
  auto cluster = parse(*text, "cluster.yaml");
  REQUIRE_MESSAGE(cluster, cluster.error().what);
  return std::move(*cluster);
}

}  // namespace

TEST_CASE("every key of a cluster file lands in its field") {
  const Cluster c = every_key();
  CHECK(c.name == "lab");
  CHECK(c.kubernetes.version == base::Version{1, 30, -1});
  CHECK(c.kubernetes.source == Source::bundle);
  CHECK(c.kubernetes.node_name == "node.lab");
  CHECK(c.kubernetes.image_repository == "registry.lab:5000/k8s");
  CHECK(c.network.plugin == NetworkPlugin::none);
  CHECK(c.network.pod_cidr == "fd00:10::/56");
  CHECK(c.network.service_cidr == "fd00:20::/112");
  CHECK(c.network.dns_domain == "lab.internal");
  CHECK(c.control_plane.endpoint == "[2001:db8::9]:6443");
  CHECK(c.control_plane.advertise_address == "2001:db8::1");
  CHECK(c.control_plane.schedulable == Schedulable::no);
  CHECK(c.swap == Swap::limited);
  CHECK(c.security.profile == SecurityProfile::hardened);
  CHECK(c.runtime.engine == Engine::docker);
  CHECK(c.runtime.ownership == Ownership::install);
  CHECK(c.gpu.driver == DriverPolicy::install);
  CHECK(c.gpu.driver_branch == 580);
  CHECK(c.gpu.allocator == Allocator::none);
  CHECK(c.gpu.defaults.sharing == Sharing::mps);
  CHECK(c.gpu.defaults.replicas == 3);
  CHECK(c.gpu.stack == GpuStack::native);
  CHECK(c.gpu.strategy == DeviceStrategy::cdi);
  CHECK(c.gpu.mig.devices.empty());
  REQUIRE(c.gpu.models.size() == 2);
  CHECK(c.gpu.models.at("NVIDIA A100-SXM4-40GB").mig->strategy == MigStrategy::mixed);
  CHECK(c.gpu.models.at("NVIDIA L4").sharing->replicas == 8);
  CHECK(c.ssh.user == "ubuntu");
  CHECK(c.ssh.port == 2222);
  CHECK(c.ssh.identity_file == "~/.ssh/lab key");
  CHECK(c.ssh.sudo == SudoPolicy::password);
  CHECK(c.ssh.client == SshClient::openssh);
  CHECK(c.ssh.host_keys == HostKeys::pinned);
  CHECK(c.ssh.window == 8);
  CHECK(c.ssh.connect_timeout == 5);
  CHECK(c.ssh.command_timeout == 900);
  CHECK(c.region == "cn");
  CHECK(c.mirrors.registries.at("docker.io") == "http://10.0.0.1:5000");
  CHECK(c.mirrors.packages.at("kubernetes") == "https://mirror.lab/kubernetes");
  CHECK(c.mirrors.package_keys.at("kubernetes") == "DE15B14486CD377B9E876E1A234654DA9A296436");
  CHECK(c.proxy.http == "http://proxy.lab:3128");
  CHECK(c.proxy.https == "http://proxy.lab:3129");
  CHECK(c.proxy.no_proxy == std::vector<std::string>{".lab", "10.0.0.0/8"});
  CHECK(c.proxy.login_file == "~/.config/proxy login");
  CHECK(c.proxy.login.empty());
  CHECK(c.feature_gates == std::map<std::string, bool>{{"NodeSwap", true}, {"GracefulNodeShutdown", false}});
  CHECK(c.kubelet_extra_args == std::vector<std::string>{"--max-pods=200", "--v=2"});
  CHECK(c.patches.kubelet.at({"evictionHard", "memory.available"})->text() == "100Mi");
  CHECK(c.patches.kube_proxy.at({"conntrack", "min"})->as_int() == 0);
  CHECK(c.patches.cluster_configuration.at({"apiServer", "certSANs"})->items()[1].is_string());
  CHECK(c.patches.runtime.at({"plugins", "cri", "restrict_oom_score_adj"})->as_bool() == true);

  REQUIRE(c.hosts.size() == 3);
  const Host& cp1 = c.hosts[0];
  CHECK(cp1.name == "cp1");
  CHECK(cp1.role == Role::control_plane);
  CHECK(cp1.endpoint.address == "fe80::1%eth0");
  CHECK(cp1.endpoint.port == 22);
  CHECK(cp1.endpoint.user == "root");
  CHECK(cp1.endpoint.identity_file == "/keys/cp1");
  CHECK(cp1.endpoint.host_key == "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU");
  CHECK(cp1.labels ==
        std::map<std::string, std::string>{{"lab.example/pool", "a"}, {"spare", "true"}, {"slot", "7"}});
  REQUIRE(cp1.gpu.sharing);
  CHECK(cp1.gpu.sharing->sharing == Sharing::exclusive);
  CHECK(!cp1.gpu.mig);
  CHECK(cp1.mark.line == 115);

  const Host& gpu1 = c.hosts[1];
  CHECK(gpu1.role == Role::worker);
  CHECK(gpu1.endpoint.user == "ubuntu");
  CHECK(gpu1.endpoint.port == 2222);
  REQUIRE(gpu1.gpu.sharing);
  CHECK(gpu1.gpu.sharing->sharing == Sharing::time_slicing);
  CHECK(gpu1.gpu.sharing->replicas == 4);
  CHECK(gpu1.gpu.mig->devices == std::map<std::string, int>{{"1g.10gb", 7}});

  CHECK(c.hosts[2].endpoint.local);
  CHECK(c.hosts[2].endpoint.user.empty());
  CHECK(!c.hosts[2].gpu.sharing);
}

TEST_CASE("the every-key case has every key") {
  const auto text = base::read_file(GPUADM_TESTS_DIR "/cases/spec/every-key/cluster.yaml");
  REQUIRE(text);
  for (const Key& key : keys()) {
    CAPTURE(key.path);
    CHECK(text->find(key.path.substr(key.path.rfind('.') + 1) + ":") != std::string::npos);
  }
}

TEST_CASE("keys are unique, and each says what it is and what holds without it") {
  std::set<std::string> paths;
  for (const Key& key : keys()) {
    CAPTURE(key.path);
    CHECK(paths.insert(key.path).second);
    CHECK_FALSE(key.type.empty());
    CHECK(key.message.ends_with("."));
  }
  const auto fallback = [](std::string_view path) {
    return std::ranges::find(keys(), path, &Key::path)->fallback;
  };
  CHECK(fallback("network.podCIDR") == "10.244.0.0/16");
  CHECK(fallback("swap") == "keep");
  CHECK(fallback("ssh.window") == "64");
  CHECK(fallback("gpu.sharing") == "exclusive");
  CHECK(fallback("ssh.user") == "from OpenSSH's configuration");
}

TEST_CASE("a file of selected hosts may lack control planes and the hosts of storages") {
  const std::string head =
      "apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\n"
      "storage: [{ name: data, kind: local, host: cp9, path: /data }]\nhosts:\n";
  const std::string worker = "  - { name: gpu1, role: worker }\n";
  const std::string even = "  - { name: cp1, role: controlPlane }\n  - { name: cp2, role: controlPlane }\n";
  for (const std::string& hosts : {worker, even}) {
    CAPTURE(hosts);
    CHECK_FALSE(parse(head + hosts, "x"));
    const auto selected = parse_selected(head + hosts, "x");
    REQUIRE(selected);
    CHECK(selected->storage.front().host == "cp9");
  }
  CHECK_FALSE(parse_selected(head + worker + worker, "x"));
}

TEST_CASE("a cluster file that is binary, deep or endless is refused") {
  CHECK_FALSE(parse(std::string("\0\xff\xfe{{{", 6), "x"));
  CHECK_FALSE(parse(std::string(100000, '['), "x"));
  CHECK_FALSE(parse(std::string(100000, '{'), "x"));
}
