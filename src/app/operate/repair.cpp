#include "gpuadm/app/upkeep.hpp"
#include "gpuadm/base/text.hpp"

#include "app/control_planes.hpp"

#include <fmt/format.h>

namespace app {

namespace {

Result<> may_repair(const ControlPlaneContext& context) {
  const auto nodes =
      base::to_int(TRY(ask(context, context.hosts.front(), "count the nodes", "address_nodes")));
  if (context.cluster.hosts.size() == 1 && nodes && *nodes <= 1) return {};
  return base::fail(
      base::Fault::blocked,
      fmt::format(
          "this cluster has {} nodes: the others know the control plane by its old address",
          nodes ? std::to_string(std::max<long long>(*nodes, std::ssize(context.cluster.hosts))) : "several"),
      "give the host its old address back, if need be beside the new one: ip addr add");
}

}  // namespace

Result<Outcome> repair_address(const RepairOptions& options, Io& io) {
  return on_control_planes(
      {options.common, options.hosts, options.consent}, "repair-address", io,
      [&](const ControlPlaneContext& context) -> Result<Outcome> {
        TRY(may_repair(context));
        return telling(context.session.folder, options.format, io, [&](report::Reporter& reporter) {
          return run_one_by_one(context, {context.hosts, {}, options.consent}, reporter, io);
        });
      });
}

}  // namespace app
