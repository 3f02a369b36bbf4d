#include "commands/install/closing.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/pod_tests.hpp"
#include "gpuadm/session/recording.hpp"

#include "commands/inspect/judge_status.hpp"
#include "commands/install/bring_up_listed.hpp"

#include <algorithm>

namespace commands {

namespace {

using checks::GpuNode;
using report::Finding;

/// Collects what a run needed and changed, and forwards all events.
class Counter final : public report::Reporter {
 public:
  Counter(report::Reporter& next, CountedRun& run) : next_(next), run_(run) {}
  void on(const report::Event& event) override {
    if (event.did == report::Did::applied && !is_listed_phase(event.stage)) run_.changed.insert(event.host);
    if (event.did == report::Did::needed || event.did == report::Did::applied) run_.needed = true;
    next_.on(event);
  }
  void tick(base::Time now) override { next_.tick(now); }

 private:
  report::Reporter& next_;
  CountedRun& run_;
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
  // The description that follows is the output.
  const auto reporter = report::terminal(io.err, io.err_style);
  const auto tests = TRY(session::PodTests::open(context, *reporter));
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
  if (closing.compute_on.empty() || !found.survey.view) return {};
  const auto& census = found.survey.survey.census;
  const auto facts = facts::parse_cluster(*found.survey.view);
  if (!facts) return {};
  const spec::Cluster cluster = session::fitted(closing.cluster, census, *facts);
  std::vector<GpuNode> nodes = checks::gpu_nodes(cluster, census, *facts);
  std::erase_if(nodes, [&](const GpuNode& node) {
    return node.node.empty() || node.free() == 0 || !closing.compute_on.contains(node.host);
  });
  if (nodes.empty()) return {};
  auto findings = compute(closing, cluster, census, found.asked, nodes, io);
  if (!findings) {
    io.err("the test of the GPUs did not complete: " + base::printable(findings.error().what) + "\n");
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
    Counter counter(reporter, run);
    return act(counter);
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

std::optional<std::filesystem::path> own_kubeconfig(const std::string& cluster) {
  std::filesystem::path file = base::state_directory() / cluster / "kubeconfig";
  std::error_code none;
  return std::filesystem::exists(file, none) ? std::optional(std::move(file)) : std::nullopt;
}

std::string closing_text(const Closing& closing, Io& io) {
  const bool waited = closing.waiting == Waiting::until_it_works;
  RunSummary summary{.cluster = closing.cluster,
                     .kubeconfig = closing.kubeconfig,
                     .waited_for = waited,
                     .kubernetes = closing.kubernetes,
                     .status = {},
                     .computed = closing.computed,
                     .notebook = closing.notebook,
                     .unread = {}};
  if (!waited) return to_text(summary, base::now(), io.out_style);
  const auto found =
      session::survey_cluster(closing.cluster, *closing.session.fleet, closing.assets, closing.known);
  if (!found || found->asked.empty()) {
    summary.unread = !found ? found.error().what : found->unread ? found->unread->what : "";
    return to_text(summary, base::now(), io.out_style);
  }
  const Tested tested = test_gpus(closing, *found, io);
  if (tested.computed) summary.computed = tested.computed;
  std::optional<facts::ClusterFacts> view;
  if (found->survey.view)
    if (auto facts = facts::parse_cluster(*found->survey.view)) view = std::move(*facts);
  StatusJudge judges(closing.assets, {});
  summary.census = &found->survey.survey.census;
  auto judged = judges.judge({closing.cluster, *summary.census, view, found->asked}, tested.findings);
  if (judged)
    summary.status = std::move(judged->status);
  else
    summary.unread = judged.error().what;
  return to_text(summary, base::now(), io.out_style);
}

}  // namespace commands
