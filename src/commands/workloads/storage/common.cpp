#include "commands/workloads/storage/common.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/install/identity.hpp"

#include <fmt/format.h>

#include <utility>

namespace commands {

using base::Fault;

Result<> check_all_hosts(const Hosts& hosts) {
  if (hosts.file.empty() || hosts.targets.empty()) return {};
  return base::fail(Fault::usage, "a storage is on all hosts of the cluster file: do not name hosts",
                    "leave out " + base::join(hosts.targets, " "));
}

Result<StorageSource> read_storages(const Hosts& hosts, spec::Cluster cluster,
                                    const std::string& control_plane, transport::Fleet& fleet,
                                    const assets::Store& assets) {
  auto stored = read_stored_cluster(control_plane, fleet, assets);
  if (!stored && (hosts.file.empty() || stored.error().fault != Fault::blocked))
    return std::unexpected(stored.error());
  if (stored && !hosts.file.empty()) TRY(require_same(*stored, cluster, control_plane, hosts.file.string()));
  if (stored) {
    stored->hosts = cluster.hosts;
    stored->ssh = cluster.ssh;
  }
  StorageSource source{std::move(cluster), {}, stored ? std::optional(std::move(*stored)) : std::nullopt};
  if (hosts.file.empty())
    source.cluster = *source.stored;
  else
    source.file = TRY(base::read_file(hosts.file, 1u << 20));
  return source;
}

Result<plan::Plan> with_stored_file(plan::Plan plan, const std::optional<spec::Cluster>& stored,
                                    const facts::Census& census, const assets::Store& assets) {
  if (!stored) return plan;
  const auto store = TRY(playbook::Library::load(assets, "storage-store"));
  for (plan::Stage& stage : TRY(plan::make(*stored, {}, census, store, nullptr, {})).stages)
    plan.stages.push_back(std::move(stage));
  return plan;
}

Result<Outcome> execute(const StorageRun& run, const PlanOf& plan_of, Io& io) {
  plan::Plan first = TRY(plan_of(run.survey.census));
  session::Execution execution{run.assets, std::move(first), {}, run.consent, {}};
  for (const spec::Host& host : run.cluster.hosts) execution.hosts.push_back(host.name);
  bool locked = false;
  execution.again = [&](const auto&) -> Result<plan::Plan> {
    if (run.locked && !std::exchange(locked, true)) TRY(run.locked());
    return plan_of(TRY(run.session.survey_all(run.assets)).census);
  };
  return session::with_reporter(run.session.folder, run.format, io, [&](report::Reporter& reporter) {
    return session::execute(execution, run.session, reporter, io);
  });
}

Result<spec::Storage> storage_named(const spec::Cluster& cluster, const std::string& name) {
  if (const spec::Storage* found = spec::find_storage(cluster, name)) return *found;
  std::vector<std::string> names;
  for (const spec::Storage& storage : cluster.storage) names.push_back(storage.name);
  const auto near = base::nearest(name, names);
  return base::fail(Fault::usage,
                    fmt::format("the cluster has no storage named {}{}", base::printable(name, 80),
                                near ? fmt::format(" (did you mean {}?)", *near) : ""),
                    names.empty() ? "add one: gpuadm storage add NAME nfs --server HOST --export PATH"
                                  : "it has: " + base::join(names, ", "));
}

Result<std::vector<workload::ClaimOnStorage>> read_claims(session::ClusterClient& client,
                                                          const std::string& storage) {
  std::string selector =
      fmt::format("{}={},{}", workload::managed_by_label, workload::managed_by, workload::storage_label);
  if (!storage.empty()) selector += "=" + storage;
  return workload::claims_in(TRY(client.get({{"persistentvolumeclaims"}, {}, selector})));
}

Result<> write_cluster_file(const std::filesystem::path& file, const std::string& before,
                            const std::string& after) {
  if (TRY(base::read_file(file, 1u << 20)) != before)
    return base::fail(
        Fault::blocked,
        fmt::format("{} was changed by others during the run, and was not written", file.string()),
        "run the same command again");
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(file, error);
  const auto mode = static_cast<unsigned>(std::filesystem::status(target, error).permissions()) & 0777U;
  return base::write_file(target, after, mode);
}

}  // namespace commands
