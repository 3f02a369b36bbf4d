#include "gpuadm/base/files.hpp"
#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/bundle/fetch.hpp"
#include "gpuadm/bundle/files.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/workload/service_pod.hpp"

#include "commands/bundles/bundle_options.hpp"
#include "commands/bundles/write.hpp"
#include "commands/install/identity.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace commands {

namespace {

using base::Fault;

struct ImagePullOptions {
  Common common;
  std::string images;  ///< separated by commas
  Hosts hosts;
  BundleSource source;
  Format format = Format::text;
};

/// "amd64", as registries name the architecture that all hosts have.
Result<std::string> architecture_of(const facts::Census& census) {
  std::set<std::string> found;
  for (const auto& [host, facts] : census)
    if (facts && !facts->os.architecture.empty()) found.insert(facts->os.architecture);
  if (found.size() > 1)
    return base::fail(Fault::usage, fmt::format("the hosts are {}", fmt::join(found, " and ")),
                      "name the hosts of one architecture: gpuadm image pull IMAGE HOST...");
  return !found.empty() && *found.begin() == "aarch64" ? "arm64" : "amd64";
}

/// The oldest CUDA version that the drivers of the hosts support; nothing: no host has a driver, or one is
/// unknown.
struct Drivers {
  bool any = false;
  std::optional<base::Version> cuda;
};
Drivers drivers_of(const facts::Census& census) {
  Drivers drivers;
  bool is_known = true;
  for (const auto& [host, facts] : census) {
    if (!facts || !facts->nvidia.driver) continue;
    const auto cuda = base::Version::parse(facts->nvidia.driver->cuda.value_or(""));
    if (cuda && (!drivers.cuda || *cuda < *drivers.cuda)) drivers.cuda = cuda;
    is_known = is_known && cuda;
    drivers.any = true;
  }
  if (!is_known) drivers.cuda.reset();
  return drivers;
}

/// "pytorch" and "vllm" are the images that `notebook create` and `serve create` would use on these hosts;
/// other names are references.
Result<std::vector<std::string>> resolved(const std::vector<std::string>& names, const facts::Census& census,
                                          const assets::Store& assets) {
  constexpr const char* file = "playbooks/catalog.yaml";
  const base::Tree catalog = TRY(base::yaml::read(TRY(assets.read(file)), file));
  const Drivers drivers = drivers_of(census);
  const workload::GpuRequest gpus{.form = workload::GpuRequest::Form::whole, .count = drivers.any ? 1 : 0};
  std::vector<std::string> images;
  for (const std::string& name : names) {
    const base::Tree* choices = nullptr;
    for (const char* section : {"notebooks", "serve"})
      if (const base::Tree* rows = catalog.find(section))
        if (const base::Tree* row = rows->find(name)) choices = row->is_map() ? row->find("images") : row;
    images.push_back(choices ? TRY(workload::image_for(*choices, name, gpus, drivers.cuda)) : name);
  }
  return images;
}

/// The images, downloaded once to this machine, as archives in the cache, where archives of bundles are, too.
Result<bundle::Bundle> fetch_images(const std::vector<std::string>& names, const BundleSource& source,
                                    const spec::Cluster& cluster, const std::string& architecture, Io& io) {
  bundle::Fetcher fetcher = TRY(open_fetcher(source, cluster, io));
  bundle::Bundle images;
  images.architecture = architecture;
  images.directory = base::cache_directory() / "bundles" / "images";
  for (const std::string& name : names) images.files.push_back(TRY(fetch_image(fetcher, name, architecture)));
  TRY(bundle::assemble_images(
      images, [&](const std::string& sha256) { return fetcher.path_of(sha256); }, images.directory));
  return images;
}

/// Imports images on every host before pods need them: each is downloaded once to this machine, and hosts
/// pass it on to each other. The kubelet then finds the image and pulls nothing.
Result<Outcome> image_pull(const ImagePullOptions& options, Io& io) {
  std::vector<std::string> names;
  for (const std::string_view name : base::split(options.images, ',')) names.emplace_back(name);
  for (const std::string& name : names) (void)TRY(base::parse_image_reference(name));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, "image-pull"));
  spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  TRY(session::resolve_environment(cluster, assets));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, Consent::given, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  cluster =
      TRY(identify(std::move(cluster), options.hosts.file, survey, *session.fleet, assets, Workers::accepted))
          .cluster;
  TRY(session::resolve_environment(cluster, assets));
  if (cluster.runtime.engine == spec::Engine::crio)
    return base::fail(Fault::blocked, "gpuadm imports no images into CRI-O",
                      "on each node: crictl pull " + base::printable(names.front(), 300));
  names = TRY(resolved(names, survey.census, assets));
  const bundle::Bundle images =
      TRY(fetch_images(names, options.source, cluster, TRY(architecture_of(survey.census)), io));
  session::PlaybookRun run{.cluster = cluster, .assets = assets, .library = library};
  run.consent = Consent::given;
  run.choice.carried = &images;
  return session::run_and_report(run, survey, session, options.format, io);
}

}  // namespace

Command image_pull_command() {
  return CommandRow<ImagePullOptions>{
      .name = "image pull",
      .group = Group::operate,
      .summary = "Download images once and import them on all nodes, before pods need them",
      .options =
          [](Line& line, ImagePullOptions& options) {
            line.argument(
                    "IMAGE", options.images,
                    "Image, or several, separated by commas; pytorch, tensorflow, vllm and other names of "
                    "notebook create and serve create: the image that they use")
                .required();
            add_hosts(line, options.hosts);
            add_source(line, options.source,
                       "Source of the images: registries (public), or a directory or URL that mirrors them "
                       "(default: mirrors of the cluster file, then public)");
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm image pull pytorch,vllm -f cluster.yaml",
                    "for notebooks and models, on all nodes"},
                   {"gpuadm image pull pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime -f cluster.yaml",
                    "on all nodes"}},
      .run = image_pull};
}

}  // namespace commands
