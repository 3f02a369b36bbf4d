#include "commands/operate/gpu/gpu_plan.hpp"

#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace commands {

namespace {

/// The plan without steps for other hosts: labels and MIG are the host's, manifests the control plane's.
void keep_host(plan::Plan& plan, const std::string& host) {
  for (plan::Stage& stage : plan.stages)
    if (stage.name != "gpu/device-plugin" && stage.name != "gpu/runtime-class" && stage.name != "gpu/taint" &&
        stage.name != "gpu/offered")
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

Result<facts::QuarantinedGpu> find_gpu(const facts::Nvidia& nvidia, const std::string& name,
                                       const std::string& host) {
  const std::string wanted = base::lower(name);
  const auto is_it = [&](const std::string& uuid, const std::string& slot) {
    return wanted == base::lower(uuid) || wanted == base::lower(slot);
  };
  std::vector<std::string> known;
  for (const facts::Gpu& gpu : nvidia.gpus) {
    if (is_it(gpu.uuid, gpu.bus_id) || wanted == std::to_string(gpu.index))
      return facts::QuarantinedGpu{gpu.uuid, gpu.bus_id, {}, {}};
    known.push_back(fmt::format("{} ({})", gpu.index, gpu.uuid));
  }
  for (const facts::QuarantinedGpu& entry : nvidia.quarantine) {
    if (is_it(entry.uuid, entry.slot)) return entry;
    known.push_back(entry.uuid);
  }
  return base::fail(base::Fault::usage, fmt::format("{} has no GPU {}", host, base::printable(name, 60)),
                    known.empty() ? "nvidia-smi lists no GPU: gpuadm doctor shows the cause"
                                  : "its GPUs: " + base::join(known, ", "));
}

Result<> keep_set_up(spec::Cluster& cluster, const std::string& host, const std::filesystem::path& file,
                     const facts::Facts& facts, const facts::ClusterFacts& view, Changes changes) {
  const facts::Node* node = facts::node_of(view, facts);
  auto is = node ? playbook::gpu_set_up(node->labels) : std::nullopt;
  if (node && allocates_by_claims(view, *node))
    is = playbook::GpuSetUp{.allocator = spec::Allocator::dra, .mig = {}, .sharing = {}};
  if (!is || cluster.gpu.stack != spec::GpuStack::native) return {};
  const auto place = std::ranges::find(cluster.hosts, host, &spec::Host::name);
  if (file.empty() && !changes.sharing) place->gpu.sharing = is->sharing;
  if (file.empty() && !changes.mig && is->mig.empty()) place->gpu.mig = spec::Mig();
  if (file.empty() && !changes.mig && !is->mig.empty())
    place->gpu.mig = playbook::mig_of(*node, facts.nvidia.gpus.size());
  playbook::GpuSetUp wanted = playbook::gpu_set_up(cluster, *place, facts.nvidia);
  if (is->allocator == wanted.allocator) {
    if (changes.sharing) wanted.sharing = is->sharing;
    if (changes.mig) wanted.mig = is->mig;
  }
  if (*is == wanted) return {};
  return base::fail(
      base::Fault::blocked,
      fmt::format("the GPUs of {} are set up for {}, and {} {}: this command would change that, too", host,
                  to_text(*is),
                  file.empty() ? "without a cluster file they would be set up for" : file.string() + " says",
                  to_text(wanted)),
      file.empty()
          ? "use -f with the cluster file of this cluster"
          : fmt::format("set gpu or hosts[].gpu in {0} to that, or apply the file first: gpuadm apply -f {0}",
                        file.string()));
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
  if (exit.status == 0 && base::parse_image_reference(image))
    library.override_catalog("device_plugin_image", image);
  return {};
}

Result<Outcome> change_gpus_of(const std::string& host, const spec::Cluster& cluster,
                               const playbook::Library& library, const assets::Store& assets,
                               const session::RunContext& session, const session::Survey& survey,
                               const base::Variables& given,
                               const std::function<void(facts::Census&)>& adjust, Consent consent,
                               Format format, Io& io) {
  plan::Choice choice;
  choice.given = given;
  choice.given["gpu_hosts"] = host;
  // The census as it is, changed in place.
  const auto plan_of = [&](facts::Census census) -> Result<plan::Plan> {
    if (adjust) adjust(census);
    plan::Plan plan = TRY(plan::make(cluster, {}, census, library, nullptr, choice));
    keep_host(plan, host);
    return plan;
  };
  plan::Plan first = TRY(plan_of(survey.census));
  session::Execution execution{assets, std::move(first), {}, consent, {}};
  execution.hosts = hosts_of(execution.plan);
  execution.again = [&](const auto&) -> Result<plan::Plan> {
    return plan_of(TRY(session.survey_all(assets)).census);
  };
  return session::with_reporter(session.folder, format, io, [&](report::Reporter& reporter) {
    return session::execute(execution, session, reporter, io);
  });
}

}  // namespace commands
