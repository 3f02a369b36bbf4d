#include "gpuadm/base/toml.hpp"
#include "gpuadm/base/yaml.hpp"

#include "playbook/sample.hpp"

#include <set>

namespace {

std::string value(const Sample& sample, const char* name) {
  return playbook::variable(name, sample.context()).value_or("");
}

}  // namespace

TEST_CASE("proxy: nodes, pods, services and the API server are reached without it") {
  Sample sample;
  sample.cluster.proxy.http = "http://proxy.lab:3128";
  sample.cluster.proxy.no_proxy = {".lab", "git.example.org"};
  sample.cluster.control_plane.endpoint = "api.lab:6443";
  spec::Host worker;
  worker.name = "gpu1";
  worker.endpoint.address = "gpu1.lab";
  sample.cluster.hosts.push_back(worker);
  const std::string list =
      "localhost,127.0.0.0/8,::1,gpu1.lab,192.0.2.11,api.lab,10.244.0.0/16,10.96.0.0/"
      "12,.svc,.cluster.local,.lab,"
      "git.example.org";
  CHECK(value(sample, "proxy_environment") ==
        "# Written by gpuadm: the HTTP proxy of this host.\n"
        "HTTP_PROXY=\"http://proxy.lab:3128\"\nhttp_proxy=\"http://proxy.lab:3128\"\n"
        "HTTPS_PROXY=\"http://proxy.lab:3128\"\nhttps_proxy=\"http://proxy.lab:3128\"\n"
        "NO_PROXY=\"" +
            list + "\"\nno_proxy=\"" + list + "\"\n");
  CHECK(value(sample, "proxy_mode") == "0644");
  CHECK(value(sample, "proxy_apt") ==
        "// Written by gpuadm.\n"
        "Acquire::http::Proxy \"http://proxy.lab:3128\";\nAcquire::http::Proxy::git.example.org \"DIRECT\";\n"
        "Acquire::https::Proxy \"http://proxy.lab:3128\";\nAcquire::https::Proxy::git.example.org "
        "\"DIRECT\";\n");
}

TEST_CASE("proxy: a login is encoded where it stands in a URL, and makes the files root's alone") {
  Sample sample;
  sample.cluster.proxy.http = "http://proxy.lab:3128";
  sample.cluster.proxy.login = base::Secret("me:a:b@c/d%\"e");
  CHECK(value(sample, "proxy_environment").find("\"http://me:a%3Ab%40c%2Fd%25%22e@proxy.lab:3128\"") !=
        std::string::npos);
  CHECK(value(sample, "proxy_dnf") ==
        "proxy=http://proxy.lab:3128\nproxy_username=me\nproxy_password=a:b@c/d%\"e\n");
  CHECK(value(sample, "proxy_mode") == "0600");
  const base::Tree tree = spec::to_tree(sample.cluster);
  CHECK(base::yaml::write(tree).find("a:b") == std::string::npos);
}

TEST_CASE("mirrors: packages come from the catalog's place, or from where the cluster file says") {
  Sample sample;
  CHECK(value(sample, "kubernetes_repository") == "https://pkgs.k8s.io/core:/stable:");
  sample.cluster.mirrors.packages = {{"kubernetes", "https://mirror.lab/k8s/"}};
  CHECK(value(sample, "kubernetes_repository") == "https://mirror.lab/k8s");
  CHECK(value(sample, "toolkit_repository") == "https://nvidia.github.io/libnvidia-container");
}

TEST_CASE("mirrors: containerd's are below its config_path, and not combined with the old form") {
  Sample sample;
  CHECK(value(sample, "registry_hosts") == "/etc/containerd/certs.d");
  sample.facts.runtime.containerd->config =
      "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\nconfig_path = "
      "\"/opt/certs:/etc/docker/certs.d\"\n";
  CHECK(value(sample, "registry_hosts") == "/opt/certs");
  sample.facts.runtime.containerd->config =
      "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry.mirrors.\"docker.io\"]\nendpoint = "
      "[\"https://m\"]\n";
  CHECK(value(sample, "registry_hosts").empty());
}

TEST_CASE("mirrors: CRI-O's are one file that its reader takes") {
  Sample sample;
  sample.cluster.mirrors.registries = {{"docker.io", "http://10.0.0.1:5000"},
                                       {"quay.io", "https://m.lab/quay"}};
  const auto files = playbook::compose("crio-registries", sample.context());
  REQUIRE(files);
  const auto tree = base::toml::read(files->front().content, "registries.conf");
  REQUIRE(tree);
  const base::Tree& first = tree->find("registry")->items()[0];
  CHECK(first.find("prefix")->text() == "docker.io");
  CHECK(first.find("mirror")->items()[0].find("location")->text() == "10.0.0.1:5000");
  CHECK(first.find("mirror")->items()[0].find("insecure")->as_bool() == true);
  CHECK(tree->find("registry")->items()[1].find("mirror")->items()[0].find("location")->text() ==
        "m.lab/quay");
}

TEST_CASE("regions: every preset is one that a cluster file could have, and what it says goes before") {
  const assets::Store store = *assets::Store::open({});
  const auto regions = base::yaml::read(*store.read("data/regions.yaml"), "regions.yaml");
  REQUIRE(regions);
  REQUIRE(!regions->entries().empty());
  for (const auto& [name, region] : regions->entries()) {
    CAPTURE(name);
    spec::Cluster cluster = *spec::single("");
    cluster.region = name;
    cluster.mirrors.registries["docker.io"] = "https://mine.lab";
    REQUIRE(spec::apply_region(*regions, cluster));
    CHECK(cluster.mirrors.registries.at("docker.io") == "https://mine.lab");
    CHECK(cluster.mirrors.registries.size() > 1);
    const auto again = spec::parse(base::yaml::write(spec::to_tree(cluster)), "cluster.yaml");
    CHECK_MESSAGE(again, again.error().what);
    for (const base::Tree& source : region.find("sources")->items())
      CHECK(source.text().starts_with("https://"));
  }
  spec::Cluster cluster = *spec::single("");
  cluster.region = "cm";
  const auto wrong = spec::apply_region(*regions, cluster);
  REQUIRE(!wrong);
  CHECK(wrong.error().what == "unknown region: 'cm' (did you mean 'cn'?)");
}
