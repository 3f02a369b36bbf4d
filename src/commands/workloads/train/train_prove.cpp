#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/pod_tests.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/workload/all_reduce.hpp"

#include "commands/workloads/train/train_all_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using checks::GpuNode;
using checks::Link;
using report::Finding;
using report::Severity;
using report::Verdict;

/// Results of `gpuadm verify` as those of the check, for each node.
std::vector<Finding> as_all_reduce(const std::vector<Finding>& links) {
  std::vector<Finding> findings;
  for (const Finding& link : links) {
    const bool passed = link.verdict == Verdict::pass;
    Finding finding = workload::all_reduce_finding(
        link.verdict, passed ? Severity::note : Severity::blocker,
        passed ? fmt::format("{} (gpuadm-proof; the image has no PyTorch)", link.message)
               : link.message.text(),
        link.evidence, link.remedy);
    finding.host = link.host;
    findings.push_back(std::move(finding));
  }
  return findings;
}

bool has_several_gpus(const workload::TrainJob& job) {
  return std::ranges::any_of(job.roles, [](const workload::Role& role) {
    return role.gpus.form == workload::GpuRequest::Form::whole && role.gpus.count > 1;
  });
}

}  // namespace

Result<std::vector<Finding>> prove_nodes(TrainSession& opened, const workload::TrainJob& job,
                                         const TrainView& view, const std::vector<std::string>& names,
                                         Io& io) {
  const session::Survey survey = TRY(session::take_census(*opened.fleet, opened.assets));
  const spec::Cluster cluster = session::fitted(opened.cluster, survey.census, view.cluster);
  const checks::Floors floors =
      TRY(checks::read_floors([&](std::string_view path) { return opened.assets.read(path); }));
  std::vector<GpuNode> nodes = checks::cluster_nodes(cluster, survey.census, view.cluster);
  std::erase_if(nodes, [&](const GpuNode& node) { return std::ranges::count(names, node.node) == 0; });
  if (nodes.size() < names.size()) {
    Finding finding = workload::all_reduce_finding(
        Verdict::unknown, Severity::note,
        "the image has no PyTorch, and not all nodes of the ranks are hosts of the cluster file");
    return std::vector<Finding>{std::move(finding)};
  }
  const auto folder = TRY(session::RunFolder::make(cluster.name));
  const session::PodTestContext context{cluster,       survey.census, opened.assets,         floors,
                                        *opened.fleet, folder,        opened.client->host(), nodes};
  Io beside = io;
  beside.out = io.err;
  beside.out_style = io.err_style;
  std::vector<Finding> links;
  const auto act = [&](report::Reporter& reporter) -> Result<Outcome> {
    const auto pod_tests = TRY(session::PodTests::open(context, reporter));
    const auto test = [&]() -> Result<> {
      if (nodes.size() > 1) links = TRY(pod_tests->show_network(Link::network, nodes));
      if (!has_several_gpus(job)) return {};
      for (Finding& finding : TRY(pod_tests->show(Link::compute, nodes))) links.push_back(std::move(finding));
      return {};
    };
    const auto tested = test();
    pod_tests->close();
    if (!tested) return std::unexpected(tested.error());
    return Outcome::done;
  };
  const auto acted = session::with_reporter(folder, session::Format::text, beside, act);
  if (!acted && acted.error().fault == Fault::interrupted) return std::unexpected(acted.error());
  if (!acted) {
    Finding finding = workload::all_reduce_finding(
        Verdict::unknown, Severity::warning, "the image has no PyTorch, and gpuadm-proof could not be run",
        acted.error().what, acted.error().hint);
    return std::vector<Finding>{std::move(finding)};
  }
  return as_all_reduce(links);
}

}  // namespace commands
