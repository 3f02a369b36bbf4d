#include "gpuadm/session/pod_tests.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/cluster.hpp"

#include "session/run/pod_test_manifests.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {

namespace {

using checks::GpuNode;
using checks::Link;
using checks::PodTest;
using report::Did;
using report::Finding;

constexpr const char* ns = "gpuadm-verify";
constexpr std::chrono::seconds clean_up_timeout{360}, heartbeat_interval{20}, query_timeout{120};

/// Records why a host failed, and forwards all events.
class Failures final : public report::Reporter {
 public:
  explicit Failures(report::Reporter& next) : next_(next) {}
  void on(const report::Event& event) override {
    if (event.did == Did::failed) reasons[event.host] = event.detail;
    next_.on(event);
  }
  void tick(base::Time now) override { next_.tick(now); }
  std::map<std::string, std::string> reasons;

 private:
  report::Reporter& next_;
};

std::unexpected<base::Error> interrupted() {
  return base::fail(base::Fault::interrupted, "interrupted");
}

}  // namespace

PodTests::PodTests(const PodTestContext& context, report::Reporter& reporter, playbook::Library library,
                   ProofImage image)
    : context_(context), reporter_(reporter), library_(std::move(library)), image_(std::move(image)) {
  hosts_.push_back(context_.control_plane);
  for (const GpuNode& node : context_.nodes)
    if (node.host != context_.control_plane) hosts_.push_back(node.host);
}

Result<std::unique_ptr<PodTests>> PodTests::open(const PodTestContext& context, report::Reporter& reporter) {
  playbook::Library library = TRY(playbook::Library::load(context.assets, "verify"));
  auto image = TRY(ProofImage::write(context.assets, context.folder));
  std::string lock = TRY(context.assets.read("playbooks/lock.sh"));
  std::unique_ptr<PodTests> pod_tests(new PodTests(context, reporter, std::move(library), std::move(image)));
  pod_tests->who_ = TRY(run::identity());
  pod_tests->scripts_ = {pod_tests->library_.prelude(), std::move(lock)};
  TRY(run::lock(pod_tests->hosts_, context.fleet, reporter, pod_tests->scripts_, pod_tests->who_));
  pod_tests->open_ = true;
  pod_tests->next_heartbeat_ = base::Clock::now() + heartbeat_interval;
  return pod_tests;
}

Result<PodTests::Reasons> PodTests::execute(const std::string& phase, const std::vector<std::string>& hosts,
                                            const base::Variables& given) {
  facts::Census census;
  for (const std::string& host : hosts) census.emplace(host, context_.census.at(host));
  plan::Choice choice{{phase}, {}, {}, given, {}, &image_.bundle()};
  plan::Plan plan = TRY(plan::make(context_.cluster, {}, census, library_, nullptr, choice));
  // Keeps the lock of an idle host.
  for (plan::Stage& stage : plan.stages)
    for (const std::string& host : hosts_)
      if (std::ranges::find(stage.walks, host, &plan::Walk::host) == stage.walks.end())
        stage.walks.push_back({host, {}});
  Failures failures(reporter_);
  const run::Outcome outcome =
      run::execute(plan, context_.fleet, failures, run::Mode::apply, who_, {}, run::Reboots::done,
                   [this](const auto& judge, const auto& host, const auto& output) {
                     return network_(judge, host, output);
                   });
  next_heartbeat_ = base::Clock::now() + heartbeat_interval;
  if (outcome.interrupted) return interrupted();
  return std::move(failures.reasons);
}

Result<> PodTests::import_image(std::span<const GpuNode> nodes) {
  std::vector<std::string> hosts;
  for (const GpuNode& node : nodes)
    if (has_image_.insert(node.host).second) hosts.push_back(node.host);
  if (!hosts.empty()) image_reasons_.merge(TRY(execute("verify/image", hosts)));
  return {};
}

Result<PodTests::Batch> PodTests::prepare(Link link, std::span<const GpuNode> asked,
                                          std::vector<Finding>& findings) {
  Batch batch{link, {}, {}};
  TRY(import_image(asked));
  for (const GpuNode& node : asked) {
    const auto place = std::ranges::find(context_.nodes, node.host, &GpuNode::host);
    PodTest pod_test =
        checks::pod_test_of(link, node, static_cast<std::size_t>(place - context_.nodes.begin()));
    if (const auto why = image_reasons_.find(node.host); why != image_reasons_.end()) {
      findings.push_back(checks::broken(link, node, "the gpuadm-proof image cannot be imported on the node",
                                        why->second, ""));
    } else if (pod_test.pods == 0) {
      findings.push_back(checks::untried(link, node, pod_test.why_none));
    } else {
      batch.nodes.push_back(node);
      batch.pod_tests.push_back(std::move(pod_test));
    }
  }
  return batch;
}

Result<PodTests::Reasons> PodTests::make_pods(const Batch& batch) {
  long long count = 0;
  std::string manifests;
  for (std::size_t i = 0; i < batch.pod_tests.size(); ++i) {
    count += batch.pod_tests[i].pods;
    manifests += TRY(test_manifests(library_, batch.pod_tests[i], batch.nodes[i]));
  }
  return execute("verify/pods", {context_.control_plane},
                 {{"verify_pods", manifests}, {"verify_count", std::to_string(count)}});
}

Result<facts::Space> PodTests::read_pods(Link link) {
  transport::Command command = TRY(view_command(context_.assets));
  command.label = "read the pods of " + std::string(checks::name_of(link));
  command.script = base::assignments({{"namespace", ns}, {"logs", link == Link::scheduling ? "no" : "yes"}}) +
                   command.script.text();
  command.timeout = query_timeout;
  context_.fleet.submit(context_.control_plane, std::move(command));
  const auto completion = context_.fleet.next();
  if (!completion || context_.fleet.interrupted()) return interrupted();
  return facts::parse_ns(TRY(completion->result).out);
}

Result<facts::Space> PodTests::wait(const Batch& batch, std::chrono::seconds timeout) {
  report::Event event{.host = context_.control_plane, .stage = "verify/pods", .step = "verify.wait"};
  event.did = Did::started;
  event.detail = fmt::format("pods of {}", checks::name_of(batch.link));
  reporter_.on(event);
  event.did = Did::waiting;
  event.detail = fmt::format("at most {}s", timeout.count());
  reporter_.on(event);
  const auto until = base::Clock::now() + timeout;
  while (true) {
    facts::Space survey = TRY(read_pods(batch.link));
    const bool resolved = std::ranges::all_of(
        batch.pod_tests, [&](const PodTest& pod_test) { return checks::is_decided(pod_test, survey); });
    if (resolved || base::Clock::now() >= until) return survey;
    heartbeat();
    (void)context_.fleet.next_until(base::Clock::now() + std::chrono::seconds(1));
    if (context_.fleet.interrupted()) return interrupted();
  }
}

Result<facts::Space> PodTests::reload(Batch& batch, const facts::Space& before) {
  std::vector<std::string> hosts;
  for (const GpuNode& node : batch.nodes) hosts.push_back(node.host);
  const Reasons reasons = TRY(execute("verify/reload", hosts));
  if (!reasons.empty()) return base::fail(base::Fault::remote, reasons.begin()->second);
  for (PodTest& pod_test : batch.pod_tests) pod_test.rounds = checks::rounds_of(pod_test, before) + 2;
  return wait(batch, time_limit_of(batch.pod_tests.front()));
}

Result<std::vector<Finding>> PodTests::show(Link link, std::span<const GpuNode> asked) {
  std::vector<Finding> findings;
  Batch batch = TRY(prepare(link, asked, findings));
  if (batch.pod_tests.empty()) return findings;
  if (const Reasons reasons = TRY(make_pods(batch)); !reasons.empty()) {
    for (const GpuNode& node : batch.nodes)
      findings.push_back(
          checks::broken(link, node, "its pods cannot be created", reasons.begin()->second, ""));
    return findings;
  }
  auto timeout = std::chrono::seconds(0);
  for (const PodTest& pod_test : batch.pod_tests) timeout = std::max(timeout, time_limit_of(pod_test));
  facts::Space survey = TRY(wait(batch, timeout));
  if (link == Link::reload) survey = TRY(reload(batch, survey));
  for (std::size_t i = 0; i < batch.pod_tests.size(); ++i)
    findings.push_back(checks::examine_pod_test(batch.pod_tests[i], batch.nodes[i], survey, context_.floors));
  return findings;
}

Result<std::vector<Finding>> PodTests::show_network(Link link, std::span<const GpuNode> nodes) {
  if (!network_reasons_) {
    TRY(import_image(nodes));
    std::string names;
    for (const GpuNode& node : nodes) names += node.node + "\n";
    network_reasons_ = TRY(execute("verify/network", {context_.control_plane},
                                   {{"node_names", names}, {"network_proof", "always"}}));
  }
  std::vector<Finding> findings;
  for (const GpuNode& node : nodes) {
    if (const auto why = image_reasons_.find(node.host); why != image_reasons_.end())
      findings.push_back(checks::broken(link, node, "the gpuadm-proof image cannot be imported on the node",
                                        why->second, ""));
    else if (!network_reasons_->empty())
      findings.push_back(checks::broken(link, node, "cannot test the network",
                                        network_reasons_->begin()->second, "gpuadm doctor --stage cluster"));
    else if (!network_.tested())
      findings.push_back(checks::untried(link, node, "gpuadm imports no images into CRI-O"));
    else
      findings.push_back(network_.finding(link, node));
  }
  return findings;
}

// --- Locks, and cleanup -----------------------------------------------------------------------------

std::string PodTests::program(const std::string& step, const std::string& body) const {
  return scripts_.prelude +
         base::assignments({{"gpuadm_run", who_.run},
                            {"gpuadm_step", step},
                            {"gpuadm_client", who_.client},
                            {"gpuadm_owner", who_.owner},
                            {"gpuadm_timeout", std::to_string(clean_up_timeout.count())}}) +
         fmt::format("lock_enter\n(\nset -eu\n{}\n) </dev/null\nrc=$?\nlock_leave\nexit $rc\n", body);
}

void PodTests::heartbeat() {
  if (base::Clock::now() < next_heartbeat_) return;
  next_heartbeat_ = base::Clock::now() + heartbeat_interval;
  for (const std::string& host : hosts_)
    context_.fleet.submit(
        host,
        {.label = "keep the lock", .script = program("beat", ":"), .effect = transport::Effect::changes});
  while (context_.fleet.next()) {
  }
}

void PodTests::note(const std::string& host, const std::string& text) {
  report::Event event{.host = host, .stage = "verify/clean"};
  event.detail = text;
  reporter_.on(event);
}

void PodTests::clean(const std::vector<std::string>& hosts, const std::string& label,
                     const std::string& function) {
  const auto undo = context_.assets.read("playbooks/undo.sh");
  for (const std::string& host : hosts)
    context_.fleet.submit(host, {.label = label,
                                 .script = undo.value_or("") + program("verify.clean", function),
                                 .effect = transport::Effect::changes,
                                 .purpose = transport::Purpose::clean_up,
                                 .timeout = clean_up_timeout});
  while (const auto completion = context_.fleet.next()) {
    const auto& result = completion->result;
    if (!result)
      note(completion->host,
           fmt::format("cannot remove the test's objects ({}): {}", label, result.error().what));
    else if (result->status != 0)
      note(completion->host,
           fmt::format("cannot remove the test's objects ({}): {}", label, base::tail(result->err, 3)));
  }
}

void PodTests::close() {
  if (!std::exchange(open_, false)) return;
  clean({context_.control_plane}, "remove the namespace gpuadm-verify", "verify_space_remove");
  clean(hosts_, "remove the gpuadm-proof image", "verify_host_restore");
  run::unlock(hosts_, context_.fleet, reporter_, scripts_, who_);
}

}  // namespace session
