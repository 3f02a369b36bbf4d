#include "gpuadm/checks/checks.hpp"
#include "gpuadm/report/finding.hpp"

#include "checks/data.hpp"
#include "checks/lint.hpp"
#include "checks/repository_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>

namespace {

struct Row {
  const char* kubernetes;
  const char* what;      ///< a gate "Name=true" or a flag "--name=value"
  const char* severity;  ///< empty: nothing to complain of
  const char* message;   ///< a part of what is said
};

constexpr std::array rows = std::to_array<Row>({
    // gates
    {"1.20", "Accelerators=true", "blocker",
     "removed in Kubernetes 1.12: it made GPUs available to Docker containers"},
    {"1.20", "DevicePlugins=true", "note", "on in Kubernetes 1.20 by default"},
    {"1.27", "DevicePlugins=true", "note", "by default"},
    {"1.28", "DevicePlugins=true", "blocker", "removed in Kubernetes 1.28: its feature is always on"},
    {"1.21", "NodeSwap=true", "blocker", "needs Kubernetes 1.22"},
    {"1.22", "NodeSwap=true", "", ""},
    {"1.29", "NodeSwap=true", "", ""},
    {"1.30", "NodeSwap=true", "note", "on in Kubernetes 1.30 by default"},
    {"1.33", "NodeSwap=false", "", ""},
    {"1.34", "NodeSwap=false", "blocker", "can no longer be set to false"},
    {"1.34", "NodeSwap=true", "note", "by default"},
    {"1.25", "DynamicResourceAllocation=true", "blocker", "needs Kubernetes 1.26"},
    {"1.33", "DynamicResourceAllocation=true", "", ""},
    {"1.34", "DynamicResourceAllocation=true", "note", "by default"},
    {"1.33", "DRAExtendedResource=true", "blocker", "needs Kubernetes 1.34"},
    {"1.33", "NodeSwapp=true", "blocker", "not a known feature gate"},
    {"1.40", "SomethingNew=true", "warning", "not a known feature gate"},
    // flags
    {"1.20", "--container-runtime=remote", "", ""},
    {"1.26", "--container-runtime=remote", "", ""},
    {"1.27", "--container-runtime=remote", "blocker", "removed in Kubernetes 1.27: only remote was left"},
    {"1.23", "--network-plugin=cni", "", ""},
    {"1.24", "--network-plugin=cni", "blocker", "went with dockershim"},
    {"1.34", "--pod-infra-container-image=pause", "", ""},
    {"1.35", "--pod-infra-container-image=pause", "blocker", "removed in Kubernetes 1.35"},
    {"1.36", "--docker-only", "blocker", "removed in Kubernetes 1.36"},
    {"1.21", "--seccomp-default", "blocker", "needs Kubernetes 1.22"},
    {"1.33", "--max_pods=200", "", ""},
    {"1.33", "--max-pod=200", "blocker", "--max-pod is not a known kubelet flag"},
    {"1.40", "--not-yet-known", "warning", "--not-yet-known is not a known kubelet flag"},
    {"1.33", "max-pods=200", "blocker", "is not a kubelet flag"},
    {"1.33", "--feature-gates=DevicePlugins=true", "blocker", "DevicePlugins was removed"},
});

std::vector<checks::LintProblem> lint(const Row& row, const checks::Data& data) {
  const std::string what = row.what;
  const auto version = base::Version::parse(row.kubernetes).value();
  const std::size_t equals = what.find('=');
  if (what.starts_with("--") || what[0] >= 'a') return checks::lint_flags({what}, version, data);
  return checks::lint_gates({{what.substr(0, equals), what.substr(equals + 1) == "true"}}, version, data);
}

}  // namespace

TEST_CASE("gates and flags are judged by the Kubernetes minor") {
  const auto data = repository_data();
  for (const Row& row : rows) {
    CAPTURE(row.kubernetes);
    CAPTURE(row.what);
    const auto problems = lint(row, *data);
    if (std::string_view(row.severity).empty()) {
      CHECK_MESSAGE(problems.empty(), (problems.empty() ? "" : problems.front().message));
      continue;
    }
    REQUIRE(problems.size() == 1);
    CHECK(report::name_of(problems.front().severity) == row.severity);
    CHECK_MESSAGE(problems.front().message.find(row.message) != std::string::npos, problems.front().message);
    CHECK(!problems.front().remedy.empty());
  }
}

TEST_CASE("a mistyped gate or flag is answered with the nearest one") {
  const auto data = repository_data();
  CHECK(checks::lint_gates({{"NodeSwapp", true}}, {1, 33, -1}, *data).front().remedy ==
        "did you mean NodeSwap?");
  CHECK(checks::lint_flags({"--max-pod=1"}, {1, 33, -1}, *data).front().remedy == "did you mean --max-pods?");
}

TEST_CASE("lint judges what the cluster file sets") {
  auto cluster = spec::single("").value();
  CHECK(checks::lint(cluster, {1, 33, -1}, *repository_data()).empty());
  cluster.feature_gates["Accelerators"] = true;
  cluster.kubelet_extra_args = {"--container-runtime=remote"};
  const auto findings = checks::lint(cluster, {1, 33, -1}, *repository_data());
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].id == "kubelet.feature-gates");
  CHECK(findings[1].id == "kubelet.unknown-flags");
  CHECK(findings[1].severity == report::Severity::blocker);
}

TEST_CASE("config lint: settings and versions of Kubernetes that do not fit together") {
  const auto data = repository_data();
  const auto linted = [&](const char* version, spec::Engine engine, spec::Allocator allocator) {
    spec::Cluster cluster;
    cluster.runtime.engine = engine;
    cluster.gpu.allocator = allocator;
    std::string text;
    for (const report::Finding& finding : checks::lint(cluster, base::Version::parse(version).value(), *data))
      text += fmt::format("{} {}\n", report::name_of(finding.verdict), finding.id);
    return text;
  };
  using enum spec::Engine;
  using enum spec::Allocator;
  CHECK(linted("1.23", docker, device_plugin).empty());
  CHECK(linted("1.24", docker, device_plugin) == "fail rt.docker.cri-dockerd\n");
  CHECK(linted("1.34", containerd, dra).empty());
  CHECK(linted("1.34.1", containerd, dra) == "fail gpu.dra.versions\n");
  CHECK(linted("1.33", containerd, dra) == "fail gpu.dra.versions\n");
  CHECK(linted("1.3", containerd, device_plugin) == "unknown kubelet.feature-gates\n");
  CHECK(linted("1.36", containerd, device_plugin).empty());
  CHECK(linted("1.37", containerd, device_plugin) == "unknown kubelet.feature-gates\n");
  CHECK(linted("1.38", containerd, device_plugin) == "fail kubelet.feature-gates\n");
  CHECK(linted("2.0", containerd, device_plugin) == "fail kubelet.feature-gates\n");
  const auto problem = checks::lint_newer({1, 38, 0}, *data);
  REQUIRE(problem);
  CHECK(problem->evidence == "the newest known version is 1.37");
  // What is not in the tables of 1.37 may be new in it.
  CHECK(checks::lint_gates({{"SomethingNew", true}}, {1, 37, 0}, *data).front().severity ==
        report::Severity::warning);
  CHECK(checks::lint_gates({{"SomethingNew", true}}, {1, 36, 0}, *data).front().severity ==
        report::Severity::blocker);
  CHECK(linted("1.20", containerd, device_plugin).empty());
}
