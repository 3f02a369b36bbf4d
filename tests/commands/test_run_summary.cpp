#include "gpuadm/base/text.hpp"

#include "commands/run_summary.hpp"

#include <doctest/doctest.h>

namespace {

using commands::Computed;
using commands::RunSummary;

spec::Cluster a_cluster() {
  spec::Cluster cluster;
  cluster.name = "ws";
  cluster.hosts.resize(1);
  return cluster;
}

facts::Census with_gpus(std::size_t count) {
  facts::Facts host;
  for (std::size_t i = 0; i < count; ++i) {
    host.nvidia.gpus.emplace_back();
    host.nvidia.gpus.back().name = "NVIDIA H100 80GB HBM3";
    host.nvidia.gpus.back().memory_mib = 81559;
  }
  facts::Census census;
  census.emplace("gpu1", std::move(host));
  return census;
}

cluster::Status a_status(std::size_t gpus, std::optional<long long> usable) {
  cluster::Status status;
  status.version = "v1.36.4";
  status.nodes.resize(1);
  status.nodes.front().ready = "Ready";
  if (gpus > 0) status.gpu_hosts.push_back({{"gpu1", gpus, gpus, usable}, 0, {}});
  return status;
}

report::Style typed_style() {
  report::Style style;
  style.width = 80;
  style.complete = [](std::string_view hint) {
    return hint.starts_with("gpuadm ") ? std::string(hint) + " -f c.yaml" : std::string(hint);
  };
  return style;
}

std::string shown(const RunSummary& summary, base::Time now = base::now()) {
  const std::string text = to_text(summary, now, typed_style());
  CHECK(base::lines(text).size() <= 18);
  return text;
}

bool has(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the end of a run says what was measured: nodes, GPUs, when a pod computed, and what is next") {
  const spec::Cluster cluster = a_cluster();
  const facts::Census census = with_gpus(1);
  const base::Time now = base::now();
  const std::string text = shown({.cluster = cluster,
                                  .census = &census,
                                  .kubeconfig = "/srv/kubeconfig",
                                  .waited_for = true,
                                  .kubernetes = {},
                                  .status = a_status(1, 1),
                                  .computed = Computed{1, now - std::chrono::seconds(12)},
                                  .notebook = {}},
                                 now);
  CHECK(has(text, "Cluster ws: 1 node Ready, Kubernetes 1.36.4\n"));
  CHECK(has(base::replace_all(text, "\n  ", " "),
            "Pods can use 1 of 1 GPUs (H100 80GB HBM3, 79.6 GiB; a pod computed on it 12s ago)"));
  CHECK(has(text, "kubeconfig: /srv/kubeconfig\n"));
  CHECK(has(text,
            "Next:\n  gpuadm notebook create nb1 --gpus 1 --size 10Gi --tunnel -f c.yaml\n"
            "  gpuadm dashboard -f c.yaml\n"
            "  kubectl --kubeconfig /srv/kubeconfig get nodes\n"));
}

TEST_CASE("GPUs that pods cannot use are named with the cause and the fix of the cluster's verdict") {
  const spec::Cluster cluster = a_cluster();
  const facts::Census census = with_gpus(2);
  cluster::Status status = a_status(2, 0);
  status.nodes.front().ready = "NotReady";
  for (const char* what : {"the driver has 2 GPUs, but pods can use 0", "second", "third"})
    status.verdict.problems.push_back({"gpu1", what, "gpuadm doctor gpu1 --stage node"});
  const std::string text = shown({.cluster = cluster,
                                  .census = &census,
                                  .kubeconfig = {},
                                  .waited_for = true,
                                  .kubernetes = {},
                                  .status = status,
                                  .computed = {},
                                  .notebook = {}});
  CHECK(has(text, "Cluster ws: 0 of 1 nodes Ready"));
  CHECK(
      has(base::replace_all(text, "\n  ", " "), "Pods can use 0 of 2 GPUs (H100 80GB HBM3, 79.6 GiB each)"));
  CHECK(has(text,
            "3 problems found:\n  gpu1: the driver has 2 GPUs, but pods can use 0\n"
            "    gpuadm doctor gpu1 --stage node -f c.yaml\n"));
  CHECK(has(text, "  and 1 more: gpuadm status -f c.yaml\n"));
  CHECK(has(text, "Next:\n  gpuadm status -f c.yaml\n  gpuadm verify -f c.yaml\n"));
}

TEST_CASE("what was not measured is said to be unknown, and nothing is claimed of it") {
  const spec::Cluster cluster = a_cluster();
  const facts::Census census = with_gpus(1), nobody;
  const auto summary = [&](const facts::Census& known, std::optional<cluster::Status> status, bool waited) {
    return RunSummary{.cluster = cluster,
                      .census = &known,
                      .kubeconfig = {},
                      .waited_for = waited,
                      .kubernetes = base::Version::parse("1.36.4"),
                      .status = std::move(status),
                      .computed = {},
                      .notebook = {}};
  };
  const std::string unread = shown(summary(nobody, {}, true));
  CHECK(has(unread, "Cluster ws: Kubernetes 1.36.4 is installed; its state could not be read\n"));
  CHECK(!has(unread, "GPU"));
  CHECK(has(unread, "Next:\n  gpuadm status -f c.yaml\n"));
  CHECK(has(shown(summary(nobody, {}, false)), "gpuadm did not wait for it\n"));
  CHECK(has(base::replace_all(shown(summary(census, a_status(1, std::nullopt), true)), "\n  ", " "),
            "How many of 1 GPUs pods can use is unknown"));
  CHECK(has(base::replace_all(shown(summary(census, a_status(1, 1), true)), "\n  ", " "),
            "no pod computed on them in this run"));
  CHECK(
      has(shown(summary(nobody, a_status(0, std::nullopt), true)), "No NVIDIA GPU was found on its hosts\n"));
}

TEST_CASE("hosts that could not be read, and an unknown number of usable GPUs, are said") {
  const spec::Cluster cluster = a_cluster();
  facts::Census census = with_gpus(1);
  census.emplace("gpu2", base::fail(base::Fault::unreachable, "gpu2: no route to host"));
  RunSummary summary{.cluster = cluster,
                     .census = &census,
                     .kubeconfig = {},
                     .waited_for = true,
                     .kubernetes = {},
                     .status = a_status(16, std::nullopt),
                     .computed = Computed{1, base::now()},
                     .notebook = {}};
  const std::string text = base::replace_all(shown(summary), "\n  ", " ");
  CHECK(has(text, "How many of 16 GPUs pods can use is unknown"));
  CHECK(has(text, "pods computed on 1 of them "));
  CHECK(has(text, "; 1 host could not be read"));
  summary.status = a_status(0, std::nullopt);
  CHECK(has(shown(summary), "No NVIDIA GPU was found on its hosts; 1 host could not be read\n"));
  summary.status.reset();
  summary.unread = "no control-plane node is reachable";
  CHECK(has(base::replace_all(shown(summary), "\n  ", " "),
            "its state could not be read: no control-plane node is reachable\n"));
}

TEST_CASE("many hosts and long names do not make the end of a run longer than 18 rows") {
  spec::Cluster cluster = a_cluster();
  cluster.hosts.resize(512);
  cluster::Status status = a_status(8, 8);
  status.nodes.resize(512);
  for (int i = 0; i < 40; ++i)
    status.verdict.problems.push_back(
        {std::string(60, 'h'), std::string(90, 'a') + " " + std::string(200, 'b'), "gpuadm doctor"});
  const facts::Census census = with_gpus(8);
  shown({.cluster = cluster,
         .census = &census,
         .kubeconfig = {},
         .waited_for = true,
         .kubernetes = {},
         .status = status,
         .computed = {},
         .notebook = "anna"});
}
