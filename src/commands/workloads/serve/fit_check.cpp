#include "commands/workloads/serve/fit_check.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/hub.hpp"
#include "gpuadm/model/fit.hpp"
#include "gpuadm/session/census.hpp"

#include "commands/workloads/serve/check_gpus.hpp"
#include "commands/workloads/serve/model/model_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

namespace commands {

namespace {

using base::Fault;
using Kind = workload::ModelSource::Kind;
using Form = workload::GpuRequest::Form;

std::string unknown(std::string_view why) {
  return fmt::format("whether the model fits is unknown: {}", why);
}

/// A failure of the network says nothing about the model.
bool is_passing(Fault fault) {
  return fault == Fault::unreachable || fault == Fault::timeout || fault == Fault::remote;
}

Result<model::Files> read_model_files(const ServePlan& plan, const Hosts& hosts,
                                      const base::Secret& hub_token, ReachedCluster& cluster) {
  const ModelPlace place = TRY(parse_model_place(plan.server.source.text()));
  if (place.kind == ModelPlace::Kind::hub) return read_hub_model(place, hub_token);
  const spec::Cluster known = TRY(with_known_storages(hosts, cluster.spec(), cluster.client()));
  const auto fleet = cluster.connections().fleet(session::Access::read_only);
  return read_storage_model(place, plan.server.pod.ns, known, *fleet, cluster.assets());
}

bool has_offer(const workload::GpuSupply& supply, const facts::ClusterFacts& cluster,
               const facts::Facts& host) {
  const facts::Node* node = facts::node_of(cluster, host);
  return node && std::ranges::any_of(supply.offers, [&](const workload::GpuOffer& offer) {
           return offer.node == node->name && offer.profile.empty();
         });
}

std::string reasons_of(const model::Fit& fit) {
  std::string text = model::sentence_of(fit);
  for (const model::Remark& remark : fit.remarks)
    if (remark.weight == model::Remark::Weight::blocks) text += "; " + remark.what;
  return text;
}

/// The sentence for the first host on which it fits; otherwise the reason of one on which it does not.
Result<std::string> judge_hosts(const model::Model& model, const model::Demand& demand, const ServePlan& plan,
                                const facts::ClusterFacts& facts, const facts::Census& census) {
  std::string why = "the GPUs of the hosts could not be read";
  std::optional<base::Error> refused;
  std::set<std::string> judged;
  for (const auto& [name, host] : census) {
    if (!host || !has_offer(plan.service.supply, facts, *host)) continue;
    const GpuSet gpus = gpus_of(name, *host, demand);
    const model::Fit fit = model::fit(model, gpus.demand);
    const std::string line =
        fmt::format("{}: {}", base::printable(name), base::printable(reasons_of(fit), 600));
    if (!gpus.problem.empty()) {
      why = fmt::format("{}: {}", base::printable(name), base::printable(gpus.problem, 300));
      continue;
    }
    if (fit.verdict == model::Verdict::fits) return line;
    if (fit.verdict == model::Verdict::unknown) {
      why = line;
      continue;
    }
    judged.insert(facts::node_of(facts, *host)->name);
    if (!refused)
      refused = base::Error{Fault::blocked, "the model does not fit on " + line,
                            (fit.alternatives.empty() ? "gpuadm serve check says what would fit"
                                                      : "what fits: " + fit.alternatives.front()) +
                                "; --no-check creates it anyway"};
  }
  // The pod may be scheduled on a node that could not be compared.
  const auto is_judged = [&](const workload::GpuOffer& offer) {
    return !offer.profile.empty() || judged.contains(offer.node);
  };
  if (!refused) return unknown(why);
  if (std::ranges::all_of(plan.service.supply.offers, is_judged)) return std::unexpected(std::move(*refused));
  return unknown(refused->what + "; other nodes with GPUs could not be compared");
}

}  // namespace

Result<std::string> check_model_fit(ServePlan& plan, const Hosts& hosts, const base::Secret& hub_token,
                                    ReachedCluster& cluster) {
  const workload::ModelServer& server = plan.server;
  if (server.source.kind == Kind::none || server.engine.name.empty()) return std::string();
  if (!server.engine.is_openai())
    return unknown(fmt::format("gpuadm does not read the models of {}", server.engine.name));
  if (server.source.kind == Kind::storage && !plan.is_on_storage)
    return unknown("its claim is not on a storage of gpuadm, so its files cannot be read");
  if (server.source.kind == Kind::storage && cluster.client().is_limited())
    return unknown("its files are on hosts, which a kubeconfig does not reach");
  const auto files = read_model_files(plan, hosts, hub_token, cluster);
  if (!files && !is_passing(files.error().fault)) return std::unexpected(files.error());
  if (!files) return unknown(base::printable(files.error().what, 300));
  const model::Model model = TRY(model::read(*files));
  plan.model_bytes = model.stored;
  if (server.pod.gpus.form != Form::whole)
    return server.pod.gpus.any() ? unknown("shares of GPUs and MIG instances are not compared")
                                 : std::string();
  model::Demand demand;
  demand.engine = server.engine.name;
  demand.gpus = server.pod.gpus.count;
  demand.context = static_cast<std::uint64_t>(server.context);
  const auto fleet = cluster.connections().fleet(session::Access::read_only);
  const session::Survey survey = TRY(session::take_census(*fleet, cluster.assets()));
  return judge_hosts(model, demand, plan, TRY(cluster.client().read_nodes_and_pods()), survey.census);
}

Result<std::string> commit_of_model(const ServePlan& plan, const base::Secret& hub_token) {
  const workload::ModelServer& server = plan.server;
  if (server.source.kind != Kind::hub || !server.engine.options.contains("revision")) return std::string();
  bundle::HubModel hub = TRY(bundle::parse_hub_model(server.source.text().substr(3)));
  hub.token = hub_token;
  const auto file = bundle::read_hub_file(hub, "config.json", 1);
  if (!file && !is_passing(file.error().fault)) return std::unexpected(file.error());
  const std::string commit = file && *file ? (*file)->commit : "";
  // It becomes a word of a command.
  const bool is_commit = commit.size() >= 40 && commit.size() <= 64 &&
                         commit.find_first_not_of("0123456789abcdef") == std::string::npos;
  return is_commit ? commit : std::string();
}

}  // namespace commands
