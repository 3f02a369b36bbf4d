#include "gpuadm/base/text.hpp"
#include "gpuadm/session/control_planes.hpp"

#include "commands/operate/upkeep.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

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

}  // namespace

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

}  // namespace commands
