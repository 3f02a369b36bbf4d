#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/install/bring_up_stages.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

/// The version that this run installs or finds, so that the checks judge the result, and joining nodes get
/// the same: the first control-plane node's. Nothing: no host is to be a control-plane node.
Result<std::optional<playbook::ChosenVersion>> choose_version(const spec::Cluster& cluster,
                                                              const facts::Census& census,
                                                              const playbook::Library& library,
                                                              const bundle::Bundle* bundle) {
  const spec::Host* first = playbook::first_control_plane(cluster, census);
  if (!first) return std::nullopt;
  return TRY(playbook::choose_version(cluster, *census.at(first->name), library.catalog(), bundle));
}

/// Whether the bundle has the Kubernetes version of the nodes among the hosts: other versions require
/// upgrade.
Result<> same_version(const spec::Cluster& cluster, const facts::Census& census,
                      const bundle::Bundle* bundle) {
  const auto carried = bundle ? base::Version::parse(bundle->kubernetes) : std::nullopt;
  if (!carried) return {};
  TRY(session::is_for_hosts(*bundle, cluster, census));
  for (const spec::Host& host : cluster.hosts) {
    const auto facts = census.find(host.name);
    if (facts == census.end() || !facts->second || !playbook::is_node(*facts->second)) continue;
    const auto& kubelet = facts->second->kubernetes.kubelet;
    const auto runs = kubelet ? base::Version::parse(*kubelet) : std::nullopt;
    if (!runs || *runs == *carried) continue;
    return base::fail(
        base::Fault::blocked,
        fmt::format("{} runs Kubernetes {}, and the bundle {} contains {}", host.name, runs->text(),
                    bundle->directory.string(), carried->text()),
        *runs < *carried
            ? "`gpuadm upgrade --bundle DIR` upgrades a cluster"
            : fmt::format("a node cannot be downgraded: use a bundle of Kubernetes {}", runs->text()));
  }
  return {};
}

/// Checks that no host uses the virtual address before the cluster does. The first control-plane node checks
/// it, before anything is changed.
Result<> virtual_address_is_free(const spec::Cluster& cluster, const facts::Census& census,
                                 const playbook::Library& library, transport::Fleet& fleet) {
  const spec::Host* first = playbook::first_control_plane(cluster, census);
  const std::string& address = cluster.control_plane.virtual_address;
  if (address.empty() || !first || playbook::is_node(*census.at(first->name)) ||
      std::ranges::count(census.at(first->name)->kubernetes.manifests, "kube-vip.yaml") > 0)
    return {};
  const transport::Exit exit = TRY(session::ask(
      first->name,
      {.label = "check that the virtual address is free",
       .script = library.prelude() + base::assignments({{"virtual_address", address}}) + "vip_is_free\n"},
      fleet));
  if (exit.status == 0) return {};
  return base::fail(base::Fault::blocked,
                    fmt::format("{}: {}", first->name, base::printable(base::tail(exit.err, 1))),
                    "gpuadm explain kubeadm.virtual-address");
}

/// What the operator should know about the cluster before confirming.
std::optional<std::string> identity_note(const Identity& identity, const InitOptions& options) {
  if (identity.control_plane.empty()) return std::nullopt;
  const std::string name = base::printable(identity.cluster.name, 100);
  if (!identity.is_stored || !options.hosts.file.empty())
    return fmt::format("{} is a control plane of cluster {}", identity.control_plane, name);
  return fmt::format("{} is a control plane of cluster {}: settings are those of its stored cluster file",
                     identity.control_plane, name);
}

}  // namespace

Result<Decided> decide(const BringUpRun& run) {
  const spec::Cluster& cluster = run.identity.cluster;
  const facts::Census& census = run.survey.census;
  Decided decided;
  decided.version = TRY(choose_version(cluster, census, run.library, run.bundle));
  TRY(session::refuse_expired(census));
  TRY(same_version(cluster, census, run.bundle));
  const spec::Host* first = playbook::first_control_plane(cluster, census);
  if (decided.version && first && !playbook::is_node(*census.at(first->name)))
    TRY(session::require_network_images(cluster, run.library.catalog(), decided.version->version, run.bundle,
                                        run.choice));
  spec::Decisions& decisions = decided.decisions;
  if (decided.version) decisions.kubernetes = decided.version->version;
  decisions.may_exist = run.setup.existing == Existing::accepted;
  TRY(session::decide_drivers(cluster, census, run.assets, decisions));
  session::decide_supplies(cluster, census, run.bundle, run.choice, decisions);
  TRY(run.session.folder.save("decisions.json", spec::to_tree(decisions)));
  return decided;
}

Result<bool> is_blocked(const BringUpRun& run, const Decided& decided, Io& io) {
  std::vector<report::Finding> findings = TRY(session::find(
      run.identity.cluster, decided.decisions, run.survey.census, run.assets, checks::Stage::preflight));
  TRY(session::ignore(findings, run.options.ignore));
  TRY(run.session.folder.save("findings.json", report::to_tree(findings)));
  if (run.options.format == Format::text)
    io.out(report::is_brief(io.out_style) ? report::short_text(findings, io.out_style)
                                          : report::to_text(findings, io.out_style));
  return session::stops(findings, io);
}

Result<> resolve_version(const BringUpRun& run, Decided& decided) {
  const spec::Cluster& cluster = run.identity.cluster;
  TRY(virtual_address_is_free(cluster, run.survey.census, run.library, *run.session.fleet));
  if (decided.version) {
    const session::VersionSources sources{cluster,     decided.decisions, run.survey.census, run.assets,
                                          run.library, run.bundle,        run.choice};
    const session::SettledVersion resolved =
        TRY(session::resolve_patch(*decided.version, sources, *run.session.fleet));
    decided.decisions.kubernetes = resolved.version;
    decided.notes = session::version_notes(*decided.version, resolved, sources);
  }
  if (auto note = identity_note(run.identity, run.options))
    decided.notes.insert(decided.notes.begin(), std::move(*note));
  TRY(run.session.folder.save_decisions(cluster, decided.decisions));
  return {};
}

}  // namespace commands
