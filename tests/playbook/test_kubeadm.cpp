#include "gpuadm/base/yaml.hpp"

#include "playbook/sample.hpp"

#include <fmt/format.h>

namespace {
base::Tree list_of(const std::vector<base::Tree>& items) {
  base::Tree list = base::Tree::list();
  for (const base::Tree& item : items) list.push(item);
  return list;
}
std::vector<base::Tree> documents(const Sample& sample) {
  const auto composed = playbook::compose("kubeadm-config", sample.context());
  REQUIRE(composed);
  std::vector<base::Tree> all = *base::yaml::read_all(composed->front().content, "kubeadm.yaml");
  REQUIRE(all.size() == 4);
  return all;
}
std::string text(const base::Tree& tree, const std::vector<std::string>& path) {
  const base::Tree* found = tree.at(path);
  return found ? found->text() : "(absent)";
}
}  // namespace

TEST_CASE("kubeadm: its configuration has the API version and socket form that the version reads") {
  struct Row {
    base::Version version;
    const char *api, *socket;
  };
  for (const Row& row :
       {Row{{1, 20, 2}, "kubeadm.k8s.io/v1beta2", "/run/containerd/containerd.sock"},
        Row{{1, 22, 0}, "kubeadm.k8s.io/v1beta3", "/run/containerd/containerd.sock"},
        Row{{1, 24, 0}, "kubeadm.k8s.io/v1beta3", "unix:///run/containerd/containerd.sock"},
        Row{{1, 30, 5}, "kubeadm.k8s.io/v1beta3", "unix:///run/containerd/containerd.sock"},
        Row{{1, 31, 0}, "kubeadm.k8s.io/v1beta4", "unix:///run/containerd/containerd.sock"},
        Row{{1, 37, 0}, "kubeadm.k8s.io/v1beta4", "unix:///run/containerd/containerd.sock"}}) {
    Sample sample;
    sample.kubernetes = row.version;
    CAPTURE(row.version.text());
    const auto all = documents(sample);
    CHECK(text(all[0], {"apiVersion"}) == row.api);
    CHECK(text(all[1], {"apiVersion"}) == row.api);
    CHECK(text(all[0], {"nodeRegistration", "criSocket"}) == row.socket);
    CHECK(text(all[0], {"nodeRegistration", "name"}) == "box");
    CHECK(text(all[1], {"kubernetesVersion"}) == "v" + row.version.text());
  }
}

TEST_CASE("kubeadm: a Kubernetes older than 1.20 is kept where it is installed, and never installed") {
  Sample sample;
  sample.cluster.kubernetes.version = base::Version{1, 2, -1};
  const auto version = [&] {
    return playbook::kubernetes_version(sample.cluster, {}, sample.facts, sample.library.catalog(), nullptr);
  };
  REQUIRE(!version());
  CHECK(version().error().what == "kubernetes.version is 1.2: gpuadm installs Kubernetes 1.20 and newer");
  sample.facts.kubernetes.kubeadm = "v1.2.3";
  CHECK(version()->text() == "1.2.3");
}

TEST_CASE("kubeadm: swap is kept, limited or off as the version allows") {
  Sample sample;
  CHECK(text(documents(sample)[2], {"failSwapOn"}) == "false");
  CHECK(text(documents(sample)[2], {"memorySwap", "swapBehavior"}) == "(absent)");
  sample.cluster.swap = spec::Swap::limited;
  sample.kubernetes = {1, 28, 0};
  CHECK(text(documents(sample)[2], {"memorySwap", "swapBehavior"}) == "LimitedSwap");
  CHECK(text(documents(sample)[2], {"featureGates", "NodeSwap"}) == "true");
  sample.kubernetes = {1, 34, 0};
  CHECK(text(documents(sample)[2], {"featureGates", "NodeSwap"}) == "(absent)");
  sample.cluster.swap = spec::Swap::off;
  CHECK(text(documents(sample)[2], {"failSwapOn"}) == "(absent)");
}

TEST_CASE("kubeadm: patches pass through, and extra arguments take the form of their API") {
  Sample sample;
  sample.cluster.patches.kube_proxy = base::Tree::map_of({{"conntrack", base::Tree::map_of({{"min", 0}})}});
  sample.cluster.patches.kubelet = base::Tree::map_of({{"maxPods", 50}, {"cgroupDriver", "cgroupfs"}});
  sample.cluster.kubelet_extra_args = {"--node-ip=192.0.2.11"};
  auto all = documents(sample);
  CHECK(text(all[3], {"conntrack", "min"}) == "0");
  CHECK(text(all[2], {"maxPods"}) == "50");
  CHECK(text(all[2], {"cgroupDriver"}) == "cgroupfs");
  CHECK(text(all[0], {"nodeRegistration", "kubeletExtraArgs", "node-ip"}) == "192.0.2.11");
  sample.kubernetes = {1, 31, 0};
  all = documents(sample);
  REQUIRE(all[0].at({"nodeRegistration", "kubeletExtraArgs"})->is_list());
  CHECK(text(all[0].at({"nodeRegistration", "kubeletExtraArgs"})->items()[0], {"name"}) == "node-ip");
}

TEST_CASE(
    "kubeadm: the version is the installed one unless another is asked for, and a minor's patch is assumed") {
  Sample sample;
  const auto chosen = [&](std::optional<base::Version> asked, std::optional<std::string> installed) {
    sample.cluster.kubernetes.version = asked;
    sample.facts.kubernetes.kubeadm = std::move(installed);
    const auto version =
        playbook::choose_version(sample.cluster, sample.facts, sample.library.catalog(), nullptr);
    return version ? version->version.text() + (version->is_assumed ? " assumed" : "") : version.error().what;
  };
  const std::string known = *sample.library.catalog().find("kubernetes", {9999, 0, 0});
  CHECK(chosen({}, {}) == known + " assumed");
  CHECK(chosen({}, "v1.34.1") == "1.34.1");
  CHECK(chosen(base::Version{1, 34, -1}, "v1.34.1") == "1.34.1");
  CHECK(chosen(base::Version{1, 34, -1}, {}) == "1.34.0 assumed");
  CHECK(chosen(base::Version{1, 34, -1}, "v1.33.1") == "1.34.0 assumed");
  CHECK(chosen(base::Version{1, 34, 7}, {}) == "1.34.7");
  sample.cluster.kubernetes.source = spec::Source::installed;
  CHECK(chosen(base::Version{1, 34, -1}, "v1.33.1") ==
        "kubernetes.version is 1.34, but kubeadm on the host is 1.33.1");
}

TEST_CASE("kubeadm: the sandbox image is the bundle's, else the one that kubeadm lists, else the table's") {
  Sample sample;
  sample.kubernetes = {1, 36, 2};
  const auto pause = [&] {
    const playbook::PauseImage image = playbook::pause_image(sample.context());
    constexpr const char* sources[] = {"bundle", "kubeadm", "table"};
    return fmt::format("{} {}", sources[static_cast<int>(image.source)], image.name);
  };
  CHECK(pause() == "table registry.k8s.io/pause:3.10.2");
  sample.facts.kubernetes.kubeadm = "v1.36.2";
  sample.facts.kubernetes.images = {"registry.k8s.io/etcd:3.6.8-0", "registry.k8s.io/pause:3.11"};
  CHECK(pause() == "kubeadm registry.k8s.io/pause:3.11");
  sample.cluster.kubernetes.image_repository = "mirror.lab:5000/k8s";
  CHECK(pause() == "kubeadm mirror.lab:5000/k8s/pause:3.11");
  sample.cluster.kubernetes.image_repository.clear();
  sample.facts.kubernetes.kubeadm = "v1.36.1";  // another one is being installed
  CHECK(pause() == "table registry.k8s.io/pause:3.10.2");
  sample.bundle.emplace();
  sample.bundle->files.push_back({.path = {}, .kind = bundle::BundleKind::image, .name = "lab/pause:1"});
  CHECK(pause() == "bundle lab/pause:1");
}

TEST_CASE("an image of the catalog goes by its digest, or by its tag where the bundle has it so") {
  Sample sample;
  const std::string key = "device_plugin_image";
  const auto named = [&] { return playbook::image_named(sample.context(), key).value_or(""); };
  const std::string full = named(), tagged = full.substr(0, full.find('@'));
  REQUIRE(tagged.size() < full.size());
  const std::string digest = full.substr(tagged.size()),
                    by_digest = tagged.substr(0, tagged.rfind(':')) + digest;
  sample.bundle.emplace();
  CHECK(named() == full);
  const auto carry = [&](const std::string& name) {
    sample.bundle->files.push_back({.path = {}, .kind = bundle::BundleKind::image, .name = name});
  };
  carry(tagged);
  CHECK(named() == tagged);
  carry(by_digest);
  CHECK(named() == full);
  CHECK(playbook::variable(key, sample.context()) == full);
}

TEST_CASE("kubeadm: extra arguments of a patch are merged by name, whichever form they have") {
  const base::Tree map = base::Tree::map_of(
      {{"apiServer",
        base::Tree::map_of({{"extraArgs", base::Tree::map_of({{"max-requests-inflight", 800}})}})},
       {"etcd",
        base::Tree::map_of(
            {{"local", base::Tree::map_of({{"extraArgs", base::Tree::map_of({{"debug", true}})}})}})}});
  const auto argument = [](const char* name, const char* value) {
    return base::Tree::map_of({{"name", name}, {"value", value}});
  };
  const base::Tree list = base::Tree::map_of(
      {{"apiServer", base::Tree::map_of({{"extraArgs", list_of({argument("feature-gates", "B=true,A=false"),
                                                                argument("v", "4")})}})}});
  const auto arguments = [](const std::vector<base::Tree>& all, const std::vector<std::string>& path) {
    const base::Tree* args = all[1].at(path);
    REQUIRE(args);
    std::string text;
    for (const auto& [name, value] : args->entries()) text += name + "=" + value.text() + ";";
    for (const base::Tree& one : args->items())
      text += one.find("name")->text() + ":" + one.find("value")->text() + ";";
    return text;
  };
  Sample sample;
  sample.cluster.feature_gates = {{"A", true}};
  sample.kubernetes = {1, 31, 0};
  sample.cluster.patches.cluster_configuration = map;
  CHECK(arguments(documents(sample), {"apiServer", "extraArgs"}) ==
        "feature-gates:A=true;max-requests-inflight:800;");
  CHECK(arguments(documents(sample), {"etcd", "local", "extraArgs"}) == "debug:true;");
  CHECK(arguments(documents(sample), {"scheduler", "extraArgs"}) == "feature-gates:A=true;");
  sample.cluster.patches.cluster_configuration = list;
  CHECK(arguments(documents(sample), {"apiServer", "extraArgs"}) == "feature-gates:A=false,B=true;v:4;");
  sample.kubernetes = {1, 30, 0};
  CHECK(arguments(documents(sample), {"apiServer", "extraArgs"}) == "feature-gates=A=false,B=true;v=4;");
  sample.cluster.patches.cluster_configuration = map;
  CHECK(arguments(documents(sample), {"apiServer", "extraArgs"}) ==
        "feature-gates=A=true;max-requests-inflight=800;");
}

TEST_CASE("kubeadm: an argument that is there twice needs kubeadm 1.31") {
  Sample sample;
  sample.kubernetes = {1, 30, 0};
  const base::Tree issuer =
      base::Tree::map_of({{"name", "service-account-issuer"}, {"value", "https://a.example"}});
  sample.cluster.patches.cluster_configuration =
      base::Tree::map_of({{"apiServer", base::Tree::map_of({{"extraArgs", list_of({issuer, issuer})}})}});
  const auto composed = playbook::compose("kubeadm-config", sample.context());
  REQUIRE(!composed);
  CHECK(composed.error().what ==
        "patches.clusterConfiguration.apiServer.extraArgs: 'service-account-issuer' is set twice, which "
        "kubeadm "
        "before 1.31 does not support");
  sample.kubernetes = {1, 31, 0};
  CHECK(documents(sample)[1].at({"apiServer", "extraArgs"})->items().size() == 2);
}
