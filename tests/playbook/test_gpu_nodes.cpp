#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include "playbook/gpu_nodes.hpp"
#include "playbook/sample.hpp"

#include <cstdlib>
#include <filesystem>

namespace {

/// The sample with one H200 that the driver lists.
Sample with_gpu(const std::string& cluster) {
  Sample sample;
  sample.cluster = spec::parse(cluster, "cluster.yaml").value();
  facts::Gpu gpu;
  gpu.name = "NVIDIA H200";
  gpu.bus_id = "0000:00:06.0";
  gpu.memory_mib = 143771;
  gpu.architecture = "Hopper";
  gpu.compute_capability = "9.0";
  gpu.mig = "Disabled";
  sample.facts.nvidia.gpus = {gpu};
  sample.facts.nvidia.driver = facts::Driver{};
  sample.facts.nvidia.driver->version = "580.159.04";
  sample.facts.nvidia.driver->cuda = "13.0";
  return sample;
}

const std::string head = "apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts: [{ name: one }]\n";

}  // namespace

// tests/cases/device-plugin/<case>/: cluster.yaml, and the manifest that it makes.
TEST_CASE("the device plugin's manifest is made from the cluster file") {
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GPUADM_TESTS_DIR "/cases/device-plugin")) {
    CAPTURE(entry.path().string());
    const Sample sample = with_gpu(*base::read_file(entry.path() / "cluster.yaml"));
    facts::Census census;
    for (const spec::Host& host : sample.cluster.hosts)
      if (host.name != "absent") census.emplace(host.name, sample.facts);
    playbook::Context context = sample.context();
    context.census = &census;
    const auto composed = playbook::compose("device-plugin", context);
    REQUIRE(composed);
    CHECK(!composed->front().base_sha256);
    if (std::getenv("GPUADM_REWRITE_CASES"))
      REQUIRE(base::write_file(entry.path() / "expected.yaml", composed->front().content, 0644));
    CHECK(composed->front().content == *base::read_file(entry.path() / "expected.yaml"));
    const auto documents = base::yaml::read_all(composed->front().content, "device-plugin.yaml");
    REQUIRE(documents);
    for (const base::Tree& document : *documents)
      if (const base::Tree* config = document.at({"data", "config.yaml"}))
        CHECK(base::yaml::read(config->text(), "config.yaml"));
    ++cases;
  }
  CHECK(cases >= 8);
}

TEST_CASE("a node is labelled with its GPUs under the names of GPU Feature Discovery") {
  const auto labels = [](const std::string& gpu) {
    const Sample sample = with_gpu(head + gpu);
    return playbook::node_labels(sample.context());
  };
  const auto has = [](const std::string& all, const std::string& line) {
    return ("\n" + all).find("\n" + line + "\n") != std::string::npos;
  };
  const std::string plain = labels("");
  for (const char* line :
       {"nvidia.com/gpu.present=true", "nvidia.com/gpu.product=NVIDIA-H200", "nvidia.com/gpu.count=1",
        "nvidia.com/gpu.memory=143771", "nvidia.com/gpu.family=hopper", "nvidia.com/gpu.compute.major=9",
        "nvidia.com/gpu.replicas=1", "nvidia.com/gpu.sharing-strategy=none", "nvidia.com/mig.strategy-",
        "nvidia.com/cuda.driver-version.full=580.159.04", "nvidia.com/cuda.driver-version.revision=04",
        "nvidia.com/cuda.runtime-version.full=13.0", "nvidia.com/cuda.runtime-version.major=13",
        "nvidia.com/gpu.mode=compute", "nvidia.com/mig.capable=true", "gpuadm.io/device-plugin=exclusive"})
    CHECK_MESSAGE(has(plain, line), plain);
  const std::string shared = labels("gpu: { sharing: { timeSlicing: 4 } }\n");
  for (const char* line : {"nvidia.com/gpu.product=NVIDIA-H200-SHARED", "nvidia.com/gpu.replicas=4",
                           "nvidia.com/gpu.sharing-strategy=time-slicing", "nvidia.com/mps.capable=false",
                           "gpuadm.io/device-plugin=time-slicing-4"})
    CHECK_MESSAGE(has(shared, line), shared);
  const std::string divided = labels("gpu: { mig: { devices: { 1g.18gb: 7 } } }\n");
  for (const char* line : {"nvidia.com/gpu.product=NVIDIA-H200-MIG-1g.18gb", "nvidia.com/gpu.count=7",
                           "nvidia.com/mig.strategy=single", "nvidia.com/gpu.memory-"})
    CHECK_MESSAGE(has(divided, line), divided);
  const std::string theirs = labels("gpu: { stack: operator }\n");
  CHECK_MESSAGE(theirs == "gpuadm.io/device-plugin-\ngpuadm.io/driver-root-\n",
                "the Operator's own labels are not changed");
  const std::string claimed = labels("gpu: { allocator: dra }\n");
  for (const char* line : {"gpuadm.io/device-plugin-", "gpuadm.io/driver-root=root"})
    CHECK_MESSAGE(has(claimed, line), claimed);
}

TEST_CASE("a host without a GPU is not labelled, and a name that no label can have is made one") {
  Sample sample = with_gpu(head);
  sample.facts.nvidia.gpus.front().name = " NVIDIA (odd) " + std::string(80, 'x') + "-";
  const std::string labels = playbook::node_labels(sample.context());
  for (const std::string_view line : base::lines(labels))
    if (const auto equals = line.find('='); equals != std::string_view::npos)
      CHECK(line.size() - equals - 1 <= 63);
  CHECK(labels.find("gpu.product=NVIDIA--odd--xxx") != std::string::npos);
  sample.facts.nvidia.gpus.front().mig.reset();
  CHECK(playbook::node_labels(sample.context()).find("nvidia.com/mig.capable=false\n") != std::string::npos);
  sample.facts.nvidia.gpus.clear();
  sample.facts.nvidia.pci_gpus.clear();
  sample.facts.nvidia.driver.reset();
  CHECK(playbook::node_labels(sample.context()).empty());
  CHECK(playbook::layouts(sample.context()).empty());
}

TEST_CASE("GPUs in quarantine are kept from the device plugin by a DaemonSet of their node") {
  Sample sample = with_gpu(head);
  auto& nvidia = sample.facts.nvidia;
  const std::string one = "GPU-00112233-4455-6677-8899-aabbccddee00",
                    two = "GPU-00112233-4455-6677-8899-aabbccddee01";
  nvidia.gpus.push_back(nvidia.gpus.front());
  nvidia.gpus[0].uuid = one;
  nvidia.gpus[1].uuid = two;
  nvidia.gpus[1].index = 1;
  nvidia.quarantine.push_back({two, "0000:00:07.0", "2026-11-27T02:00:00Z", "Xid 79"});
  const auto layout = playbook::layout_of(sample.cluster, sample.cluster.hosts.front(), sample.facts);
  REQUIRE(layout.visible);
  CHECK(*layout.visible == std::vector{one});
  const std::string name = playbook::name_of(layout);
  CHECK(name.starts_with("exclusive-quarantine-"));
  CHECK(name.size() <= 63);
  CHECK(playbook::node_labels(sample.context()).contains("nvidia.com/gpu.count=1\n"));
  CHECK(playbook::node_labels(sample.context()).contains("gpuadm.io/device-plugin=" + name + "\n"));
  CHECK(playbook::variable("gpu_nodes", sample.context()) == "one box " + name + " nvidia.com/gpu=1\n");
  CHECK(playbook::variable("gpu_quarantine", sample.context()) ==
        two + " 0000:00:07.0 2026-11-27T02:00:00Z Xid 79\n");
  nvidia.quarantine.front().by_taint = true;
  CHECK(playbook::variable("gpu_quarantine", sample.context()) ==
        two + " 0000:00:07.0 2026-11-27T02:00:00Z (DeviceTaintRule) Xid 79\n");
  nvidia.quarantine.front().by_taint = false;

  // A second node without quarantine keeps its DaemonSet.
  facts::Facts whole = sample.facts;
  whole.nvidia.quarantine.clear();
  facts::Census census;
  census.emplace("one", sample.facts);
  census.emplace("other", whole);
  sample.cluster.hosts.push_back({.name = "other"});
  playbook::Context context = sample.context();
  context.census = &census;
  const auto composed = playbook::compose("device-plugin", context);
  REQUIRE(composed);
  std::map<std::string, std::string> visible;
  const auto documents = base::yaml::read_all(composed->front().content, "device-plugin.yaml");
  REQUIRE(documents);
  for (const base::Tree& document : *documents) {
    if (document.find("kind")->text() != "DaemonSet") continue;
    const base::Tree& pod = *document.at({"spec", "template", "spec"});
    for (const base::Tree& variable : pod.find("containers")->items().front().find("env")->items())
      if (variable.find("name")->text() == "NVIDIA_VISIBLE_DEVICES")
        visible[pod.at({"nodeSelector", "gpuadm.io/device-plugin"})->text()] = variable.find("value")->text();
  }
  CHECK(visible == std::map<std::string, std::string>{{name, one}, {"exclusive", "all"}});

  nvidia.quarantine.push_back({one, "0000:00:06.0", "2026-11-27T02:00:00Z", ""});
  const auto none = playbook::layout_of(sample.cluster, sample.cluster.hosts.front(), sample.facts);
  CHECK(none.visible->empty());
  CHECK(playbook::variable("gpu_nodes", sample.context())->ends_with(" nvidia.com/gpu=0\n"));
  CHECK(playbook::compose("device-plugin", sample.context())->front().content.contains("void"));
}

TEST_CASE("the DRA driver has a DaemonSet for each driver root of the hosts with GPUs") {
  const std::string roots = "gpu: { allocator: dra }\n";
  Sample sample = with_gpu(head + roots);
  facts::Census census;
  const auto add = [&](const std::string& name, std::vector<facts::DriverRoot> found) {
    facts::Facts facts = sample.facts;
    facts.nvidia.driver_roots = std::move(found);
    census.emplace(name, facts);
  };
  add("one", {{"/", "", "usr/lib64/libnvidia-ml.so.1"},
              {"/usr/local/nvidia", "bin/nvidia-smi", "lib64/libnvidia-ml.so.1"}});
  add("two", {{"/", "usr/bin/nvidia-smi", "usr/lib64/libnvidia-ml.so.1"}});
  add("three", {{"/usr/local/nvidia", "bin/nvidia-smi", "lib64/libnvidia-ml.so.1"}});
  add("to-be-installed", {});
  census.emplace("gone", base::fail(base::Fault::unreachable, "no answer"));
  playbook::Context context = sample.context();
  context.census = &census;
  const std::string text = playbook::dra_driver_daemonsets(context);
  const auto documents = base::yaml::read_all(text, "dra-driver.yaml");
  REQUIRE(documents);
  std::map<std::string, std::pair<std::string, std::string>> sets;
  for (const base::Tree& document : *documents) {
    if (document.is_null()) continue;
    const base::Tree& pod = *document.at({"spec", "template", "spec"});
    const std::string label = pod.at({"nodeSelector", "gpuadm.io/driver-root"})->text();
    CHECK(document.at({"metadata", "name"})->text() == "nvidia-dra-driver-" + label);
    CHECK(document.at({"metadata", "labels", "app.kubernetes.io/managed-by"})->text() == "gpuadm");
    for (const char* list : {"initContainers", "containers"})
      CHECK(pod.find(list)->items().front().find("env")->items().front().find("value")->text() ==
            pod.find("volumes")->items()[3].at({"hostPath", "path"})->text());
    sets[label] = {pod.find("volumes")->items()[3].at({"hostPath", "path"})->text(),
                   pod.find("volumes")->items()[4].at({"hostPath", "path"})->text()};
  }
  CHECK(sets.size() == 2);
  CHECK(sets["root"] == std::pair<std::string, std::string>("/", "/"));
  CHECK(sets["usr-local-nvidia"] == std::pair<std::string, std::string>("/usr/local/nvidia", "/usr/local"));
  CHECK(playbook::name_of_root("/home/kubernetes/bin/nvidia") == "home-kubernetes-bin-nvidia");
  CHECK(playbook::name_of_root("/" + std::string(80, 'x')).size() <= 40);
}

TEST_CASE("from Kubernetes 1.36, the device class has the name of the resource that pods request") {
  Sample sample = with_gpu(head + "gpu: { allocator: dra }\n");
  const auto name = [&](const base::Version& kubernetes) {
    playbook::Context context = sample.context();
    context.kubernetes = kubernetes;
    return playbook::variable("dra_resource_name", context).value();
  };
  CHECK(name({1, 35, 9}).empty());
  CHECK(name({1, 36, 0}) == "  extendedResourceName: nvidia.com/gpu\n");
}

TEST_CASE("how a node is set up is read from its labels, and compared with the cluster file") {
  const auto is = [](const std::string& layout) {
    return playbook::to_text(playbook::gpu_set_up({{"gpuadm.io/device-plugin", layout}}).value());
  };
  CHECK(is("exclusive") == "exclusive");
  CHECK(is("exclusive-quarantine-0a1b2c3d") == "exclusive");
  CHECK(is("time-slicing-4") == "time-slicing-4");
  CHECK(is("time-slicing-4-quarantine-0a1b2c3d") == "time-slicing-4");
  CHECK(is("mps-2") == "mps-2");
  CHECK(is("mig-single") == "mig-single");
  CHECK(is("mig-single-time-slicing-2") == "mig-single, time-slicing-2");
  CHECK(is("mig-mixed-1g.18gb-3g.71gb-mps-3") == "mig-mixed, mps-3");
  for (const char* junk :
       {"", "time-slicing-", "time-slicing-x", "mps-0", "xmps-2", "time-slicing-99999999999"})
    CHECK(is(junk) == "exclusive");
  CHECK_FALSE(playbook::gpu_set_up({{"nvidia.com/gpu.present", "true"}}));
  CHECK(playbook::to_text(playbook::gpu_set_up({{"gpuadm.io/driver-root", "root"}}).value()) ==
        "NVIDIA's DRA driver");

  // The label that a plan sets says what the file says.
  for (const char* gpu : {"{}", "{ sharing: { timeSlicing: 4 } }", "{ sharing: { mps: 2 } }",
                          "{ allocator: dra }", "{ allocator: none }"}) {
    CAPTURE(gpu);
    const Sample sample = with_gpu(head + "gpu: " + gpu + "\n");
    std::map<std::string, std::string> labels;
    const std::string set = playbook::node_labels(sample.context());
    for (const std::string_view line : base::lines(set))
      if (const std::size_t at = line.find('='); at != std::string_view::npos)
        labels.emplace(line.substr(0, at), line.substr(at + 1));
    const auto set_up = playbook::gpu_set_up(labels);
    const auto wanted =
        playbook::gpu_set_up(sample.cluster, sample.cluster.hosts.front(), sample.facts.nvidia);
    CHECK(set_up.has_value() == (wanted.allocator != spec::Allocator::none));
    if (set_up) CHECK(*set_up == wanted);
  }
}

TEST_CASE("the MIG instances of a node are those of its labels and its capacity") {
  facts::Node node;
  CHECK(!playbook::mig_of(node, 2));
  node.labels = {{"gpuadm.io/device-plugin", "mig-single"},
                 {"nvidia.com/gpu.product", "NVIDIA-H200-MIG-1g.18gb"},
                 {"nvidia.com/gpu.count", "14"}};
  auto mig = playbook::mig_of(node, 2);
  REQUIRE(mig);
  CHECK(*mig == spec::Mig{spec::MigStrategy::single, {{"1g.18gb", 7}}});
  // GPUs that differ: it is not known which instances each has.
  node.labels["nvidia.com/gpu.count"] = "13";
  CHECK(!playbook::mig_of(node, 2));
  node.labels = {{"gpuadm.io/device-plugin", "mig-mixed-3g.71gb-time-slicing-2"}};
  node.capacity = {{"nvidia.com/mig-3g.71gb", "4"}, {"nvidia.com/mig-1g.18gb.me", "4"}, {"cpu", "8"}};
  mig = playbook::mig_of(node, 2);
  REQUIRE(mig);
  CHECK(*mig == spec::Mig{spec::MigStrategy::mixed, {{"1g.18gb+me", 1}, {"3g.71gb", 1}}});
}
