#include "gpuadm/base/text.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/inspect/fix.hpp"
#include "commands/inspect/verify.hpp"
#include "commands/install/bring_up.hpp"
#include "commands/install/closing.hpp"
#include "commands/install/up/up.hpp"
#include "commands/workloads/notebook/notebook.hpp"
#include "commands/workloads/notebook/notebook_create.hpp"
#include "commands/workloads/notebook/notebook_plan.hpp"
#include "commands/workloads/service/first_storage.hpp"

#include <fmt/format.h>

/// The stages of `gpuadm up`.
namespace commands {

namespace {

std::string counted(long long number, const char* noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

DoctorOptions fix_options(const UpOptions& options, Consent consent) {
  DoctorOptions fixes;
  fixes.common = options.common;
  fixes.hosts = options.hosts;
  fixes.fix = true;
  fixes.consent = consent;
  fixes.fail_on.reset();  // init decides what blocks it
  return fixes;
}

Result<StageResult> apply_fixes(UpRun& run, Io& io) {
  const Outcome outcome = TRY(fix(fix_options(run.options, Consent::given), io));
  return StageResult{
      outcome, run.changed > 0 ? fmt::format("steps that fix findings: {}", run.changed) : "nothing to fix",
      run.changed > 0};
}

InitOptions init_options(const UpOptions& options, Consent consent) {
  InitOptions init;
  init.common = options.common;
  init.hosts = options.hosts;
  init.consent = consent;
  init.reboots = options.reboots;
  init.bundle = options.bundle;
  init.bundle_signers = options.bundle_signers;
  init.kubernetes_version = options.kubernetes_version;
  init.region = options.region;
  init.driver = options.driver;
  init.ending = Ending::report;
  return init;
}

/// What a cluster file describes is created as by apply.
Result<Outcome> init_cluster(const UpOptions& options, Consent consent, Io& io) {
  return bring_up(init_options(options, consent),
                  options.hosts.file.empty() ? Existing::refused : Existing::accepted, Outcome::done, io);
}

Result<StageResult> init_stage(UpRun& run, Io& io) {
  const Outcome outcome = TRY(init_cluster(run.options, Consent::given, io));
  return StageResult{
      outcome,
      run.changed > 0 ? counted(run.changed, "step") + " changed" : "nothing to do: the cluster exists",
      run.changed > 0};
}

Result<StageResult> verify_stage(UpRun& run, Io& io) {
  VerifyOptions options;
  options.common = run.options.common;
  options.hosts = run.options.hosts;
  const Verified verified = TRY(verify_cluster(options, io));
  run.computed = computed_in(verified.findings, verified.gpu_nodes);
  if (run.notebook.gpus.empty()) run.notebook.gpus = verified.gpu_nodes.empty() ? "0" : "1";
  if (verified.outcome != Outcome::done)
    return StageResult{.outcome = verified.outcome, .detail = {}, .why = "a link is broken"};
  const std::string network = "pod network and DNS pass";
  if (!run.computed) return StageResult{Outcome::done, network + "; there is no GPU to test", true};
  return StageResult{Outcome::done,
                     fmt::format("{}; pods computed on {}", network, counted(run.computed->gpus, "GPU")),
                     true};
}

NamedService notebook_options(const UpRun& run) {
  return {run.options.common, run.options.hosts, run.notebook.name, run.notebook.ns};
}

/// What exists of the notebook. An interrupted creation may have left objects without a Deployment: they are
/// deleted, and its volume is used again.
Result<> find_existing(UpRun& run, ReachedCluster& cluster) {
  const NamedService options = notebook_options(run);
  const auto objects = TRY(
      cluster.client().get({.kinds = {"deployments.apps", "services", "secrets", "persistentvolumeclaims"},
                            .ns = options.ns,
                            .selector = selector_of(options)}));
  run.exists = object_of(objects, "Deployment") != nullptr;
  if (run.exists || objects.empty()) return {};
  if (object_of(objects, "Service") || object_of(objects, "Secret"))
    TRY(remove_service(cluster, options.ns, selector_of(options), workload::GpuClaims::no,
                       workload::OwnVolume::kept));
  if (object_of(objects, "PersistentVolumeClaim")) {
    run.notebook.size.clear();
    run.notebook.storage.clear();
  }
  return {};
}

Result<StageResult> storage_stage(UpRun& run, Io& io) {
  const auto cluster =
      TRY(ReachedCluster::open(run.options.hosts, run.options.common, session::Access::full, io));
  TRY(find_existing(run, *cluster));
  if (run.exists) return StageResult{Outcome::done, "the notebook has its volume"};
  if (run.notebook.size.empty()) return StageResult{Outcome::done, "the volume of the notebook exists"};
  ServicePlan plan = TRY(plan_notebook(run.notebook, run.options.hosts, *cluster));
  const auto checked = check_service(plan, 1, run.options.hosts, *cluster);
  if (checked) return StageResult{Outcome::done, "the cluster has storage for the volume"};
  if (!plan.lacks_storage) return std::unexpected(checked.error());
  run.notebook.storage =
      TRY(make_first_storage(run.notebook.size, plan, notebook_options(run), Consent::given, *cluster, io));
  return StageResult{
      Outcome::done,
      fmt::format("{}: {}", run.notebook.storage, run.changed > 0 ? "a local storage was made" : "exists"),
      run.changed > 0};
}

Result<StageResult> notebook_stage(UpRun& run, Io& io) {
  const std::string shown = run.notebook.ns + "/" + run.notebook.name;
  if (run.exists) {
    const Outcome outcome = TRY(notebook_start({notebook_options(run)}, io));
    return StageResult{outcome, shown + " exists and is ready"};
  }
  NotebookCreateOptions options;
  options.common = run.options.common;
  options.hosts = run.options.hosts;
  options.request = run.notebook;
  options.consent = Consent::given;
  const Outcome outcome = TRY(notebook_create(options, io));
  const auto gpus = TRY(workload::parse_gpus("--gpus", run.notebook.gpus));
  return StageResult{outcome, fmt::format("{} is ready ({})", shown, workload::describe(gpus)), true};
}

/// The first line that the command prints is the address.
Result<StageResult> tunnel_stage(UpRun& run, Io& io) {
  Io own = io;
  std::string url;
  own.out = [&](std::string_view text) {
    if (!url.empty()) return;
    url = std::string(base::trim(text));
    run.on_url(url);
  };
  const Outcome outcome = TRY(notebook_url({notebook_options(run), run.options.port}, own));
  return StageResult{outcome, "closed"};
}

}  // namespace

std::vector<Stage> up_stages(const UpOptions& options) {
  std::vector<Stage> stages = {{"doctor", apply_fixes}, {"init", init_stage}, {"verify", verify_stage}};
  if (options.notebook.name.empty()) return stages;
  stages.push_back({"storage", storage_stage});
  stages.push_back({"notebook", notebook_stage});
  if (options.tunnel) stages.push_back({"tunnel", tunnel_stage});
  return stages;
}

Result<StageResult> preview_fixes(UpRun& run, Io& io) {
  return StageResult{TRY(fix(fix_options(run.options, Consent::preview), io)), {}};
}

Result<StageResult> preview_init(UpRun& run, Io& io) {
  return StageResult{TRY(init_cluster(run.options, Consent::preview, io)), {}};
}

}  // namespace commands
