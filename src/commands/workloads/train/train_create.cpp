#include "commands/workloads/train/train_create.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/transport/run_local.hpp"
#include "gpuadm/workload/train_check.hpp"
#include "gpuadm/workload/train_volume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace commands {

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

Result<> only_one(const std::string& first, const std::string& second) {
  if (first.empty()) return {};
  return base::fail(
      Fault::usage,
      fmt::format("--size: {} and {} would both be new volumes; a job creates one", first, second),
      fmt::format("create the other claim first: gpuadm storage claim CLAIM --size 10Gi --on {}", second));
}

const Tree* find_claim(const std::vector<Tree>& objects, const std::string& name) {
  const auto found = std::ranges::find_if(objects, [&](const Tree& object) {
    return text_at(object, {"kind"}) == "PersistentVolumeClaim" &&
           text_at(object, {"metadata", "name"}) == name;
  });
  return found == objects.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Tree> TrainVolumePlan::objects() const {
  if (on_storage) return on_storage->objects();
  return of_class ? std::vector<Tree>{*of_class} : std::vector<Tree>();
}

Result<TrainVolumePlan> plan_train_volume(TrainRequest& request, const spec::Cluster& hosts,
                                          session::ClusterClient& client) {
  TrainVolumePlan plan;
  if (request.volumes.empty()) return plan;
  TrainJob& job = request.job;
  const auto objects = TRY(client.get({{"storageclasses", "persistentvolumeclaims"}, job.ns, {}}));
  workload::VolumeNames names{
      workload::names_in(objects, "PersistentVolumeClaim"), {}, workload::names_in(objects, "StorageClass")};
  const bool all_claims = std::ranges::all_of(
      request.volumes, [&](const std::string& name) { return std::ranges::count(names.claims, name) > 0; });
  if (all_claims && request.size.empty()) return plan;
  const spec::Cluster known = TRY(with_known_storages(request.hosts, hosts, client));
  for (const spec::Storage& storage : known.storage) names.storages.push_back(storage.name);
  const auto size = request.size.empty() ? workload::VolumeSize::missing : workload::VolumeSize::given;
  std::string fresh;
  for (const std::string& name : request.volumes) {
    // Next to a new volume, claims that exist are mounted.
    if (request.volumes.size() > 1 && std::ranges::count(names.claims, name) > 0) continue;
    const workload::VolumeKind kind = TRY(workload::volume_kind(name, size, names, job.ns));
    if (kind == workload::VolumeKind::claim) continue;
    TRY(only_one(fresh, name));
    fresh = name;
    const std::string storage = kind == workload::VolumeKind::storage ? name : "";
    if (const Tree* earlier = find_claim(objects, job.name)) {
      TRY(workload::check_earlier_claim(*earlier, job, storage));
      plan.note = fmt::format("using the volume of the earlier train/{} in {}", job.name, job.ns);
    } else if (kind == workload::VolumeKind::storage) {
      plan.on_storage = TRY(plan_claim(known, TRY(storage_named(known, name)),
                                       workload::claim_of_job(job, request.size), client));
    } else {
      plan.of_class = workload::claim_of_job(job, request.size, name);
    }
    workload::mount_claim_of_job(job, name);
  }
  if (fresh.empty() && !request.size.empty())
    return base::fail(Fault::blocked,
                      fmt::format("--size: {} exist{} and has a size", base::join(request.volumes, ", "),
                                  request.volumes.size() == 1 ? "s" : ""),
                      "leave out --size");
  return plan;
}

TrainVolumePlan plan_train_volume_offline(TrainRequest& request, const spec::Cluster& cluster) {
  TrainVolumePlan plan;
  if (request.size.empty() || request.volumes.empty()) return plan;
  TrainJob& job = request.job;
  const std::string name = request.volumes.front();
  if (const spec::Storage* storage = spec::find_storage(cluster, name))
    plan.on_storage =
        ClaimPlan{*storage, workload::claim_of_job(job, request.size), storage->host, storage->host};
  else
    plan.of_class = workload::claim_of_job(job, request.size, name);
  workload::mount_claim_of_job(job, name);
  return plan;
}

Result<TrainVolume> create_train_volume(const TrainVolumePlan& plan, const std::string& ns,
                                        session::ClusterClient& client, Io& io) {
  TrainVolume volume;
  if (!plan.note.empty() && io.err_style.verbosity != report::Verbosity::quiet) io.err(plan.note + "\n");
  if (!plan.is_new()) return volume;
  if (plan.on_storage) {
    volume.folder = TRY(make_claim_folder(*plan.on_storage, client));
    io.err(note_of(*plan.on_storage, volume.folder));
  }
  const auto created = client.create(ns, plan.objects());
  if (created) return volume;
  if (plan.on_storage) drop_claim_folder(*plan.on_storage, volume.folder, client);
  return std::unexpected(created.error());
}

Result<> delete_train_volume(const TrainVolumePlan& plan, const TrainVolume& volume, const TrainJob& job,
                             session::ClusterClient& client) {
  if (!plan.is_new()) return {};
  TRY(client.remove(job.ns, {"persistentvolumeclaims"},
                    workload::selector_of(workload::train_kind, job.name)));
  if (!plan.on_storage) return {};
  return remove_volume(*plan.on_storage, volume.folder.existed ? ClaimFiles::kept : ClaimFiles::deleted,
                       client);
}

Result<TrainView> view_for(session::ClusterClient& client, const TrainJob& job,
                           const std::vector<Tree>& created) {
  TrainView view;
  const auto began = base::Clock::now();
  view.cluster = TRY(client.read_nodes_and_pods());
  view.supply = TRY(workload::supply_of(view.cluster));
  view.oldest = oldest_kubelet(view.cluster);
  TRY(workload::check_sidecars(job, view.oldest));
  view.form = workload::form_of(job, view.oldest);
  std::optional<std::vector<Tree>> claims, leases;
  if (has_claims(job)) claims = TRY(get_if_readable(client, {{"persistentvolumeclaims"}, job.ns, {}}));
  if (claims)
    for (const Tree& object : created)
      if (text_at(object, {"kind"}) == "PersistentVolumeClaim") claims->push_back(object);
  if (job.ranks() > 1) leases = TRY(get_if_readable(client, {{"leases"}, "kube-node-lease", {}}));
  const std::chrono::duration<double> passed = base::Clock::now() - began;
  auto existing = TRY(read_train_states(client, job.ns, job.name));
  TRY(workload::check_queue(job, view.form, view.supply));
  // GPUs that others hold now do not matter to a job that waits in a queue.
  workload::GpuSupply supply = view.supply;
  if (!job.queue.empty())
    for (workload::GpuOffer& offer : supply.offers) offer.free = offer.all;
  view.findings = workload::examine_train({.job = job,
                                           .cluster = view.cluster,
                                           .supply = supply,
                                           .existing = std::move(existing),
                                           .claims = std::move(claims),
                                           .leases = std::move(leases),
                                           .read_seconds = passed.count(),
                                           .image_problem = image_problem_of(job)});
  return view;
}

Result<workload::TrainContext> train_context(const TrainJob& job, workload::JobForm form,
                                             const workload::GpuSupply& supply, const assets::Store& assets) {
  workload::TrainContext context{.form = form, .supply = supply};
  context.scripts.rank = TRY(assets.read("playbooks/workload/rank.sh"));
  context.scripts.mpi = TRY(assets.read("playbooks/workload/mpi.sh"));
  if (job.framework == workload::Framework::mpi && job.ranks() > 1) context.keys = TRY(make_keys());
  return context;
}

Result<> create_companions(session::ClusterClient& client, TrainJob& job, Io& io) {
  if (job.companions.empty()) return {};
  for (const Tree& existing : TRY(client.find(workload::companions_of(job)))) {
    const std::string kind = text_at(existing, {"kind"}), name = text_at(existing, {"metadata", "name"});
    const Tree* labels = existing.at({"metadata", "labels"});
    const bool is_own = labels && text_of(*labels, workload::kind_label) == workload::train_kind &&
                        text_of(*labels, workload::name_label) == job.name;
    if (kind != "PersistentVolumeClaim" || !is_own)
      return base::fail(Fault::blocked,
                        fmt::format("the {} {}/{} of the manifest exists", base::printable(kind, 60), job.ns,
                                    base::printable(name, 80)),
                        "remove it from the manifest to use it as it is, or delete it");
    if (io.err_style.verbosity != report::Verbosity::quiet)
      io.err(fmt::format("using the claim {} of the earlier train/{} in {}\n", base::printable(name, 80),
                         job.name, job.ns));
    std::erase_if(job.companions, [&](const Tree& one) {
      return text_of(one, "kind") == kind && text_at(one, {"metadata", "name"}) == name;
    });
  }
  if (!job.companions.empty()) TRY(client.create(job.ns, workload::companions_of(job)));
  return {};
}

Result<> delete_companion_claims(session::ClusterClient& client, const TrainJob& job) {
  if (std::ranges::none_of(job.companions,
                           [](const Tree& one) { return text_of(one, "kind") == "PersistentVolumeClaim"; }))
    return {};
  TRY(client.remove(job.ns, {"persistentvolumeclaims"},
                    workload::instance_selector(workload::train_kind, job.name, job.instance)));
  return {};
}

Result<> create_train_objects(session::ClusterClient& client, const TrainJob& job,
                              workload::TrainContext context) {
  const workload::TrainObjects without = TRY(workload::objects_of(job, context));
  if (!without.services.empty()) {
    TRY(client.create(job.ns, without.services));
    for (const Tree& service :
         TRY(client.get({{"services"}, job.ns, workload::selector_of(workload::train_kind, job.name)}))) {
      const Tree *name = service.at({"metadata", "name"}), *address = service.at({"spec", "clusterIP"});
      if (name && address && !address->text().empty() && address->text() != "None")
        context.addresses[name->text()] = address->text();
    }
    const auto of_ranks = std::ranges::count_if(
        without.services, [](const Tree& service) { return !service.at({"spec", "clusterIP"}); });
    if (std::cmp_less(context.addresses.size(), of_ranks))
      return base::fail(Fault::remote, fmt::format("the Services of train/{} have no addresses", job.name),
                        "gpuadm doctor --stage cluster");
  }
  TRY(client.create(job.ns, TRY(workload::objects_of(job, context)).others));
  return {};
}

}  // namespace commands
