#include "gpuadm/cluster/gpu_reset.hpp"

#include <doctest/doctest.h>

namespace {

constexpr const char* first_uuid = "GPU-00112233-4455-6677-8899-aabbccddee00";
constexpr const char* second_uuid = "GPU-00112233-4455-6677-8899-aabbccddee01";

/// A host with two GPUs that are connected by NVLink; the second one is to be reset.
struct ResetWorld {
  facts::Facts host;
  facts::ClusterFacts view;
  facts::GpuUsers users{std::vector<std::string>(), {}};
  std::map<std::string, facts::PodName, std::less<>> names;

  ResetWorld() {
    for (const char* uuid : {first_uuid, second_uuid}) {
      facts::Gpu gpu;
      gpu.index = static_cast<int>(host.nvidia.gpus.size());
      gpu.uuid = uuid;
      gpu.name = "NVIDIA H200";
      gpu.bus_id = "0000:0" + std::to_string(gpu.index) + ":00.0";
      gpu.architecture = "Hopper";
      gpu.paths_to = {"NV18", "NV18"};
      gpu.paths_to[static_cast<std::size_t>(gpu.index)] = "X";
      host.nvidia.gpus.push_back(gpu);
    }
    view.pods.emplace();
    add_pod("a", "trainer", "ReplicaSet", {{"nvidia.com/gpu", 1}});
    add_pod("a", "other", "ReplicaSet", {{"nvidia.com/gpu", 1}});
    names["11-aa"] = {"a", "trainer", "", ""};
    names["22-bb"] = {"a", "other", "", ""};
  }
  facts::Gpu& gpu() { return host.nvidia.gpus.back(); }
  void add_pod(const std::string& ns, const std::string& name, const std::string& owner,
               std::map<std::string, long long> gpus) {
    facts::Pod pod;
    pod.ns = ns;
    pod.name = name;
    pod.owner = owner;
    pod.node = "one";
    pod.phase = "Running";
    pod.gpus = std::move(gpus);
    view.pods->push_back(pod);
  }
  [[nodiscard]] std::string obstacle() {
    const auto found = cluster::reset_obstacle(host, gpu(), "one");
    return found ? found->what + " | " + found->hint : "";
  }
  [[nodiscard]] cluster::GpuHolders holders() {
    return cluster::gpu_holders(view, "one", gpu(), users, names);
  }
  [[nodiscard]] std::vector<std::string> pods() {
    std::vector<std::string> found;
    for (const facts::Pod* pod : holders().pods) found.push_back(pod->full());
    return found;
  }
};

bool message(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a GPU of Hopper is reset alone, also with NVLink neighbors") {
  ResetWorld world;
  CHECK(world.obstacle().empty());
  world.gpu().readings["gpu_virtualization_mode/virtualization_mode"] = "Pass-Through";
  world.gpu().readings["display_active"] = "Disabled";
  world.gpu().recovery_action = "Reset";
  CHECK(world.obstacle().empty());
}

TEST_CASE("GPUs before Ampere are reset only with their NVLink neighbors, and so are unknown ones") {
  ResetWorld world;
  for (const char* model : {"Volta", "Turing", "Pascal"}) {
    world.gpu().architecture = model;
    CHECK(message(world.obstacle(), "is connected by NVLink to GPU 0"));
    CHECK(message(world.obstacle(), model));
    CHECK(message(world.obstacle(), "reboot the host"));
  }
  world.gpu().architecture.reset();
  CHECK(message(world.obstacle(), "which is unknown"));
  world.gpu().paths_to = {"PIX", "X"};
  CHECK(world.obstacle().empty());
  world.gpu().paths_to.clear();
  world.gpu().nvlinks = facts::NvLinks{.active = 6, .inactive = {}, .errors = {}};
  CHECK(message(world.obstacle(), "GPU unknown ones"));
}

TEST_CASE("with NVSwitches, Ampere needs the fabric manager, and Hopper does not") {
  ResetWorld world;
  world.host.nvidia.nvswitches = {"0000:10:00.0"};
  CHECK(world.obstacle().empty());
  world.gpu().architecture = "Ampere";
  CHECK(message(world.obstacle(), "nvidia-fabricmanager.service"));
  world.host.software.units["nvidia-fabricmanager.service"].active = "active";
  CHECK(world.obstacle().empty());
  world.host.software.units.clear();
  world.host.nvidia.nvswitches.clear();
  CHECK(world.obstacle().empty());
}

TEST_CASE("MIG, a display, virtual machines and other recovery actions prevent a reset") {
  ResetWorld mig;
  mig.gpu().mig = "Enabled";
  CHECK(message(mig.obstacle(), "gpuadm gpu mig one off"));
  ResetWorld display;
  display.gpu().readings["display_active"] = "Enabled";
  CHECK(message(display.obstacle(), "drives a display"));
  ResetWorld desktop;
  desktop.gpu().processes = {{"812", "C+G", "/usr/lib/xorg/Xorg", 4}};
  CHECK(message(desktop.obstacle(), "drives a display"));
  ResetWorld machines;
  machines.gpu().readings["gpu_virtualization_mode/virtualization_mode"] = "Host VGPU";
  CHECK(message(machines.obstacle(), "virtual machines"));
  for (const char* action : {"Reboot", "Node Reboot"}) {
    ResetWorld world;
    world.gpu().recovery_action = action;
    CHECK(message(world.obstacle(), "reboot the host"));
  }
  ResetWorld transfers;
  transfers.gpu().recovery_action = "Drain P2P";
  CHECK(message(transfers.obstacle(), "end all programs that transfer data"));
}

TEST_CASE("the pods of the GPU are those of the kubelet; without them, all pods of the node with GPUs") {
  ResetWorld world;
  CHECK(world.pods().empty());
  world.users.pods = {{"11-aa", "99-ended"}};
  CHECK(world.pods() == std::vector<std::string>{"a/trainer"});
  CHECK(!world.holders().all_gpu_pods);
  world.users.pods.reset();
  CHECK(world.pods() == std::vector<std::string>{"a/trainer", "a/other"});
  CHECK(world.holders().all_gpu_pods);
}

TEST_CASE("with claims, the pods of the GPU are those of its device") {
  ResetWorld world;
  world.users.pods.reset();
  world.view.slices = {{{"gpu.nvidia.com",
                         "one",
                         "one",
                         {{"gpu-0", "gpu", first_uuid, ""}, {"gpu-1", "gpu", second_uuid, ""}}}}};
  world.view.resource_claims = {{{"a", "c", {{"gpu.nvidia.com", "one", "gpu-1"}}, {"other"}}}};
  CHECK(world.pods() == std::vector<std::string>{"a/other"});
  CHECK(!world.holders().all_gpu_pods);
}

TEST_CASE("programs that gpuadm does not end are named; those that end or release the GPU are not") {
  ResetWorld world;
  world.users.pods = {{"11-aa"}};
  world.names["33-cc"] = {"kube-system", "nvidia-device-plugin-x7k2p", "", ""};
  world.names["44-dd"] = {"monitoring", "dcgm-exporter-x", "", ""};
  world.users.programs = {{1, "python3", "11-aa", "c1", ""},
                          {2, "nvidia-device-p", "33-cc", "c2", ""},
                          {3, "nvidia-persiste", "", "", "nvidia-persistenced.service"},
                          {4, "nv-hostengine", "", "", "nvidia-dcgm.service"},
                          {5, "nv-fabricmanage", "", "", "nvidia-fabricmanager.service"}};
  CHECK(world.holders().others.empty());
  world.users.programs = {{3, "nvidia-persiste", "", "", ""}};
  CHECK(world.holders().others == std::vector<std::string>{"nvidia-persiste (pid 3)"});
  world.users.programs = {{6, "dcgm-exporter", "44-dd", "c3", ""},
                          {7, "python3", "55-ee", "c4", ""},
                          {8, "python3", "", "0123456789abcdef", ""},
                          {9, "", "", "", ""},
                          {10, "nv-hostengine", "", "0123456789abcdef", ""}};
  CHECK(world.holders().others ==
        std::vector<std::string>{"pod monitoring/dcgm-exporter-x (dcgm-exporter, pid 6)",
                                 "pod 55-ee (python3, pid 7)", "container 0123456789ab (python3, pid 8)",
                                 "unknown (pid 9)", "container 0123456789ab (nv-hostengine, pid 10)"});
}

TEST_CASE("pods without a controller and pods of DaemonSets are not evicted") {
  ResetWorld world;
  world.users.pods.reset();
  CHECK(!cluster::eviction_obstacle(world.holders().pods));
  world.view.pods->front().owner = "";
  CHECK(message(cluster::eviction_obstacle(world.holders().pods)->what, "pod a/trainer has no controller"));
  CHECK(message(cluster::eviction_obstacle(world.holders().pods)->hint, "kubectl -n a delete pod trainer"));
  world.view.pods->front().owner = "DaemonSet";
  CHECK(message(cluster::eviction_obstacle(world.holders().pods)->what, "belongs to a DaemonSet"));
}

TEST_CASE("a reset that has begun is in the annotation of its node, and junk there is not one") {
  facts::Node node;
  CHECK(!cluster::pending_reset(node));
  node.gpu_reset = std::string(second_uuid) + " 0000:01:00.0 uncordon";
  REQUIRE(cluster::pending_reset(node));
  CHECK(cluster::pending_reset(node)->uuid == second_uuid);
  CHECK(cluster::pending_reset(node)->slot == "0000:01:00.0");
  for (const char* text : {"x", "GPU-x 0000:01:00.0 keep", "$(reboot) a b"}) {
    node.gpu_reset = text;
    CHECK(!cluster::pending_reset(node));
  }
}

TEST_CASE("after a reset, only what is new in the kernel's log counts") {
  facts::Facts before, now;
  before.nvidia.xids = {{100, "0000:01:00.0", 79, "GPU has fallen off the bus."}};
  before.kernel.log = {{{100, "NVRM: Xid 79"}}};
  now = before;
  now.nvidia.xids.push_back({200, "0000:01:00.0", 119, "Timeout waiting for RPC from GSP"});
  now.kernel.log->push_back({200, "NVRM: Xid 119"});
  cluster::forget_log(now, before);
  REQUIRE(now.nvidia.xids.size() == 1);
  CHECK(now.nvidia.xids.front().code == 119);
  REQUIRE(now.kernel.log->size() == 1);
  CHECK(now.kernel.log->front().text == "NVRM: Xid 119");
}

TEST_CASE("a GPU is healthy after its reset if it is listed, needs nothing more, and no check of it fails") {
  ResetWorld world;
  world.gpu().recovery_action = "None";
  const auto trouble = [&](const std::vector<report::Finding>& findings = {}) {
    return cluster::trouble_after_reset(world.host, world.gpu(), findings);
  };
  CHECK(trouble().empty());
  report::Finding finding;
  finding.id = "gpu.health.row-remap-pending";
  finding.verdict = report::Verdict::fail;
  finding.severity = report::Severity::blocker;
  finding.message = "GPU 0 (NVIDIA H200) waits for a reset to repair itself";
  CHECK(trouble({finding}).empty());
  finding.message = "GPU 1 (NVIDIA H200) waits for a reset to repair itself";
  CHECK(trouble({finding}) ==
        std::vector<std::string>{
            "GPU 1 (NVIDIA H200) waits for a reset to repair itself (gpu.health.row-remap-pending)"});
  finding.severity = report::Severity::warning;
  CHECK(trouble({finding}).empty());
  finding.verdict = report::Verdict::unknown;
  CHECK(trouble({finding}).size() == 1);
  world.gpu().readings["retired_pages/pending_retirement"] = "Yes";
  world.gpu().recovery_action = "Drain and Reset";
  CHECK(trouble().size() == 2);
  const facts::Gpu gone = world.gpu();
  world.host.nvidia.gpus.pop_back();
  world.host.nvidia.smi_message = "Unable to determine the device handle";
  CHECK(cluster::trouble_after_reset(world.host, gone, {}) ==
        std::vector<std::string>{
            "nvidia-smi does not list it any more: Unable to determine the device handle"});
}
