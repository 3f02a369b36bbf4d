#include "app/workload/train_create.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/transport/run_local.hpp"
#include "gpuadm/workload/train_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace app {

namespace {

using base::Fault;
using base::Tree;
using workload::TrainJob;

/// The API server is not older than a kubelet.
std::optional<base::Version> oldest_kubelet(const facts::ClusterFacts& cluster) {
  std::optional<base::Version> oldest;
  for (const facts::Node& node : *cluster.nodes) {
    const auto version = base::Version::parse(node.kubelet);
    if (!version) return std::nullopt;
    if (!oldest || *version < *oldest) oldest = version;
  }
  return oldest;
}

/// Nothing if it could not be read; an interrupt is an error.
Result<std::optional<std::vector<Tree>>> get_if_readable(session::ClusterClient& client,
                                                         const session::ObjectQuery& query) {
  auto objects = client.get(query);
  if (objects) return std::optional(std::move(*objects));
  if (objects.error().fault == Fault::interrupted) return std::unexpected(objects.error());
  return std::nullopt;
}

bool has_claims(const TrainJob& job) {
  return std::ranges::any_of(job.roles, [](const workload::Role& role) {
    const Tree* volumes = role.pod.find("volumes");
    return volumes && std::ranges::any_of(volumes->items(), [](const Tree& volume) {
             return volume.find("persistentVolumeClaim") != nullptr;
           });
  });
}

std::optional<std::string> decoded(std::string_view text) {
  static constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0, count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U | static_cast<unsigned>(digit)) & 0xFFFFFFU;
    count += 6;
    if (count >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 0xFFU);
  }
  return bytes;
}

Result<workload::MpiKeys> make_keys() {
  const transport::Exit exit = TRY(
      transport::run_local("create SSH keys", {}, TRY(assets::Store::carried("playbooks/local/ssh-keys.sh")),
                           std::chrono::seconds(20)));
  std::array<std::string, 4> files;
  const auto lines = base::lines(exit.out);
  if (exit.status == 0 && lines.size() == files.size()) {
    bool valid = true;
    for (std::size_t i = 0; i < files.size(); ++i) {
      auto text = decoded(lines[i]);
      valid = valid && text;
      if (text) files[i] = std::move(*text);
    }
    if (valid) return workload::MpiKeys{files[0], files[1], files[2], files[3]};
  }
  return base::fail(Fault::usage,
                    fmt::format("cannot create the SSH keys of the job: {}", base::tail(exit.err, 2)),
                    "install openssh-client");
}

}  // namespace

Result<TrainView> view_for(session::ClusterClient& client, const TrainJob& job) {
  TrainView view;
  view.cluster = TRY(client.read_nodes_and_pods());
  view.supply = TRY(workload::supply_of(view.cluster));
  view.form = workload::form_of(job, oldest_kubelet(view.cluster));
  std::optional<std::vector<Tree>> claims, leases;
  if (has_claims(job)) claims = TRY(get_if_readable(client, {{"persistentvolumeclaims"}, job.space, {}}));
  if (job.ranks() > 1) leases = TRY(get_if_readable(client, {{"leases"}, "kube-node-lease", {}}));
  auto existing = TRY(read_train_states(client, job.space, job.name));
  view.findings = workload::examine_train({.job = job,
                                           .cluster = view.cluster,
                                           .supply = view.supply,
                                           .existing = std::move(existing),
                                           .claims = std::move(claims),
                                           .leases = std::move(leases),
                                           .image_problem = image_problem_of(job)});
  return view;
}

Result<workload::TrainContext> train_context(const TrainJob& job, const TrainView* view,
                                             const assets::Store& assets) {
  workload::TrainContext context;
  context.scripts.rank = TRY(assets.read("playbooks/workload/rank.sh"));
  context.scripts.mpi = TRY(assets.read("playbooks/workload/mpi.sh"));
  if (view) {
    context.form = view->form;
    context.supply = view->supply;
  } else {
    context.form = workload::form_of(job, base::Version{1, 28, 0});
    context.supply.runtime_class = "nvidia";
  }
  if (job.framework == workload::Framework::mpi && job.ranks() > 1) context.keys = TRY(make_keys());
  return context;
}

Result<> create_train_objects(session::ClusterClient& client, const TrainJob& job,
                              workload::TrainContext context) {
  const workload::TrainObjects without = TRY(workload::objects_of(job, context));
  if (!without.services.empty()) {
    TRY(client.create(job.space, without.services));
    for (const Tree& service :
         TRY(client.get({{"services"}, job.space, workload::selector_of(workload::train_kind, job.name)}))) {
      const Tree *name = service.at({"metadata", "name"}), *address = service.at({"spec", "clusterIP"});
      if (name && address && !address->text().empty() && address->text() != "None")
        context.addresses[name->text()] = address->text();
    }
    if (context.addresses.size() != without.services.size())
      return base::fail(Fault::remote, fmt::format("the Services of train/{} have no addresses", job.name),
                        "gpuadm doctor --stage cluster");
  }
  std::vector<base::Secret> secrets;
  if (context.keys)
    for (const std::string& key : {context.keys->client, context.keys->host}) {
      secrets.emplace_back(key);
      secrets.emplace_back(base::base64(key));
    }
  TRY(client.create(job.space, TRY(workload::objects_of(job, context)).others, std::move(secrets)));
  return {};
}

}  // namespace app
