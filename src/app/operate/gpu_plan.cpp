#include "app/operate/gpu_plan.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/image.hpp"
#include "gpuadm/session/ask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace app {

namespace {

/// The plan without steps for other hosts: labels and MIG are the host's, manifests the control plane's.
void keep_host(plan::Plan& plan, const std::string& host) {
  for (plan::Stage& stage : plan.stages)
    if (stage.name != "gpu/device-plugin" && stage.name != "gpu/runtime-class")
      std::erase_if(stage.walks, [&](const plan::Walk& walk) { return walk.host != host; });
}

std::vector<std::string> hosts_of(const plan::Plan& plan) {
  std::vector<std::string> hosts;
  for (const plan::Stage& stage : plan.stages)
    for (const plan::Walk& walk : stage.walks)
      if (std::ranges::find(hosts, walk.host) == hosts.end()) hosts.push_back(walk.host);
  return hosts;
}

}  // namespace

Result<spec::Cluster> cluster_with(const std::filesystem::path& file, std::string& host,
                                   const session::Connection& connection) {
  Hosts hosts{file, {}};
  if (file.empty() && !host.empty()) hosts.targets = {host};
  spec::Cluster cluster = TRY(session::read_cluster(hosts, connection));
  if (file.empty()) host = cluster.hosts.front().name;
  if (std::ranges::find(cluster.hosts, host, &spec::Host::name) != cluster.hosts.end()) return cluster;
  std::vector<std::string> names;
  for (const spec::Host& one : cluster.hosts) names.push_back(one.name);
  return base::fail(base::Fault::usage,
                    fmt::format("{} has no host named {}", file.string(), base::printable(host)),
                    "its hosts: " + base::join(names, ", "));
}

Result<> keep_plugin_image(playbook::Library& library, const spec::Cluster& cluster,
                           const facts::Census& census, transport::Fleet& fleet,
                           const assets::Store& assets) {
  const spec::Host* first = playbook::first_control_plane(cluster, census);
  if (!first) return {};
  const transport::Exit exit = TRY(session::ask(
      first->name,
      {.label = "read the device plugin's image", .asset = "playbooks/read/device-plugin-image.sh"}, fleet,
      assets));
  const std::string image(base::trim(exit.out));
  if (exit.status == 0 && bundle::parse_reference(image))
    library.override_catalog("device_plugin_image", image);
  return {};
}

Result<Outcome> change_gpus_of(const std::string& host, const spec::Cluster& cluster,
                               const playbook::Library& library, const assets::Store& assets,
                               const session::Session& session, const session::Survey& survey,
                               const std::function<void(facts::Census&)>& adjust, Consent consent,
                               Format format, Io& io) {
  // The census as it is, changed in place.
  const auto plan_of = [&](facts::Census census) -> Result<plan::Plan> {
    if (adjust) adjust(census);
    plan::Plan plan = TRY(plan::make(cluster, {}, census, library, nullptr, {}));
    keep_host(plan, host);
    return plan;
  };
  session::Execution execution{assets, TRY(plan_of(survey.census)), {}, consent, {}};
  execution.hosts = hosts_of(execution.plan);
  execution.again = [&](const auto&) -> Result<plan::Plan> {
    return plan_of(TRY(session.survey_all(assets)).census);
  };
  return session::with_reporter(session.folder, format, io, [&](report::Reporter& reporter) {
    return session::execute(execution, session, reporter, io);
  });
}

}  // namespace app
