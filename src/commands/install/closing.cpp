#include "commands/install/closing.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/pod_tests.hpp"
#include "gpuadm/session/recording.hpp"

#include "commands/inspect/judge_status.hpp"

#include <algorithm>

namespace commands {

namespace {

using checks::GpuNode;
using report::Finding;

/// Forwards nothing.
class Silent final : public report::Reporter {
 public:
  void on(const report::Event& /*event*/) override {}
};

/// Counts the steps that changed a host, and forwards all events.
class ChangeCount final : public report::Reporter {
 public:
  explicit ChangeCount(report::Reporter& next) : next_(next) {}
  void on(const report::Event& event) override {
    if (event.did == report::Did::applied) ++changed_;
    next_.on(event);
  }
  void tick(base::Time now) override { next_.tick(now); }
  [[nodiscard]] int changed() const { return changed_; }

 private:
  report::Reporter& next_;
  int changed_ = 0;
};

/// Creates pods that compute on the free GPUs of the nodes, and removes them again.
Result<std::vector<Finding>> compute(const Closing& closing, const spec::Cluster& cluster,
                                     const facts::Census& census, const std::string& control_plane,
                                     const std::vector<GpuNode>& nodes, Io& io) {
  const checks::Floors floors =
      TRY(checks::read_floors([&](std::string_view path) { return closing.assets.read(path); }));
  const session::PodTestContext context{
      cluster,       census, closing.assets, floors, *closing.session.fleet, closing.session.folder,
      control_plane, nodes};
  Silent silent;
  const auto live = report::is_brief(io.out_style) ? report::terminal(io.out, io.out_style) : nullptr;
  report::Reporter& reporter = live ? static_cast<report::Reporter&>(*live) : silent;
  const auto tests = TRY(session::PodTests::open(context, reporter));
  auto findings = tests->show(checks::Link::compute, nodes);
  tests->close();
  return findings;
}

/// GPUs on which the pod of a passed test computed: one with a share of a GPU has only that one.
long long tested_on(const GpuNode& node) {
  return node.shares > 1 ? 1 : node.free();
}

struct Tested {
  std::vector<Finding> findings;
  std::optional<Computed> computed;
};

/// Nodes without GPUs that pods can use are not tested: their links to the driver say why.
Tested test_gpus(const Closing& closing, const session::StatusSurvey& found, Io& io) {
  const auto& census = found.survey.survey.census;
  const auto facts = facts::parse_cluster(*found.survey.view);
  if (!facts) return {};
  const spec::Cluster cluster = session::fitted(closing.cluster, census, *facts);
  std::vector<GpuNode> nodes = checks::gpu_nodes(cluster, census, *facts);
  std::erase_if(nodes, [](const GpuNode& node) { return node.node.empty() || node.free() == 0; });
  if (nodes.empty()) return {};
  auto findings = compute(closing, cluster, census, found.asked, nodes, io);
  if (!findings) {
    io.err("no pod was created to compute: " + base::printable(findings.error().what) + "\n");
    return {};
  }
  auto computed = computed_in(*findings, nodes);
  return {std::move(*findings), computed};
}

}  // namespace

Result<CountedRun> run_and_count(const session::RunFolder& folder, Format format, Io& io,
                                 const std::function<Result<Outcome>(report::Reporter&)>& act) {
  CountedRun run;
  run.outcome = TRY(session::with_reporter(folder, format, io, [&](report::Reporter& reporter) {
    ChangeCount count(reporter);
    auto outcome = act(count);
    run.changed = count.changed();
    return outcome;
  }));
  return run;
}

std::optional<Computed> computed_in(std::span<const Finding> findings, std::span<const GpuNode> nodes) {
  std::optional<Computed> computed;
  for (const Finding& finding : findings) {
    if (finding.id != "verify.compute") continue;
    if (!computed) computed.emplace(0, base::now());
    const auto node = std::ranges::find(nodes, finding.host.text(), &GpuNode::host);
    if (finding.verdict == report::Verdict::pass && node != nodes.end()) computed->gpus += tested_on(*node);
  }
  return computed;
}

std::string closing_text(const Closing& closing, Io& io) {
  const bool waited = closing.waiting == Waiting::until_it_works;
  const facts::Census nobody;
  RunSummary summary{.cluster = closing.cluster,
                     .census = nobody,
                     .kubeconfig = closing.kubeconfig,
                     .waited_for = waited,
                     .kubernetes = closing.kubernetes,
                     .status = {},
                     .computed = closing.computed,
                     .notebook = closing.notebook};
  if (!waited) return to_text(summary, base::now(), io.out_style);
  const auto found = session::survey_cluster(closing.cluster, *closing.session.fleet, closing.assets);
  if (!found || found->asked.empty()) return to_text(summary, base::now(), io.out_style);
  Tested tested;
  if (closing.compute == ComputeTest::done) tested = test_gpus(closing, *found, io);
  if (tested.computed) summary.computed = tested.computed;
  const facts::Census& census = found->survey.survey.census;
  std::optional<facts::ClusterFacts> view;
  if (found->survey.view)
    if (auto facts = facts::parse_cluster(*found->survey.view)) view = std::move(*facts);
  StatusJudge judges(closing.assets, {});
  auto judged = judges.judge({closing.cluster, census, view, found->asked}, tested.findings);
  if (!judged) return to_text(summary, base::now(), io.out_style);
  const RunSummary measured{.cluster = closing.cluster,
                            .census = census,
                            .kubeconfig = closing.kubeconfig,
                            .waited_for = waited,
                            .kubernetes = closing.kubernetes,
                            .status = std::move(judged->status),
                            .computed = summary.computed,
                            .notebook = closing.notebook};
  return to_text(measured, base::now(), io.out_style);
}

}  // namespace commands
