#include "app/trials.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "app/cluster_view.hpp"
#include "app/trial_pods.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace app {

namespace {

using checks::GpuNode;
using checks::Link;
using checks::Trial;
using report::Did;
using report::Finding;

constexpr const char* space = "gpuadm-verify";
constexpr std::chrono::seconds clean_up_timeout{180}, beat_interval{20}, look_timeout{120};

/// Keeps why a host failed, and passes everything on.
class Failures final : public report::Reporter {
 public:
  explicit Failures(report::Reporter& next) : next_(next) {}
  void on(const report::Event& event) override {
    if (event.did == Did::failed) reasons[event.host] = event.detail;
    next_.on(event);
  }
  std::map<std::string, std::string> reasons;

 private:
  report::Reporter& next_;
};

std::unexpected<base::Error> interrupted() {
  return base::fail(base::Fault::interrupted, "interrupted");
}

}  // namespace

Trials::Trials(const Ground& ground, report::Reporter& reporter, playbook::Library library, ProofImage image)
    : ground_(ground),
      reporter_(reporter),
      library_(std::move(library)),
      who_(run::identity()),
      image_(std::move(image)) {
  hosts_.push_back(ground_.control_plane);
  for (const GpuNode& node : ground_.nodes)
    if (node.host != ground_.control_plane) hosts_.push_back(node.host);
}

Result<std::unique_ptr<Trials>> Trials::open(const Ground& ground, report::Reporter& reporter) {
  std::unique_ptr<Trials> trials(new Trials(ground, reporter,
                                            TRY(playbook::Library::load(ground.assets, "verify")),
                                            TRY(ProofImage::write(ground.assets, ground.folder))));
  trials->scripts_ = {trials->library_.prelude(), TRY(ground.assets.read("playbooks/lock.sh"))};
  TRY(run::lock(trials->hosts_, ground.fleet, reporter, trials->scripts_, trials->who_));
  trials->open_ = true;
  trials->next_beat_ = base::Clock::now() + beat_interval;
  return trials;
}

Result<Trials::Reasons> Trials::perform(const std::string& phase, const std::vector<std::string>& hosts,
                                        const base::Variables& given) {
  facts::Census census;
  for (const std::string& host : hosts) census.emplace(host, ground_.census.at(host));
  plan::Choice choice{{phase}, {}, {}, given, {}, &image_.bundle()};
  plan::Plan plan = TRY(plan::make(ground_.cluster, census, library_, nullptr, choice));
  // A host that has nothing to do keeps its lock.
  for (plan::Stage& stage : plan.stages)
    for (const std::string& host : hosts_)
      if (std::ranges::find(stage.walks, host, &plan::Walk::host) == stage.walks.end())
        stage.walks.push_back({host, {}});
  Failures failures(reporter_);
  const run::Outcome outcome =
      run::execute(plan, ground_.fleet, failures, run::Mode::apply, who_, {}, run::Reboots::done,
                   [this](const auto& judge, const auto& host, const auto& output) {
                     return network_(judge, host, output);
                   });
  next_beat_ = base::Clock::now() + beat_interval;
  if (outcome.interrupted) return interrupted();
  return std::move(failures.reasons);
}

Result<> Trials::bring_image(std::span<const GpuNode> nodes) {
  std::vector<std::string> hosts;
  for (const GpuNode& node : nodes)
    if (has_image_.insert(node.host).second) hosts.push_back(node.host);
  if (!hosts.empty()) image_reasons_.merge(TRY(perform("verify/image", hosts)));
  return {};
}

Result<Trials::Batch> Trials::prepare(Link link, std::span<const GpuNode> asked,
                                      std::vector<Finding>& findings) {
  Batch batch{link, {}, {}};
  TRY(bring_image(asked));
  for (const GpuNode& node : asked) {
    const auto place = std::ranges::find(ground_.nodes, node.host, &GpuNode::host);
    Trial trial = checks::trial_of(link, node, static_cast<std::size_t>(place - ground_.nodes.begin()));
    if (const auto why = image_reasons_.find(node.host); why != image_reasons_.end()) {
      findings.push_back(checks::broken(link, node, "the image of the proof cannot be brought to the node",
                                        why->second, ""));
    } else if (trial.pods == 0) {
      findings.push_back(checks::untried(link, node, trial.why_none));
    } else {
      batch.nodes.push_back(node);
      batch.trials.push_back(std::move(trial));
    }
  }
  return batch;
}

Result<Trials::Reasons> Trials::make_pods(const Batch& batch) {
  long long count = 0;
  std::string manifests;
  for (std::size_t i = 0; i < batch.trials.size(); ++i) {
    count += batch.trials[i].pods;
    manifests += TRY(trial_manifests(library_, batch.trials[i], batch.nodes[i]));
  }
  return perform("verify/pods", {ground_.control_plane},
                 {{"verify_pods", manifests}, {"verify_count", std::to_string(count)}});
}

Result<facts::Space> Trials::look(Link link) {
  transport::Command command = TRY(view_command(ground_.assets));
  command.label = "look at the pods of " + std::string(checks::name_of(link));
  command.script = base::assignments({{"space", space}, {"logs", link == Link::scheduling ? "no" : "yes"}}) +
                   command.script;
  command.timeout = look_timeout;
  ground_.fleet.submit(ground_.control_plane, std::move(command));
  const auto completion = ground_.fleet.next();
  if (!completion || ground_.fleet.interrupted()) return interrupted();
  return facts::parse_space(TRY(completion->result).out);
}

Result<facts::Space> Trials::wait(const Batch& batch, std::chrono::seconds patience) {
  report::Event event{.host = ground_.control_plane, .stage = "verify/pods", .step = "verify.wait"};
  event.did = Did::started;
  event.detail = fmt::format("pods of {}", checks::name_of(batch.link));
  reporter_.on(event);
  event.did = Did::waiting;
  event.detail = fmt::format("{} s at most", patience.count());
  reporter_.on(event);
  const auto until = base::Clock::now() + patience;
  while (true) {
    facts::Space seen = TRY(look(batch.link));
    const bool settled = std::ranges::all_of(
        batch.trials, [&](const Trial& trial) { return checks::is_settled(trial, seen); });
    if (settled || base::Clock::now() >= until) return seen;
    beat();
    (void)ground_.fleet.next_until(base::Clock::now() + std::chrono::seconds(1));
    if (ground_.fleet.interrupted()) return interrupted();
  }
}

Result<facts::Space> Trials::reload(Batch& batch, const facts::Space& before) {
  std::vector<std::string> hosts;
  for (const GpuNode& node : batch.nodes) hosts.push_back(node.host);
  const Reasons reasons = TRY(perform("verify/reload", hosts));
  if (!reasons.empty()) return base::fail(base::Fault::remote, reasons.begin()->second);
  for (Trial& trial : batch.trials) trial.rounds = checks::rounds_of(trial, before) + 2;
  return wait(batch, patience_of(batch.trials.front()));
}

Result<std::vector<Finding>> Trials::show(Link link, std::span<const GpuNode> asked) {
  std::vector<Finding> findings;
  Batch batch = TRY(prepare(link, asked, findings));
  if (batch.trials.empty()) return findings;
  if (const Reasons reasons = TRY(make_pods(batch)); !reasons.empty()) {
    for (const GpuNode& node : batch.nodes)
      findings.push_back(checks::broken(link, node, "its pods cannot be made", reasons.begin()->second, ""));
    return findings;
  }
  auto patience = std::chrono::seconds(0);
  for (const Trial& trial : batch.trials) patience = std::max(patience, patience_of(trial));
  facts::Space seen = TRY(wait(batch, patience));
  if (link == Link::reload) seen = TRY(reload(batch, seen));
  for (std::size_t i = 0; i < batch.trials.size(); ++i)
    findings.push_back(checks::examine_trial(batch.trials[i], batch.nodes[i], seen, ground_.floors));
  return findings;
}

Result<std::vector<Finding>> Trials::show_network(Link link, std::span<const GpuNode> nodes) {
  if (!network_reasons_) {
    TRY(bring_image(nodes));
    std::string names;
    for (const GpuNode& node : nodes) names += node.node + "\n";
    network_reasons_ = TRY(perform("verify/network", {ground_.control_plane},
                                   {{"node_names", names}, {"network_proof", "always"}}));
  }
  std::vector<Finding> findings;
  for (const GpuNode& node : nodes) {
    if (const auto why = image_reasons_.find(node.host); why != image_reasons_.end())
      findings.push_back(checks::broken(link, node, "the image of the proof cannot be brought to the node",
                                        why->second, ""));
    else if (!network_reasons_->empty())
      findings.push_back(checks::broken(link, node, "the network cannot be tested",
                                        network_reasons_->begin()->second, "gpuadm doctor --stage cluster"));
    else if (!network_.tested())
      findings.push_back(checks::untried(link, node, "gpuadm imports no images into CRI-O"));
    else
      findings.push_back(network_.finding(link, node));
  }
  return findings;
}

// --- Locks, and the way back -----------------------------------------------------------------------------

std::string Trials::program(const std::string& step, const std::string& body) const {
  return scripts_.prelude +
         base::assignments({{"gpuadm_run", who_.run},
                            {"gpuadm_step", step},
                            {"gpuadm_client", who_.client},
                            {"gpuadm_owner", who_.owner},
                            {"gpuadm_timeout", std::to_string(clean_up_timeout.count())}}) +
         fmt::format("lock_enter\n(\nset -eu\n{}\n) </dev/null\nrc=$?\nlock_leave\nexit $rc\n", body);
}

void Trials::beat() {
  if (base::Clock::now() < next_beat_) return;
  next_beat_ = base::Clock::now() + beat_interval;
  for (const std::string& host : hosts_)
    ground_.fleet.submit(
        host,
        {.label = "keep the lock", .script = program("beat", ":"), .effect = transport::Effect::changes});
  while (ground_.fleet.next()) {
  }
}

void Trials::note(const std::string& host, const std::string& text) {
  report::Event event{.host = host, .stage = "verify/clean"};
  event.detail = text;
  reporter_.on(event);
}

void Trials::clean(const std::vector<std::string>& hosts, const std::string& label,
                   const std::string& function) {
  const auto undo = ground_.assets.read("playbooks/undo.sh");
  for (const std::string& host : hosts)
    ground_.fleet.submit(host, {.label = label,
                                .script = undo.value_or("") + program("verify.clean", function),
                                .effect = transport::Effect::changes,
                                .purpose = transport::Purpose::clean_up,
                                .timeout = clean_up_timeout});
  while (const auto completion = ground_.fleet.next()) {
    const auto& result = completion->result;
    if (!result)
      note(completion->host,
           fmt::format("what was made could not be taken away ({}): {}", label, result.error().what));
    else if (result->status != 0)
      note(completion->host,
           fmt::format("what was made could not be taken away ({}): {}", label, base::tail(result->err, 3)));
  }
}

void Trials::close() {
  if (!std::exchange(open_, false)) return;
  clean({ground_.control_plane}, "remove the namespace gpuadm-verify", "verify_space_remove");
  clean(hosts_, "remove the image of the proof", "verify_host_restore");
  run::unlock(hosts_, ground_.fleet, reporter_, scripts_, who_);
}

}  // namespace app
