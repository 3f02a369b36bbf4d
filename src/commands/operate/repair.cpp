#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/shared_options.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

struct RepairOptions {
  Common common;
  Hosts hosts;
  Consent consent = Consent::ask;
  Format format = Format::text;
};

Result<> may_repair(const session::ControlPlaneContext& context) {
  const auto nodes =
      base::to_int(TRY(session::call(context, context.hosts.front(), "count the nodes", "address_nodes")));
  if (context.cluster.hosts.size() == 1 && nodes && *nodes <= 1) return {};
  return base::fail(
      base::Fault::blocked,
      fmt::format(
          "this cluster has {} nodes: the others use the control plane's old address",
          nodes ? std::to_string(std::max<long long>(*nodes, std::ssize(context.cluster.hosts))) : "several"),
      "restore the host's old address, if necessary in addition to the new one: ip addr add");
}

/// Repairs a cluster of one node whose host has a new address or name: regenerates everything that contains
/// the old one. Fault::blocked for a cluster of several nodes.
Result<Outcome> repair_address(const RepairOptions& options, Io& io) {
  return session::on_control_planes(
      {options.common, options.hosts, options.consent}, "repair-address", io,
      [&](const session::ControlPlaneContext& context) -> Result<Outcome> {
        TRY(may_repair(context));
        return session::with_reporter(
            context.session.folder, options.format, io, [&](report::Reporter& reporter) {
              return session::run_one_by_one(context, {context.hosts, {}, options.consent}, reporter, io);
            });
      });
}

}  // namespace

Command repair_address_command() {
  return CommandRow<RepairOptions>{
      .name = "repair address",
      .group = Group::operate,
      .summary = "Regenerate certificates and configuration for the new address or name",
      .options = add_change<RepairOptions>,
      .examples = {{"gpuadm repair address root@192.0.2.11", "after the host moved from 192.0.2.10"}},
      .run = repair_address};
}

}  // namespace commands
