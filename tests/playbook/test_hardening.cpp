#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include "playbook/hardening.hpp"
#include "playbook/kubeadm.hpp"
#include "sample.hpp"

#include <doctest/doctest.h>

namespace {

using base::Tree;

/// The documents of kubeadm's configuration, by kind.
std::map<std::string, Tree> documents(const playbook::Context& context) {
  std::map<std::string, Tree> by_kind;
  const auto composed = playbook::compose("kubeadm-config", context);
  REQUIRE(composed);
  std::string all = composed->front().content;
  for (std::size_t from = 0; from != std::string::npos;) {
    const auto end = all.find("\n---\n", from);
    const auto tree =
        base::yaml::read(all.substr(from, end == all.npos ? end : end - from + 1), "kubeadm.yaml");
    REQUIRE(tree);
    by_kind[tree->find("kind")->text()] = *tree;
    from = end == all.npos ? end : end + 5;
  }
  return by_kind;
}

std::string argument(const Tree& cluster, const char* component, const std::string& name) {
  const Tree* args = cluster.at({component, "extraArgs"});
  if (!args) return "no arguments";
  for (const Tree& item : args->items())
    if (item.find("name")->text() == name) return item.find("value")->text();
  const Tree* value = args->find(name);
  return value ? value->text() : "none";
}

Tree composed(const playbook::Context& context, const char* name) {
  const auto made = playbook::compose(name, context);
  REQUIRE(made);
  return base::yaml::read(made->front().content, name).value();
}

}  // namespace

TEST_CASE("hardened: kubeadm's configuration has the profile's settings, and patches still apply") {
  Sample sample;
  sample.cluster.feature_gates = {{"Some", true}};
  auto made = documents(sample.context());
  CHECK(argument(made["ClusterConfiguration"], "apiServer", "profiling") == "none");
  CHECK_FALSE(made["KubeletConfiguration"].find("serverTLSBootstrap"));

  sample.cluster.security.profile = spec::SecurityProfile::hardened;
  sample.cluster.patches.cluster_configuration =
      base::yaml::read("apiServer: {extraArgs: {audit-log-maxage: \"60\"}}", "patch").value();
  sample.cluster.patches.kubelet = base::yaml::read("podPidsLimit: 99", "patch").value();
  for (const char* version : {"1.20.2", "1.36.2"}) {
    CAPTURE(version);
    sample.kubernetes = base::Version::parse(version).value();
    made = documents(sample.context());
    const Tree& cluster = made["ClusterConfiguration"];
    CHECK(argument(cluster, "apiServer", "profiling") == "false");
    CHECK(argument(cluster, "apiServer", "feature-gates") == "Some=true");
    CHECK(argument(cluster, "apiServer", "audit-log-maxage") == "60");
    CHECK(argument(cluster, "controllerManager", "terminated-pod-gc-threshold") == "1000");
    CHECK(argument(cluster, "scheduler", "tls-min-version") == "VersionTLS12");
    CHECK(cluster.at({"etcd", "local", "extraArgs"}));
    CHECK(cluster.at({"apiServer", "extraVolumes"})->items().size() == 2);
    CHECK(made["KubeletConfiguration"].find("serverTLSBootstrap")->as_bool() == true);
    CHECK(made["KubeletConfiguration"].find("podPidsLimit")->as_int() == 99);
    CHECK(made["KubeProxyConfiguration"].find("metricsBindAddress")->text() == "127.0.0.1:10249");
    const bool today = std::string(version) == "1.36.2";
    CHECK((argument(cluster, "apiServer", "authentication-config") != "none") == today);
    CHECK((made["KubeletConfiguration"].find("seccompDefault") != nullptr) == today);
    CHECK((argument(cluster, "apiServer", "enable-admission-plugins").find("DenyServiceExternalIPs") !=
           std::string::npos) == today);
  }
}

TEST_CASE("hardened: Pod Security and the limits of anonymous requests are of the version's API") {
  Sample sample;
  sample.cluster.security.profile = spec::SecurityProfile::hardened;
  const auto plugins = [&](const char* version) {
    sample.kubernetes = base::Version::parse(version).value();
    std::string text;
    const Tree tree = composed(sample.context(), "admission");
    for (const Tree& plugin : tree.find("plugins")->items())
      text += plugin.find("name")->text() + " " + plugin.at({"configuration", "apiVersion"})->text() + ", ";
    return text;
  };
  CHECK(plugins("1.20.2") == "EventRateLimit eventratelimit.admission.k8s.io/v1alpha1, ");
  CHECK(plugins("1.24.1").find("pod-security.admission.config.k8s.io/v1beta1") != std::string::npos);
  CHECK(plugins("1.36.2").find("pod-security.admission.config.k8s.io/v1,") != std::string::npos);
  const auto api = [&](const char* version) {
    sample.kubernetes = base::Version::parse(version).value();
    return composed(sample.context(), "authentication").find("apiVersion")->text();
  };
  CHECK(api("1.32.0") == "apiserver.config.k8s.io/v1beta1");
  CHECK(api("1.36.2") == "apiserver.config.k8s.io/v1");
}

TEST_CASE("hardened: a node's certificate may be for the addresses that its host has") {
  Sample sample;
  sample.facts.machine.hostname = "Trainer";
  sample.facts.network.all_addresses = {{.link = "eth0", .cidr = "192.0.2.7/24", .global = true},
                                        {.link = "eth0", .cidr = "fd00::7/64", .global = true}};
  CHECK(playbook::variable("node_addresses", sample.context()) == "trainer 192.0.2.7 FD00:0:0:0:0:0:0:7\n");
}
