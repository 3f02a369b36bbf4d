#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/columns.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/state.hpp"

#include "commands/operate/user/user.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

struct UserListOptions {
  Common common;
  Hosts hosts;
  Format format = Format::text;
};

struct UserShowOptions {
  UserTarget user;
  Format format = Format::text;
};

std::string security_of(const workload::UserState& user) {
  return user.pod_security.empty() ? "no label" : user.pod_security;
}

Result<Outcome> user_list(const UserListOptions& options, Io& io) {
  const auto cluster =
      TRY(ReachedCluster::open(options.hosts, options.common, session::Access::read_only, io));
  const auto users = TRY(read_users(cluster->client()));
  const base::Time now = base::now();
  if (options.format == Format::json) {
    io.out(base::json::write(workload::to_tree(users, now)) + "\n");
    return Outcome::done;
  }
  if (users.empty()) {
    io.err("the cluster has no users of gpuadm; add one: gpuadm user add NAME --gpus 1\n");
    return Outcome::done;
  }
  std::vector<std::vector<std::string>> lines = {{"NAME", "NAMESPACE", "CERTIFICATE ENDS", "QUOTA"}};
  for (const workload::UserState& user : users)
    lines.push_back({user.name, user.ns + (user.is_being_deleted ? " (being deleted)" : ""),
                     user.has_rights ? workload::end_of(user.ends, now) : "no rights",
                     workload::usage_of(user)});
  io.out(report::columns(std::move(lines), io.out_style.width, {3}));
  return Outcome::done;
}

std::string rows_text(const std::vector<workload::WorkloadRow>& rows, const std::string& ns) {
  std::string text;
  for (const workload::WorkloadRow& row : rows)
    if (row.ns == ns)
      text += fmt::format("  {} {}: {}{}\n", row.kind, row.name, row.state,
                          row.gpus.empty() || row.gpus == "0" ? "" : ", GPUs: " + row.gpus);
  return text;
}

Result<Outcome> user_show(const UserShowOptions& options, Io& io) {
  const auto cluster =
      TRY(ReachedCluster::open(options.user.hosts, options.user.common, session::Access::read_only, io));
  session::ClusterClient& client = cluster->client();
  const workload::UserState user = TRY(find_user(client, options.user.name));
  const base::Time now = base::now();
  if (options.format == Format::json) {
    io.out(base::json::write(workload::to_tree(std::span(&user, 1), now)) + "\n");
    return Outcome::done;
  }
  io.out(fmt::format("user {}\n  namespace: {}{}\n  Pod Security: {}\n  quota: {}\n  certificate ends: {}\n",
                     user.name, user.ns, user.owns_namespace ? "" : ", not created by gpuadm",
                     security_of(user), workload::usage_of(user), workload::end_of(user.ends, now)));
  if (!user.group.empty()) io.out(fmt::format("  group with the same rights: {}\n", user.group));
  if (!user.has_rights) io.out("  it has no rights: complete it with gpuadm user add\n");
  const facts::ClusterFacts facts = TRY(client.read_nodes_and_pods());
  const auto unlimited = workload::unlimited_gpus(user.hard, facts);
  if (!unlimited.empty())
    io.out(fmt::format("  not limited, because nodes have it since the quota was made: {}\n    {} --gpus N\n",
                       base::printable(base::join(unlimited, ", "), 300),
                       user_command("quota", options.user)));
  if (!workload::gpu_classes_of(facts))
    io.out("  the device classes could not be read: whether the quota limits GPUs of claims is unknown\n");
  const auto objects = TRY(client.get(
      {.kinds = workload::workload_kinds(), .ns = user.ns, .selector = workload::selector_of("")}));
  std::vector<workload::WorkloadRow> rows = workload::workload_rows(objects);
  for (workload::WorkloadRow& row : workload::other_gpu_rows(facts, objects)) rows.push_back(std::move(row));
  io.out(rows_text(rows, user.ns));
  return Outcome::done;
}

}  // namespace

Command user_list_command() {
  return CommandRow<UserListOptions>{
      .name = "user list",
      .group = Group::operate,
      .summary = "List users with namespace, quota and the end of their certificate",
      .options =
          [](Line& line, UserListOptions& options) {
            add_hosts(line, options.hosts);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm user list -f cluster.yaml", "who may hold what"}},
      .run = user_list};
}

Command user_show_command() {
  return CommandRow<UserShowOptions>{
      .name = "user show",
      .group = Group::operate,
      .summary = "Show a user with quota, certificate and workloads",
      .options =
          [](Line& line, UserShowOptions& options) {
            add_user_target(line, options.user);
            add_format(line, options.format);
          },
      .examples = {{"gpuadm user show anna -f cluster.yaml", "what anna holds"}},
      .run = user_show};
}

}  // namespace commands
