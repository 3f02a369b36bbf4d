#include "commands/workloads/train/train_session.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/workloads/reach.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

using base::Fault;
using base::Tree;
using workload::RankState;

Result<std::unique_ptr<TrainSession>> open_train_session(const Common& common, const Hosts& hosts,
                                                         session::Access access, Io& io) {
  spec::Cluster cluster = TRY(session::read_cluster(hosts, common.connection));
  assets::Store assets = TRY(assets::Store::open(common.assets));
  auto opened =
      std::make_unique<TrainSession>(TrainSession{std::move(cluster), std::move(assets), {}, {}, {}});
  opened->connections = TRY(session::Connections::open(opened->cluster, common.connection, io));
  opened->fleet = opened->connections->fleet(access);
  opened->client = TRY(session::ClusterClient::open(opened->cluster, *opened->fleet, opened->assets));
  return opened;
}

Result<std::vector<workload::TrainState>> read_train_states(session::ClusterClient& client,
                                                            const std::string& ns, const std::string& name) {
  std::vector<Tree> jobs, pods;
  for (Tree& item :
       TRY(client.get({{"jobs.batch", "pods"}, ns, workload::selector_of(workload::train_kind, name)}))) {
    const Tree* kind = item.find("kind");
    (kind && kind->text() == "Pod" ? pods : jobs).push_back(std::move(item));
  }
  return workload::train_states(jobs, pods);
}

Result<workload::TrainState> read_train_state(session::ClusterClient& client, const std::string& ns,
                                              const std::string& name) {
  TRY(workload::check_name("training job", name));
  auto states = TRY(read_train_states(client, ns, name));
  if (!states.empty()) return std::move(states.front());
  std::vector<std::string> names;
  for (const workload::TrainState& one : TRY(read_train_states(client, ns, "")))
    names.push_back(base::printable(one.name, 60));
  const auto near = base::nearest(name, names);
  return base::fail(Fault::usage, fmt::format("there is no training job {} in the namespace {}", name, ns),
                    near            ? fmt::format("did you mean {}?", *near)
                    : names.empty() ? "gpuadm train list shows those of all namespaces"
                                    : "it has: " + base::join(names, ", "));
}

namespace {

Result<std::size_t> delete_selected_objects(session::ClusterClient& client, const std::string& ns,
                                            const std::string& selector, bool claims) {
  // Jobs first: their controller would replace pods.
  std::vector<std::string> kinds = {"jobs.batch", "pods", "services", "secrets", "configmaps"};
  if (claims) kinds.emplace_back("resourceclaimtemplates.resource.k8s.io");
  return TRY(client.remove(ns, kinds, selector)).size();
}

}  // namespace

Result<std::size_t> delete_train_objects(session::ClusterClient& client, const std::string& ns,
                                         const std::string& name, bool claims) {
  return delete_selected_objects(client, ns, workload::selector_of(workload::train_kind, name), claims);
}

base::Error withdraw_train_objects(session::ClusterClient& client, const workload::TrainJob& job, bool claims,
                                   base::Error error, Io& io) {
  report_deletion("train/" + job.name, io);
  const std::string selector = workload::instance_selector(workload::train_kind, job.name, job.instance);
  if (const auto deleted = delete_selected_objects(client, job.ns, selector, claims); !deleted) {
    error.what += fmt::format("; its objects could not be deleted: {}", deleted.error().what);
    error.hint = fmt::format("gpuadm train stop {} -n {}", job.name, job.ns);
  }
  return error;
}

Result<> end_ranks(session::ClusterClient& client, const workload::TrainState& state) {
  const Tree none = Tree::map_of({{"spec", Tree::map_of({{"parallelism", 0}})}});
  for (const std::string& job : state.jobs) TRY(client.patch(state.ns, "jobs.batch/" + job, none));
  return {};
}

std::string progress_of(const workload::TrainState& state) {
  const auto running = std::ranges::count_if(state.states, [](const RankState& one) {
    return one.phase != RankState::Phase::missing && one.phase != RankState::Phase::pending;
  });
  const RankState* waiting = state.waiting();
  const std::string why = waiting ? fmt::format("; rank {}: {}", waiting->rank,
                                                waiting->why.empty() ? "no pod yet" : waiting->why)
                                  : "";
  return fmt::format("{} of {} ranks run{}", running, state.states.size(), why);
}

}  // namespace commands
