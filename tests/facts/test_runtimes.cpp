#include "gpuadm/base/json.hpp"
#include "gpuadm/facts/facts.hpp"

#include "facts/probe_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using facts::parse;

TEST_CASE("containerd 1.x: what the dump says is in force, not what the file says") {
  const auto facts = parse(probe_text(
      {{"containerd", "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u1\n? 0"},
       {"/etc/containerd/config.toml", "version = 2\ndisabled_plugins = [\"cri\"]\n"},
       {"containerd-dump",
        "disabled_plugins = []\nroot = \"/data\"\n[plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = "
        "\"registry.k8s.io/"
        "pause:3.6\"\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\ndefault_runtime_name = "
        "\"runc\"\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\nSystemdCgroup = "
        "true\n? 0"},
       {"containerd-plugins",
        "TYPE ID PLATFORMS STATUS\nio.containerd.content.v1 content - ok\nio.containerd.grpc.v1 cri "
        "linux/amd64 error\n? 0"}}));
  REQUIRE(facts->runtime.containerd);
  const auto& containerd = *facts->runtime.containerd;
  CHECK(containerd.version == "1.6.20~ds1");
  CHECK(containerd.config_version == 2);
  CHECK(containerd.cri_disabled == false);
  CHECK(containerd.sandbox_image == "registry.k8s.io/pause:3.6");
  CHECK(containerd.runtimes.at("runc"));
  CHECK(containerd.default_runtime == "runc");
  CHECK(containerd.root == "/data");
  CHECK(containerd.cri_status == "error");
}

TEST_CASE("containerd 2.x: the CRI is two plugins under other names") {
  const auto facts = parse(
      probe_text({{"containerd", "containerd github.com/containerd/containerd/v2 v2.1.4 75cb2b7193\n? 0"},
                  {"containerd-dump",
                   "version = 3\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = "
                   "'registry.k8s.io/pause:3.10'\n"
                   "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\nSystemdCgroup "
                   "= false\n? 0"},
                  {"containerd-plugins",
                   "TYPE ID PLATFORMS STATUS\nio.containerd.cri.v1 images - ok\nio.containerd.cri.v1 runtime "
                   "linux/amd64 ok\nio.containerd.grpc.v1 cri - ok\n? 0"}}));
  const auto& containerd = *facts->runtime.containerd;
  CHECK(containerd.version == "v2.1.4");
  CHECK(!containerd.config);
  CHECK(containerd.sandbox_image == "registry.k8s.io/pause:3.10");
  CHECK(!containerd.runtimes.at("runc"));
  CHECK(containerd.cri_status == "ok");
}

TEST_CASE("a configuration that containerd refuses leaves its error and what the file says") {
  const auto facts = parse(probe_text(
      {{"containerd", "containerd x v1.7.24 abc\n? 0"},
       {"/etc/containerd/config.toml", "disabled_plugins = [\"cri\"]\n"},
       {"containerd-dump", "containerd: failed to load TOML: /etc/containerd/config.toml: (1, 2)\n? 1"}}));
  CHECK(facts->runtime.containerd->error.find("failed to load TOML") != std::string::npos);
  CHECK(facts->runtime.containerd->cri_disabled == true);
  CHECK(facts->runtime.containerd->config_version == 1);
}

TEST_CASE("podman's docker command is not Docker") {
  CHECK(!parse(probe_text({{"docker", "podman version 4.3.1\n? 0"}}))->runtime.docker);
  CHECK(parse(probe_text({{"docker", "Docker version 20.10.24+dfsg1, build 297e128\n? 0"}}))
            ->runtime.docker->version == "20.10.24+dfsg1");
}

TEST_CASE("passwords in a runtime configuration are not in the JSON form") {
  const auto facts = parse(probe_text(
      {{"containerd", "containerd x v1.7.24 abc\n? 0"},
       {"/etc/containerd/config.toml",
        "[plugins.\"cri\".registry.configs.\"r\".auth]\n  password = \"hunter2\"\n  username = \"me\"\n"}}));
  CHECK(facts->runtime.containerd->config->find("hunter2") != std::string::npos);
  CHECK(base::json::write(facts::to_tree(*facts)).find("hunter2") == std::string::npos);
}

TEST_CASE("kubelet settings come from its file and from its flags") {
  const auto facts = parse(
      probe_text({{"kubelet", "Kubernetes v1.20.2\n? 0"},
                  {"kubeadm", "v1.20.2\n? 0"},
                  {"kubectl", "{\"clientVersion\": {\"gitVersion\": \"v1.32.1\"}}\n? 0"},
                  {"/var/lib/kubelet/config.yaml", "kind: KubeletConfiguration\nfailSwapOn: false\n"},
                  {"/var/lib/kubelet/kubeadm-flags.env", "KUBELET_KUBEADM_ARGS=\"--network-plugin=cni\""},
                  {"/etc/default/kubelet", "# mine\nKUBELET_EXTRA_ARGS=--v=2"},
                  {"/etc/kubernetes/admin.conf", "    server: https://192.0.2.1:6443"}}));
  const auto& kubernetes = facts->kubernetes;
  CHECK(kubernetes.kubelet == "v1.20.2");
  CHECK(kubernetes.kubeadm == "v1.20.2");
  CHECK(kubernetes.kubectl == "v1.32.1");
  CHECK(kubernetes.kubelet_config->find("failSwapOn")->as_bool() == false);
  CHECK(kubernetes.kubelet_flags == "--network-plugin=cni --v=2");
  CHECK(kubernetes.admin_server == "https://192.0.2.1:6443");
}

TEST_CASE("a kubelet file with invalid YAML leaves the reason") {
  const auto facts = parse(probe_text({{"/var/lib/kubelet/config.yaml", "a: [1\nb: }"}}));
  CHECK(!facts->kubernetes.kubelet_config);
  CHECK(!facts->kubernetes.kubelet_config_error.empty());
}

TEST_CASE("what containerd imports and how its unit is started are known") {
  const auto facts = parse(probe_text(
      {{"containerd", "containerd github.com/containerd/containerd/v2 v2.1.4 75cb2b7193\n? 0"},
       {"/etc/containerd/config.toml", "version = 3\nimports = [\"conf.d/*.toml\", \"/srv/site.toml\"]\n"},
       {"/etc/containerd/conf.d/a.toml", "version = 3\n"},
       {"/srv/site.toml", "version = 2\n"},
       {"containerd-imports", "/etc/containerd/conf.d/a.toml\n/srv/site.toml\n"},
       {"containerd-dump", "version = 3\nimports = ['conf.d/*.toml', '/srv/site.toml']\n? 0"},
       {"units",
        "ExecStart={ path=/usr/bin/containerd ; argv[]=/usr/bin/containerd -c /srv/c.toml ; ignore_errors=no "
        "}\nId=containerd.service\nActiveState=active\n? 0"}}));
  REQUIRE(facts->runtime.containerd);
  CHECK(facts->runtime.containerd->drop_ins == std::vector<std::string>{"/etc/containerd/conf.d/a.toml"});
  CHECK(facts->runtime.containerd->drop_in_texts.at("/srv/site.toml") == "version = 2\n");
  const auto& loaded = facts->runtime.containerd->loaded_files;
  CHECK(std::ranges::find(loaded, "/etc/containerd/conf.d/a.toml") != loaded.end());
  CHECK(facts->software.units.at("containerd.service").command == "/usr/bin/containerd -c /srv/c.toml");
}
