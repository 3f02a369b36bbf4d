#include "gpuadm/base/text.hpp"

#include "app/conduct.hpp"
#include "app/connections.hpp"
#include "app/take_down.hpp"

#include <fmt/format.h>

namespace app {

namespace {

Result<Outcome> take_down(TakeDown& way, const assets::Store& assets, const ResetOptions& options,
                          const Visit& visit, report::Reporter& reporter, Io& io) {
  Performance performance{assets, TRY(way.plan()), way.hosts(), options.consent,
                          [&way](const auto& lost) { return way.plan(lost); }};
  tell_kept(reporter, way.ways());
  if (const auto nodes = way.nodes(); !nodes.empty())
    tell(reporter, report::Did::note, "",
         fmt::format("the cluster on {} goes, with its pods and what etcd holds", base::join(nodes, ", ")));
  const Outcome outcome = TRY(perform(performance, visit, reporter, io));
  if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
  return tell_kept(reporter, way.ways()) ? Outcome::failed : outcome;
}

}  // namespace

Result<Outcome> reset(const ResetOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(read_cluster(options.hosts, options.common.connection));
  const Visit visit = TRY(Visit::open(cluster, options.common.connection, options.consent, io));
  TakeDown way = TRY(
      TakeDown::of(cluster, {options.force, options.keep_images, options.keep_driver}, assets, *visit.fleet));
  return telling(visit.folder, options.format, io, [&](report::Reporter& reporter) {
    return take_down(way, assets, options, visit, reporter, io);
  });
}

}  // namespace app
