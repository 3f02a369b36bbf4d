#include "gpuadm/base/text.hpp"

#include "checks/case_files.hpp"
#include "checks/last_lines.hpp"
#include "checks/repository_data.hpp"

#include <algorithm>
#include <functional>

// A program may end with any words: what gpuadm does not know is quoted, wherever it stands.

namespace {

using namespace case_files;

/// Thirty last words that gpuadm has never heard of.
constexpr std::array words = {
    "frobnication of the lattice failed",
    "cannot reticulate spline 7",
    "the quorum of gnomes is incomplete",
    "vortex pump stalled at 17%",
    "unable to align the tertiary manifold",
    "mauve alert: the ledger is upside down",
    "subspace carrier lost",
    "widget 42 refused the handshake",
    "nine of eleven beacons are in error",
    "the moon base does not respond",
    "checksum of the almanac differs",
    "pendulum out of phase",
    "failed to unfold the origami descriptor",
    "heliograph mirror is dusty",
    "too few marmots in the pool",
    "the astrolabe was calibrated for another sky",
    "sextant overflow",
    "no ferryman for the channel",
    "kaleidoscope index out of range",
    "abacus bead 3 is stuck",
    "the orrery runs backwards",
    "lost the thread of the labyrinth",
    "invalid rune in the inscription",
    "semaphore flag is torn",
    "the carillon missed a stroke",
    "fatal: the gazebo has eaten the operand",
    "sundial reports midnight",
    "permission of the lighthouse keeper is missing",
    "weathervane is stuck at north-by-northwest",
    "the hourglass was turned twice",
};

/// A log: its machine, and how a probe with this last line looks.
struct Log {
  const char* name;
  const char* machine;
  std::function<Tree(const std::string& line)> edits;
};

Tree sections(std::initializer_list<std::pair<std::string, std::string>> probe) {
  Tree map = Tree::map();
  for (const auto& [name, text] : probe) map.set(name, Tree(text));
  return Tree::map_of({{"probe", map}});
}

/// A unit of a healthy machine that has failed.
std::string failed(const std::string& unit) {
  return "\nId=" + unit + "\nLoadState=loaded\nActiveState=failed\nSubState=failed\nUnitFileState=enabled\n";
}

const std::string one_runs = "source crictl\nc1\tkube-system\tetcd-host1\tetcd\t0\trunning\t\t-\t";

const std::vector<Log>& logs() {
  static const std::vector<Log> all = {
      {"the kubelet", "gpu-node",
       [](const std::string& line) {
         return sections(
             {{"pod-containers", one_runs},
              {"kubelet-state", "ActiveState=activating\nSubState=auto-restart\nResult=exit-code\n? 0"},
              {"kubelet-errors", "E1202 10:00:00.200000    3011 some.go:1] \"" + line +
                                     "\"\nkubelet.service: Main process exited, code=exited, "
                                     "status=1/FAILURE\n? 0"}});
       }},
      {"containerd", "gpu-node",
       [](const std::string& line) {
         return sections({{"units+", failed("crio.service")},
                          {"unit-log/crio.service",
                           "time=\"2026-11-29T10:00:00Z\" level=fatal msg=\"" + line +
                               "\"\ncrio.service: Main process exited, code=exited, status=1/FAILURE\n? 0"}});
       }},
      {"nvidia-persistenced", "gpu-node",
       [](const std::string& line) {
         return sections({{"units+", failed("nvidia-dcgm.service")},
                          {"unit-log/nvidia-dcgm.service",
                           line + "\nnvidia-dcgm.service: Failed with result 'exit-code'.\n? 0"}});
       }},
      {"the fabric manager", "gpu-node",
       [](const std::string& line) {
         return sections({{"units+", failed("nvidia-fabricmanager.service")},
                          {"fabricmanager-log",
                           "[Nov 29 2026 10:00:00] [INFO] [tid 1] starting\n[Nov 29 2026 "
                           "10:00:01] [ERROR] [tid 1] " +
                               line + "\n? 0"}});
       }},
      {"a static pod", "node",
       [](const std::string& line) {
         return sections(
             {{"pod-containers", "source crictl\nc1\tkube-system\tetcd-host1\tetcd\t5\texited\t1\tError\t"},
              {"container-log/kube-system/etcd-host1/etcd", "starting\n" + line}});
       }},
      {"the kernel", "gpu-node",
       [](const std::string& line) {
         return sections({{"kernel-log+", "<3>[862000.5] zorblax 0000:01:00.0: " + line}});
       }},
      {"the start of the driver", "gpu-node",
       [](const std::string& line) {
         return sections({{"kernel-log+", "[862000.1] NVRM: " + line +
                                              "\n[862000.2] NVRM: GPU 0000:00:06.0: RmInitAdapter failed! "
                                              "(0x26:0x56:1474)"}});
       }},
      {"nvidia-smi", "gpu-node",
       [](const std::string& line) {
         return sections({{"nvidia-smi", "GPU 0: NVIDIA H200 (UUID: GPU-0)\n" + line + "\n? 255"}});
       }},
  };
  return all;
}

bool is_quoted(const std::vector<Finding>& findings, const std::string& line) {
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.verdict == report::Verdict::fail &&
           (finding.message.contains(line) || finding.evidence.contains(line));
  });
}

TEST_CASE("the last words of every log are quoted, though gpuadm does not know them") {
  const auto data = repository_data();
  const Tree test = Tree::map_of({{"stage", "node"}});
  for (const Log& log : logs())
    for (const std::string line : words) {
      const std::string probe = edit(recorded_probe(log.machine), log.edits(line));
      CHECK_MESSAGE(is_quoted(judge(test, {{"one", probe}}, *data, ""), line),
                    (std::string(log.name) + ": " + line));
    }
}

TEST_CASE("the last words of pods are quoted in the cluster's findings") {
  const auto data = repository_data();
  const Tree test = Tree::map_of({{"stage", "cluster"}});
  const std::string row =
      "kube-system\tweaver-x1\tDaemonSet\tone\tRunning\t\t\tCrashLoopBackOff\t9\tError\t\t\t\t\tError\tFalse";
  const std::string plugin =
      "kube-system\tnvidia-device-plugin-"
      "x1\tDaemonSet\tone\tRunning\t\t\tCrashLoopBackOff\t9\tError\t\t\t\t\tError\tFalse";
  for (const std::string line : words) {
    const Tree edits =
        sections({{"pods+", row + "\n" + plugin},
                  {"pod-log/kube-system/weaver-x1", "starting\n" + line + "\n? 0"},
                  {"device-plugin-log/nvidia-device-plugin-x1", "starting\nE1 " + line + "\n? 0"}});
    const std::string overview = edit(case_text(folder / "checks/base/cluster.txt"), edits);
    const auto findings = judge(test, {{"one", recorded_probe("gpu-node")}}, *data, overview);
    CHECK_MESSAGE(is_quoted(findings, line), line);
    CHECK_MESSAGE(std::ranges::any_of(findings,
                                      [&](const Finding& finding) {
                                        return finding.id == "gk.device-plugin-logs" &&
                                               finding.evidence.contains(line);
                                      }),
                  line);
  }
}

TEST_CASE("the words of the test are in no source") {
  for (const char* part : {"src", "playbooks", "data", "templates"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(GPUADM_SOURCE_DIR) / part)) {
      if (!entry.is_regular_file() || entry.file_size() > 400'000) continue;
      const auto text = base::read_file(entry.path());
      REQUIRE(text.has_value());
      for (const std::string line : words) CHECK_FALSE(text->contains(line));
    }
}

}  // namespace

TEST_CASE("the parts of known lines are written as lines are compared") {
  std::size_t count = 0;
  for (const auto rows : {checks::common_lines(), checks::kubelet_lines(), checks::unit_lines(),
                          checks::plugin_lines(), checks::pod_lines()})
    for (const checks::KnownLine& row : rows) {
      CAPTURE(row.part);
      CHECK(checks::known_of(row.part, rows) != nullptr);
      CHECK(base::lower(row.part) == row.part);
      CHECK(!row.part.contains('\\'));
      ++count;
    }
  CHECK(count > 60);
}
