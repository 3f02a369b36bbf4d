#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/random.hpp"
#include "gpuadm/base/secret_file.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/addon_hub.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/install/addon/owned.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Secret;
using base::Tree;

constexpr std::size_t key_bytes = 32;
/// Nothing enforces it: what Kubernetes compares.
constexpr const char* claim_size = "100Gi";

/// The keys of the hub by their names in its Secret. Those of a hub that exists are kept, so that users stay
/// logged in.
using Keys = std::map<std::string, Secret>;

Result<Keys> read_keys(const workload::Addon& addon, session::ClusterClient& client) {
  const auto found = TRY(client.find({workload::reference_to(hub_secret(addon))}));
  Keys keys;
  for (const char* name : {"cookie", "proxy", "proof", "service"}) {
    const auto kept =
        found.empty() ? std::nullopt : base::from_base64(text_at(found.front(), {"data", name}));
    const bool valid = kept && kept->size() == 2 * key_bytes &&
                       kept->find_first_not_of("0123456789abcdef") == std::string::npos;
    keys[name] = valid ? Secret(*kept) : TRY(base::random_secret(key_bytes));
  }
  return keys;
}

/// How users log in: users.json or oidc.json.
Result<std::pair<std::string, Secret>> login_of(const AddonContext& context, const Secret& proof) {
  if (const std::string file = context.setting("users"); !file.empty()) {
    auto users = TRY(workload::parse_hub_users(TRY(base::read_private_file(file)), file));
    users.push_back({std::string(workload::proof_user), proof, false});
    return std::pair("users.json", TRY(workload::hash_hub_users(users)));
  }
  const std::string file = context.setting("oidc");
  const Tree settings = TRY(workload::parse_oidc(TRY(base::read_private_file(file)), file));
  return std::pair("oidc.json", Secret(base::json::write(settings, 0)));
}

Tree secret_with(const workload::Addon& addon, const Keys& contents) {
  Tree data = Tree::map();
  for (const auto& [name, value] : contents) data.set(name, base::base64(value.reveal()));
  Tree object = workload::reference_to(hub_secret(addon));
  object["metadata"].set("labels", workload::labels_of(workload::addon_kind, addon.name));
  object.set("type", "Opaque");
  object.set("data", std::move(data));
  return object;
}

}  // namespace

workload::ObjectName hub_secret(const workload::Addon& addon) {
  return {"v1", "Secret", std::string(addon.ns), "hub"};
}

Result<workload::AddonValues> jupyterhub_values(const AddonContext& context, AddonPlan& plan) {
  const workload::Addon& addon = *plan.addon;
  session::ClusterClient& client = context.cluster.client();
  Keys contents = TRY(read_keys(addon, client));
  contents.insert(TRY(login_of(context, contents.at("proof"))));
  plan.volume = TRY(plan_addon_claim(context, addon, "files", claim_size));
  if (!plan.volume)
    plan.notes.emplace_back(
        "without --set storage=NAME, the files of a user are lost when the notebook ends, and who is logged "
        "in "
        "when the hub ends");
  const facts::ClusterFacts facts = TRY(client.read_nodes_and_pods());
  const workload::GpuSupply supply = TRY(workload::supply_of(facts));
  workload::HubChoices choices =
      TRY(workload::hub_choices(context.catalog, facts, supply, std::string(addon.ns)));
  const auto asset = [&](const char* name) { return context.cluster.assets().read(name); };
  constexpr const char* server_asset = "templates/addons/jupyterhub-server.yaml";
  const Tree server =
      TRY(base::yaml::read(TRY(asset(server_asset)), server_asset, base::yaml::Dialect::kubernetes));
  const std::string settings = base::json::write(
      Tree::map_of(
          {{"namespace", addon.ns},
           {"claim", plan.volume ? plan.volume->claim.name : std::string()},
           {"labels", Tree::map_of({{std::string(workload::managed_by_label), workload::managed_by},
                                    {std::string(workload::kind_label), workload::addon_server_kind}})},
           {"gpus", choices.gpus},
           {"image", choices.image},
           {"memory", choices.memory},
           {"pod", server}}),
      0);
  const std::string config = TRY(asset("templates/addons/jupyterhub_config.py"));
  std::string all = config + settings;
  for (const auto& [name, value] : contents) all += value.reveal();
  plan.objects.push_back(secret_with(addon, contents));
  plan.objects.insert(plan.objects.end(), choices.objects.begin(), choices.objects.end());
  return workload::AddonValues{
      {"hub_config", config}, {"hub_settings", settings}, {"hub_sum", base::sha256(all)}};
}

}  // namespace commands
