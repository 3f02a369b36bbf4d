#include "commands/inspect/verify.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/report/links.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/pod_tests.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/inspect/judge_status.hpp"
#include "commands/install/identity.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using checks::GpuNode;
using checks::Link;
using report::Finding;

Result<std::vector<Link>> links_of(const VerifyOptions& options) {
  std::vector<std::string> names;
  for (const Link link : checks::all_links()) names.emplace_back(checks::name_of(link));
  for (const std::string& name : options.only) {
    if (checks::link_named(name)) continue;
    const auto near = base::nearest(name, names);
    return base::fail(base::Fault::usage, fmt::format("unknown link: {}", base::printable(name, 50)),
                      near ? fmt::format("did you mean {}?", *near) : "known: " + base::join(names, ", "));
  }
  std::vector<Link> wanted;
  for (const Link link : checks::all_links())
    if (options.only.empty() || std::ranges::find(options.only, checks::name_of(link)) != options.only.end())
      wanted.push_back(link);
  return wanted;
}

/// Tests the chain of every node and reports it link by link. Links of GPUs are tested only on nodes with
/// GPUs.
class Walk {
 public:
  Walk(std::vector<GpuNode> nodes, std::vector<GpuNode> gpu_nodes, const VerifyOptions& options, Io& io)
      : nodes_(std::move(nodes)), whole_(std::move(gpu_nodes)), options_(options), io_(io) {
    for (const auto* all : {&nodes_, &whole_})
      for (const GpuNode& node : *all) width_ = std::max(width_, node.host.size());
  }

  void notify(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      if (options_.format == Format::text) io_.out(report::link_text(finding, width_, io_.out_style));
      if (is_open(finding))
        for (auto* all : {&nodes_, &whole_})
          std::erase_if(*all, [&](const GpuNode& node) { return node.host == finding.host; });
      findings_.push_back(finding);
    }
  }

  void see(std::span<const Link> links, const checks::ChainInputs& inputs) {
    for (const Link link : links) {
      if (checks::needs_network_proof(link)) continue;
      if (checks::needs_pods(link)) break;
      std::vector<Finding> findings;
      for (const GpuNode& node : whole_) findings.push_back(checks::examine_link(link, node, inputs));
      notify(findings);
    }
  }

  void see_runtime_blockers(std::span<const Link> links, const checks::ChainInputs& inputs) {
    if (std::ranges::find(links, Link::runtime) == links.end()) return;
    std::vector<Finding> findings;
    for (const GpuNode& node : nodes_)
      if (auto found = checks::runtime_blocker(node, inputs)) findings.push_back(std::move(*found));
    notify(findings);
  }

  Result<> try_network(std::span<const Link> links, session::PodTests& pod_tests) {
    for (const Link link : links)
      if (checks::needs_network_proof(link) && !nodes_.empty())
        notify(TRY(pod_tests.show_network(link, nodes_)));
    return {};
  }

  Result<> try_out(std::span<const Link> links, session::PodTests& pod_tests) {
    for (const Link link : links)
      if (checks::needs_pods(link) && !whole_.empty()) notify(TRY(pod_tests.show(link, whole_)));
    return {};
  }

  [[nodiscard]] const std::vector<GpuNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<GpuNode>& whole() const { return whole_; }
  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }

 private:
  std::vector<GpuNode> nodes_, whole_;  ///< nodes without a broken link so far; whole_: with GPUs
  std::vector<Finding> findings_;
  std::size_t width_ = 0;
  const VerifyOptions& options_;
  Io& io_;
};

/// Nodes of the cluster, and hosts with GPUs that are not nodes of it.
std::vector<GpuNode> both(std::vector<GpuNode> nodes, const std::vector<GpuNode>& with_gpus) {
  for (const GpuNode& node : with_gpus)
    if (std::ranges::find(nodes, node.host, &GpuNode::host) == nodes.end()) nodes.push_back(node);
  return nodes;
}

int gpus_of(const std::vector<GpuNode>& nodes) {
  int gpus = 0;
  for (const GpuNode& node : nodes) gpus += node.counted;
  return gpus;
}

std::string summary(const std::vector<GpuNode>& nodes, std::size_t tested, const Walk& walk) {
  std::vector<std::string> broken;
  for (const Finding& finding : walk.findings())
    if (is_open(finding))
      broken.push_back(fmt::format("{} on {}", finding.id.substr(finding.id.find('.') + 1), finding.host));
  const int gpus = gpus_of(nodes);
  return fmt::format("{} GPU{} on {} node{}: ", gpus, gpus == 1 ? "" : "s", tested, tested == 1 ? "" : "s") +
         (broken.empty() ? "all tested links passed" : "broken: " + base::join(broken, ", "));
}

std::string control_plane_of(const spec::Cluster& cluster, const facts::Census& census) {
  const auto place = std::ranges::find_if(
      cluster.hosts, [&](const spec::Host& host) { return facts::is_control_plane(census, host.name); });
  return place == cluster.hosts.end() ? std::string() : place->name;
}

/// GPUs of the cluster on nodes that were not selected.
std::vector<std::string> left_out(const facts::ClusterFacts& facts, const std::vector<GpuNode>& nodes) {
  std::vector<std::string> names;
  if (facts.nodes)
    for (const facts::Node& node : *facts.nodes)
      if (node.capacity.contains("nvidia.com/gpu") && node.capacity.at("nvidia.com/gpu") != "0" &&
          std::ranges::find(nodes, node.name, &GpuNode::node) == nodes.end())
        names.push_back(node.name);
  return names;
}

/// Tests all links, in order. Progress is reported separately from the result.
Result<> walk_all(Walk& walk, const std::vector<Link>& links, const session::PodTestContext& context,
                  const checks::ChainInputs& inputs, const VerifyOptions& options, Io& io) {
  walk.see_runtime_blockers(links, inputs);
  const bool network = std::ranges::any_of(links, checks::needs_network_proof) && !walk.nodes().empty();
  if (!network) walk.see(links, inputs);
  if (!network && (std::ranges::none_of(links, checks::needs_pods) || walk.whole().empty())) return {};
  Io beside = io;
  beside.out = options.format == Format::text ? io.err : [](std::string_view) {};
  beside.out_style = io.err_style;
  const auto act = [&](report::Reporter& reporter) -> Result<Outcome> {
    const auto pod_tests = TRY(session::PodTests::open(context, reporter));
    Result<> result = network ? walk.try_network(links, *pod_tests) : Result<>();
    if (result && network) walk.see(links, inputs);
    if (result) result = walk.try_out(links, *pod_tests);
    pod_tests->close();
    if (!result) return std::unexpected(result.error());
    return Outcome::done;
  };
  TRY(session::with_reporter(context.folder, Format::text, beside, act));
  return {};
}

/// Prints the findings and the verdict of the cluster, and returns the outcome.
Outcome conclude(const Walk& walk, const std::vector<GpuNode>& nodes, std::size_t tested,
                 const facts::ClusterFacts& facts, const cluster::Verdict& verdict,
                 const VerifyOptions& options, const Io& io) {
  if (options.format == Format::json) {
    base::Tree tree = report::to_tree(walk.findings());
    tree.set("gpus", gpus_of(nodes));
    tree.set("verdict", to_tree(verdict));
    io.out(base::json::write(tree) + "\n");
  } else {
    io.out(summary(nodes, tested, walk) + "\n");
    const bool well = verdict.health() == cluster::Health::well;
    io.out(
        to_text(verdict) +
        (well ? "\n" : ": gpuadm status" + session::typed(options.hosts, options.common.connection) + "\n"));
  }
  for (const std::string& name : left_out(facts, nodes))
    io.err(fmt::format("{} also has GPUs and was not selected: not verified\n", base::printable(name)));
  if (nodes.empty()) io.err("no host has an NVIDIA GPU: no link of a GPU was tested\n");
  return std::ranges::any_of(walk.findings(), report::is_open) ? Outcome::failed : Outcome::done;
}

Result<Outcome> verify(const VerifyOptions& options, Io& io) {
  return TRY(verify_cluster(options, io)).outcome;
}

}  // namespace

Result<Verified> verify_cluster(const VerifyOptions& options, Io& terminal) {
  Io io = terminal;  // links are printed while pods are waited for, on the same terminal
  if (io.err_style.view == report::View::live) io.out = report::above_live_lines(io.out, io.out_style);
  const std::vector<Link> links = TRY(links_of(options));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const checks::Floors floors =
      TRY(checks::read_floors([&](std::string_view path) { return assets.read(path); }));
  const spec::Cluster asked = TRY(session::read_cluster(options.hosts, options.common.connection));

  // State reported by hosts and control plane.
  const session::RunContext session =
      TRY(session::RunContext::open(asked, options.common.connection, Consent::given, io));
  // With the components of the control planes, as for the verdict of status.
  const session::Survey survey =
      TRY(session::take_census(*session.fleet, assets, session::Afterwards::keep_connection,
                               session::Texts::kept, session::Reasons::read));
  if (survey.none_reached()) TRY(session::all_read(survey.census));
  const auto view = TRY(session::view_cluster(asked, survey.census, *session.fleet, assets));
  if (!view) return std::unexpected(session::all_read(survey.census).error());
  const facts::ClusterFacts facts = TRY(facts::parse_cluster(*view));
  const spec::Cluster cluster = session::fitted(
      known_settings(asked, options.hosts.file, survey, *session.fleet, assets, io), survey.census, facts);
  const std::vector<GpuNode> nodes = checks::gpu_nodes(cluster, survey.census, facts);

  const std::vector<GpuNode> all = checks::cluster_nodes(cluster, survey.census, facts);
  Walk walk(all, nodes, options, io);
  walk.notify(session::unreached_in(survey.census));
  const std::vector<Finding> findings =
      TRY(session::find(cluster, {}, survey.census, assets, checks::Stage::node));
  const session::PodTestContext context{cluster,
                                        survey.census,
                                        assets,
                                        floors,
                                        *session.fleet,
                                        session.folder,
                                        control_plane_of(cluster, survey.census),
                                        both(all, nodes)};
  const checks::ChainInputs inputs{cluster, survey.census, facts, findings};
  const auto tried = walk_all(walk, links, context, inputs, options, io);
  TRY(session.folder.save_results(cluster, survey.census, walk.findings()));
  if (!tried) return std::unexpected(tried.error());
  StatusJudge judges(assets, io.err_style.complete);
  const std::optional<facts::ClusterFacts> seen = facts;
  const JudgedStatus judged =
      TRY(judges.judge({cluster, survey.census, seen, context.control_plane}, walk.findings()));
  const Outcome outcome =
      conclude(walk, nodes, context.nodes.size(), facts, judged.status.verdict, options, io);
  return Verified{outcome, walk.findings(), nodes};
}

Command verify_command() {
  return CommandRow<VerifyOptions>{
      .name = "verify",
      .group = Group::inspect,
      .summary = "Test the cluster network and run computations on every GPU in pods",
      .options =
          [](Line& line, VerifyOptions& options) {
            add_hosts(line, options.hosts);
            add_connection(line, options.common);
            line.list("--only", options.only, "LINK,...",
                      "Test only these of network, dns, driver, nvml, cdi, runtime, plugin, allocatable, "
                      "scheduling, pod, compute, reload");
            // A cluster without GPUs is not a failure any more; scripts may still use it.
            line.ignored("--allow-none");
            add_format(line, options.format);
            line.flag("--json", options.format, Format::json, "Same as -o json");
          },
      .examples = {{"gpuadm verify -f cluster.yaml", "all links"},
                   {"gpuadm verify -f cluster.yaml --only driver,nvml,cdi", "only the host's links"}},
      .run = verify};
}

}  // namespace commands
