#include "gpuadm/base/text.hpp"
#include "gpuadm/session/replace.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/workloads/serve/fit_check.hpp"
#include "commands/workloads/serve/progress.hpp"
#include "commands/workloads/serve/serve.hpp"
#include "commands/workloads/serve/serve_create.hpp"
#include "commands/workloads/service/create.hpp"
#include "commands/workloads/service/open.hpp"
#include "commands/workloads/service/replace.hpp"
#include "commands/workloads/service/verbs.hpp"
#include "commands/workloads/storage/claim_folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

long long number_at(const Tree& tree, std::initializer_list<std::string_view> path) {
  const Tree* found = tree.at(path);
  return found ? found->as_int().value_or(0) : 0;
}

std::vector<const Tree*> pods_in(const std::vector<Tree>& objects) {
  std::vector<const Tree*> pods;
  for (const Tree& object : objects)
    if (text_of(object, "kind") == "Pod") pods.push_back(&object);
  return pods;
}

/// The volume that was created with it stays; its size does not change.
Result<> keep_volume(workload::ServeRequest& request, const std::vector<Tree>& existing,
                     const NamedService& service) {
  if (request.pod.size.empty()) return {};
  const ServiceVolumes volumes = service_volumes(existing);
  if (volumes.own.empty())
    return base::fail(
        Fault::blocked, fmt::format("--size: the {} exists, and gets no new volume", with_noun(service)),
        "mount an existing claim with --storage, or delete it first: " + command_for("delete", service));
  if (request.pod.size != volumes.size)
    return base::fail(Fault::blocked,
                      fmt::format("--size: the volume of the {} has {}, and is not resized",
                                  with_noun(service), volumes.size),
                      "leave out --size");
  request.pod.size.clear();
  request.pod.storage.clear();
  return {};
}

std::string line_of(const workload::ServeChange& change) {
  if (change.from.empty() && change.to.empty()) return fmt::format("  {}\n", change.what);
  const auto or_none = [](const std::string& value) { return value.empty() ? std::string("none") : value; };
  return fmt::format("  {}: {} -> {}\n", change.what, or_none(change.from), or_none(change.to));
}

Result<> confirm(const NamedService& service, const std::vector<workload::ServeChange>& changes,
                 const std::string& reason, Consent consent, const Io& io) {
  std::string text = fmt::format("the {} will change:\n", with_noun(service));
  for (const workload::ServeChange& change : changes) text += line_of(change);
  text +=
      reason.empty()
          ? "new pods are ready before the earlier ones end, so requests are answered all the time\n"
          : fmt::format("its pods end first, and requests fail until the new ones are ready: {}\n", reason);
  io.err(text);
  if (consent == Consent::given) return {};
  const auto yes = io.confirm ? io.confirm(fmt::format("Update the {}?", with_noun(service))) : std::nullopt;
  if (yes == true) return {};
  if (yes) return base::fail(Fault::blocked, fmt::format("the {} was not changed", with_noun(service)));
  return base::fail(Fault::blocked, fmt::format("the {} already exists", with_noun(service)),
                    "add -y to update it, or use another name");
}

/// Gives the Service its type and its port.
Result<> patch_service(const ServePlan& plan, const std::vector<Tree>& existing, ReachedCluster& cluster) {
  const Tree* live = object_of(existing, "Service");
  const std::string type = plan.server.pod.reach == workload::Reach::node_port ? "NodePort" : "ClusterIP";
  const Tree* ports = live ? live->at({"spec", "ports"}) : nullptr;
  const long long port = ports && !ports->items().empty() ? number_at(ports->items().front(), {"port"}) : 0;
  if (live && text_at(*live, {"spec", "type"}) == type && port == plan.server.engine.port) return {};
  Tree entry = Tree::map_of({{"name", "http"},
                             {"port", int{plan.server.engine.port}},
                             {"targetPort", int{plan.server.engine.port}}});
  Tree list = Tree::list();
  list.push(std::move(entry));
  return cluster.client().patch(
      plan.server.pod.ns, "service/" + plan.server.pod.name,
      Tree::map_of({{"spec", Tree::map_of({{"type", type}, {"ports", std::move(list)}})}}));
}

/// The keys of the Secret: the API key stays, and the token unless another one is given.
struct KeptKeys {
  workload::ServeKeys keys;
  bool has_new_token = false;
  bool is_changed = false;  ///< the Secret is
};

bool uses_token(const Tree& deployment) {
  const Tree* containers = deployment.at({"spec", "template", "spec", "containers"});
  if (!containers || containers->items().empty()) return false;
  if (const Tree* variables = containers->items().front().find("env"))
    for (const Tree& variable : variables->items())
      if (text_of(variable, "name") == "HF_TOKEN") return true;
  return false;
}

Result<KeptKeys> kept_keys(const ServeCreateOptions& options, const workload::Engine& engine,
                           const Tree& deployment, const ServedModel& served, ReachedCluster& cluster) {
  KeptKeys kept;
  const NamedService service = service_of(options);
  kept.keys = TRY(new_keys(options, engine));
  kept.has_new_token = !kept.keys.hub_token.empty();
  if (uses_token(deployment)) {
    base::Secret token = TRY(read_key(cluster, service, workload::hub_token_key));
    if (kept.has_new_token) kept.has_new_token = token.reveal() != kept.keys.hub_token.reveal();
    if (!kept.has_new_token) kept.keys.hub_token = std::move(token);
  }
  const bool had_key = served.api.no_key.empty();
  if (engine.has_key() && had_key) kept.keys.api = TRY(read_api_key(cluster, service, served.api));
  // Another engine may read its key from a file in the Secret.
  kept.is_changed = !had_key || kept.has_new_token || engine.name != served.engine;
  return kept;
}

/// Creates the Secret, or replaces it. Returns the one that was replaced, or nothing.
Result<std::optional<Tree>> write_secret(const KeptKeys& kept, const std::vector<Tree>& objects,
                                         const std::string& ns, ReachedCluster& cluster) {
  const Tree* secret = object_of(objects, "Secret");
  if (!secret || !kept.is_changed) return std::nullopt;
  auto earlier = TRY(cluster.client().find({*secret}));
  if (earlier.empty()) {
    TRY(cluster.client().create(ns, {*secret}));
    return std::nullopt;
  }
  TRY(session::replace(cluster.client(), {*secret}));
  return std::move(earlier.front());
}

/// Waits for the new pods, and for a completion.
struct Updated {
  std::string node, proven;
};
Result<Updated> await_update(const ServeCreateOptions& options, const ServePlan& plan,
                             const workload::ServeKeys& keys, ReachedCluster& cluster, Io& io) {
  const NamedService service = service_of(options);
  AwaitedPod pod{service.ns, service.name, selector_of(service)};
  pod.running = loading_progress(plan, cluster);
  Updated updated;
  updated.node = TRY(wait_ready(cluster, pod, timeout_of(options, plan), io));
  updated.proven = TRY(prove_plan(plan, service, keys.api, cluster, io));
  return updated;
}

/// An update with everything that it needs.
struct Update {
  const Tree& live;
  const std::vector<Tree>& existing;
  ServedModel served;
  ServePlan plan;
  KeptKeys kept;
  std::string reason;
};

/// Plans it from the cluster as it is now, with the key, the volume and the labels of the existing one.
Result<> plan_update(const ServeCreateOptions& options, Update& update, ReachedCluster& cluster) {
  const NamedService service = service_of(options);
  workload::ServeRequest request = options.request;
  TRY(keep_volume(request, update.existing, service));
  update.plan = TRY(plan_serve(request, options.hosts, cluster, pod_names(update.existing)));
  ServePlan& plan = update.plan;
  workload::ModelServer& server = plan.server;
  TRY(check_service(plan.service, server.replicas, options.hosts, cluster, NameUse::updated));
  server.pod.instance = text_at(update.live, {"metadata", "labels", workload::instance_label});
  TRY(workload::resolve_volume(server, plan.service.pod.claim));
  if (plan.service.parts.claim_template && update.served.gpus != server.pod.gpus_text)
    return base::fail(Fault::blocked, "GPUs that are requested by claims cannot be changed",
                      command_for("delete", service) + " --keep-volume, and create it again");
  update.kept = TRY(kept_keys(options, server.engine, update.live, update.served, cluster));
  server.digest = options.digest;
  // What is known of the same model stays where the hub is not asked, or does not answer.
  if (server.source.text() == update.served.model && server.engine.name == update.served.engine) {
    server.commit = update.served.commit;
    if (server.digest.empty()) server.digest = update.served.digest;
  }
  server.has_hub_token = !update.kept.keys.hub_token.empty();
  update.reason = TRY(why_not_rolling(plan, update.existing, update.served, cluster));
  if (TRY(endpoint_of(update.existing, service)).port != server.engine.port)
    update.reason = fmt::format("the port of the server becomes {}", server.engine.port);
  server.rolling = update.reason.empty();
  return {};
}

/// Notes, and whether the model fits; GPUs that the replaced pods use look full.
Result<> check_update(const ServeCreateOptions& options, Update& update, ReachedCluster& cluster, Io& io) {
  ServePlan& plan = update.plan;
  if (options.unchecked) return {};
  const base::Secret& token = update.kept.keys.hub_token;
  if (plan.server.rolling || pods_in(update.existing).empty()) {
    const std::string fit = TRY(check_model_fit(plan, options.hosts, token, cluster));
    if (!fit.empty()) io.err(fit + "\n");
  } else if (plan.server.pod.gpus.any()) {
    io.err("whether the model fits is unknown: its GPUs are in use by the pods that it replaces\n");
  }
  if (std::string commit = TRY(commit_of_model(plan, token)); !commit.empty())
    plan.server.commit = std::move(commit);
  return {};
}

/// All that it changes.
Result<std::vector<workload::ServeChange>> all_changes(const Update& update, const Tree& made,
                                                       const NamedService& service) {
  auto changes = workload::changes_of(update.live, made);
  const char* states[] = {"closed", "open"};
  const bool was_open = TRY(endpoint_of(update.existing, service)).node_port != 0;
  const bool opens = update.plan.server.pod.reach == workload::Reach::node_port;
  if (was_open != opens) changes.push_back({"port on every node", states[was_open], states[opens]});
  if (update.kept.has_new_token) changes.push_back({"token of the hub", "", "new"});
  if (is_stopped(update.live)) changes.push_back({"state", "stopped", "started"});
  return changes;
}

/// Succeeds when there is nothing to restore.
Result<> restore_secret(const std::optional<Tree>& secret, ReachedCluster& cluster) {
  if (!secret) return {};
  return session::replace(cluster.client(), {workload::restored(*secret)}, transport::Purpose::clean_up);
}

/// Restores the live objects after an update that failed. `secret`: the one that it replaced.
void roll_back(const Update& update, const std::optional<Tree>& secret, const NamedService& service,
               ReachedCluster& cluster, const Io& io) {
  auto done = restore_secret(secret, cluster);
  if (done)
    done =
        session::replace(cluster.client(), {workload::restored(update.live)}, transport::Purpose::clean_up);
  const Tree* old = object_of(update.existing, "Service");
  const Tree* type = old ? old->at({"spec", "type"}) : nullptr;
  const Tree* ports = old ? old->at({"spec", "ports"}) : nullptr;
  if (done && type && ports)
    done =
        cluster.client().patch(service.ns, "service/" + service.name,
                               Tree::map_of({{"spec", Tree::map_of({{"type", *type}, {"ports", *ports}})}}),
                               transport::Purpose::clean_up);
  io.err(done ? fmt::format("restored the earlier configuration of {}\n", shown(service))
              : fmt::format("cannot restore the earlier configuration of {}: {}\n", shown(service),
                            base::printable(done.error().what)));
}

/// Writes the objects, and waits until they serve. Restores the live ones if they do not.
Result<Updated> execute_update(const ServeCreateOptions& options, const Update& update,
                               const std::vector<Tree>& objects, ReachedCluster& cluster, Io& io) {
  const NamedService service = service_of(options);
  const auto secret = TRY(write_secret(update.kept, objects, service.ns, cluster));
  if (const auto replaced = replace_deployment(update.live, *object_of(objects, "Deployment"), cluster);
      !replaced) {
    if (is_uncertain(replaced.error().fault)) {
      roll_back(update, secret, service, cluster, io);
    } else if (const auto done = restore_secret(secret, cluster); !done) {
      io.err(fmt::format("cannot restore the Secret of {}: {}\n", shown(service),
                         base::printable(done.error().what)));
    }
    return std::unexpected(replaced.error());
  }
  const auto patched = patch_service(update.plan, update.existing, cluster);
  auto updated = patched ? await_update(options, update.plan, update.kept.keys, cluster, io)
                         : Result<Updated>(std::unexpected(patched.error()));
  if (updated) return updated;
  base::Error error = std::move(updated).error();
  const bool was_interrupted = error.fault == Fault::interrupted;
  if (!was_interrupted)
    error.what = fmt::format("the update of the {} failed: {}", with_noun(service), error.what);
  if (!options.keep || was_interrupted) roll_back(update, secret, service, cluster, io);
  return std::unexpected(std::move(error));
}

}  // namespace

Result<std::vector<Tree>> find_existing(ReachedCluster& cluster, const NamedService& service) {
  auto objects =
      TRY(cluster.client().get({.kinds = {"deployments.apps", "pods", "services", "persistentvolumeclaims"},
                                .ns = service.ns,
                                .selector = selector_of(service)}));
  if (!object_of(objects, "Deployment")) objects.clear();
  return objects;
}

Result<std::vector<workload::ServeChange>> serve_changes(const ServeCreateOptions& options,
                                                         const std::vector<Tree>& existing,
                                                         ReachedCluster& cluster) {
  const Tree& live = *object_of(existing, "Deployment");
  Update update{live, existing, served_model(live), {}, {}, {}};
  TRY(plan_update(options, update, cluster));
  const auto objects = update.plan.objects(update.kept.keys);
  return all_changes(update, *object_of(objects, "Deployment"), service_of(options));
}

Result<Outcome> serve_update(const ServeCreateOptions& options, const std::vector<Tree>& existing,
                             ReachedCluster& cluster, Io& io) {
  const NamedService service = service_of(options);
  const Tree& live = *object_of(existing, "Deployment");
  if (live.at({"metadata", "deletionTimestamp"}))
    return base::fail(Fault::blocked, fmt::format("the {} is being deleted", with_noun(service)),
                      "gpuadm serve list shows when it is gone");
  Update update{live, existing, served_model(live), {}, {}, {}};
  TRY(plan_update(options, update, cluster));
  TRY(check_update(options, update, cluster, io));
  const auto objects = update.plan.objects(update.kept.keys);
  const Tree& made = *object_of(objects, "Deployment");
  const auto changes = TRY(all_changes(update, made, service));
  if (changes.empty()) {
    io.out(fmt::format("the {} is as requested\n", with_noun(service)));
    return Outcome::done;
  }
  TRY(confirm(service, changes, update.reason, options.consent, io));
  if (const Tree* spec = made.at({"spec", "template", "spec"}))
    TRY(check_claims_of_pod(claims_of_pod(*spec), service.ns, options.hosts, cluster.spec(), cluster.client(),
                            io));
  const Updated updated = TRY(execute_update(options, update, objects, cluster, io));
  return show_ready(options, update.plan, updated.node, updated.proven, update.kept.keys.api, cluster, io);
}

}  // namespace commands
