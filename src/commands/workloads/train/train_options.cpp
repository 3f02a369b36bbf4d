#include "commands/workloads/train/train_options.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/spec/values.hpp"
#include "gpuadm/workload/train_import.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;
using workload::TrainJob;

constexpr std::size_t largest_manifest = 1u << 20;
/// Of a name that is generated, as the API server adds them.
constexpr std::size_t generated_letters = 5;

struct Files {
  std::filesystem::path cluster;
  std::vector<Tree> manifest;  ///< its documents
  std::string source;          ///< its name
};

/// A file with `kind: GpuCluster` is the cluster file, another one the manifest of a job.
Result<Files> read_files(const std::vector<std::filesystem::path>& paths) {
  Files files;
  for (const std::filesystem::path& path : paths) {
    if (std::error_code error; std::filesystem::is_directory(path, error))
      return base::fail(Fault::usage, path.string() + ": a folder, and not a manifest",
                        "name one file; a folder of kustomize: kubectl kustomize DIR >job.yaml");
    const std::string text = TRY(base::read_file(path, largest_manifest));
    std::vector<Tree> documents = TRY(workload::read_manifests(text, path.string()));
    const Tree* kind = documents.empty() ? nullptr : documents.front().find("kind");
    if (!kind || kind->text() == "GpuCluster") {
      if (!files.cluster.empty())
        return base::fail(Fault::usage,
                          fmt::format("two cluster files: {} and {}", files.cluster.string(), path.string()));
      files.cluster = path;
      continue;
    }
    if (!files.manifest.empty())
      return base::fail(Fault::usage, fmt::format("two manifests: {} and {}", files.source, path.string()));
    files.manifest = std::move(documents);
    files.source = path.string();
  }
  return files;
}

Result<std::pair<std::string, std::string>> split_at(std::string_view option, std::string_view text,
                                                     char separator, std::string_view form) {
  const std::size_t place = text.find(separator);
  if (place == std::string_view::npos || place == 0)
    return base::fail(Fault::usage, fmt::format("{}: {}", option, base::printable(text, 80)),
                      fmt::format("write it as {} {}", option, form));
  return std::pair(std::string(text.substr(0, place)), std::string(text.substr(place + 1)));
}

bool is_variable(std::string_view name) {
  return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") ==
             std::string_view::npos &&
         !(name.front() >= '0' && name.front() <= '9');
}

/// The part of the name of a resource after its domain.
bool is_resource_word(std::string_view word) {
  constexpr std::string_view alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  constexpr std::size_t longest = 63;
  return !word.empty() && word.size() <= longest && alphanumeric.contains(word.front()) &&
         alphanumeric.contains(word.back()) && std::ranges::all_of(word, [&](char c) {
           return alphanumeric.contains(c) || c == '-' || c == '_' || c == '.';
         });
}

Result<workload::TrainVolume> volume_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  workload::TrainVolume volume{text.substr(0, colon),
                               colon == std::string::npos ? "/data" : text.substr(colon + 1)};
  if (!base::is_dns_name(volume.claim))
    return base::fail(Fault::usage,
                      fmt::format("--storage: not a name: {}", base::printable(volume.claim, 80)),
                      "the name of a claim; with --size, of a storage or a StorageClass");
  TRY(workload::check_mount("--storage", volume.path, "--storage NAME:/data"));
  return volume;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Result<> check_new(std::string_view option, const Pairs& known, const std::string& name) {
  if (std::ranges::find(known, name, &Pairs::value_type::first) == known.end()) return {};
  return base::fail(Fault::usage, fmt::format("{} {} is given twice", option, base::printable(name, 80)),
                    "omit one of them");
}

/// Resources of device plugins, huge pages and space on the disk of the node.
Result<> check_resource(const std::string& name, const std::string& value) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    return base::fail(Fault::usage, fmt::format("--resource {}: {}", base::printable(name, 80), why), hint);
  };
  if (workload::is_gpu_resource(name))
    return refuse("GPUs are requested with --gpus", "for example --gpus 2, or --gpus 1g.10gb:2 (MIG)");
  if (name == "cpu") return refuse("CPUs are requested with --cpus", "for example --cpus 4");
  if (name == "memory") return refuse("memory is requested with --memory", "for example --memory 32Gi");
  if (name == "ephemeral-storage" || name.starts_with("hugepages-")) {
    TRY(workload::size_of("--resource " + name, value));
    return {};
  }
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || !base::is_dns_name(std::string_view(name).substr(0, slash)) ||
      !is_resource_word(std::string_view(name).substr(slash + 1)))
    return refuse("not the name of a resource", "DOMAIN/NAME=NUMBER, such as --resource rdma/hca=1");
  if (base::to_int(value).value_or(0) <= 0)
    return refuse(fmt::format("not a number above zero: {}", base::printable(value, 40)),
                  fmt::format("for example --resource {}=1", name));
  return {};
}

Result<workload::PodOptions> pod_options_of(const TrainRunOptions& options) {
  workload::PodOptions pod{.image = options.image, .command = options.command};
  for (const std::string& one : options.environment) {
    auto [name, value] = TRY(split_at("--env", one, '=', "NAME=VALUE"));
    if (!is_variable(name))
      return base::fail(Fault::usage,
                        fmt::format("--env: invalid name of a variable: {}", base::printable(name, 80)));
    TRY(check_new("--env", pod.environment, name));
    pod.environment.emplace_back(std::move(name), std::move(value));
  }
  for (const std::string& one : options.resources) {
    auto resource = TRY(split_at("--resource", one, '=', "NAME=NUMBER"));
    TRY(check_resource(resource.first, resource.second));
    TRY(check_new("--resource", pod.resources, resource.first));
    pod.resources.push_back(std::move(resource));
  }
  for (const std::string& one : options.volumes) pod.volumes.push_back(TRY(volume_of(one)));
  if (!options.cpus.empty()) TRY(workload::millicpus_of("--cpus", options.cpus));
  if (!options.memory.empty()) TRY(workload::size_of("--memory", options.memory));
  if (!options.shm.empty()) TRY(workload::size_of("--shm", options.shm));
  pod.cpus = options.cpus;
  pod.memory = options.memory;
  pod.shm = options.shm;
  return pod;
}

Result<TrainJob> job_of(const TrainRunOptions& options, TrainRequest& request) {
  if (options.name.empty())
    return base::fail(Fault::usage, "no name is given", "gpuadm train run NAME --image IMAGE -- COMMAND");
  if (options.image.empty())
    return base::fail(Fault::usage, "no image is given", "--image REGISTRY/NAME:TAG");
  if (options.command.empty())
    return base::fail(Fault::usage, "no command is given",
                      "write it after two dashes: gpuadm train run NAME --image IMAGE -- torchrun train.py");
  TrainJob job;
  job.name = options.name;
  const auto form = options.framework;
  job.framework = form == TrainFramework::mpi          ? workload::Framework::mpi
                  : form == TrainFramework::tensorflow ? workload::Framework::tensorflow
                                                       : workload::Framework::plain;
  workload::Role role;
  role.replicas = options.nodes;
  role.gpus = TRY(workload::parse_gpus("--gpus", options.gpus.empty() ? "1" : options.gpus));
  const workload::PodOptions pod = TRY(pod_options_of(options));
  for (const workload::TrainVolume& volume : pod.volumes) request.volumes.push_back(volume.claim);
  if (!options.size.empty()) TRY(workload::size_of("--size", options.size));
  if (!options.size.empty() && pod.volumes.empty())
    return base::fail(Fault::usage, "--size: no storage is named", "add --storage NAME[:PATH]");
  request.size = options.size;
  role.pod = workload::pod_of(pod);
  job.processes = workload::processes_for(role.gpus);
  job.roles.push_back(std::move(role));
  if (form == TrainFramework::tensorflow) job.port = 2222;
  job.placement = options.pack ? workload::Placement::anywhere : workload::Placement::one_per_node;
  if (!pod.volumes.empty())
    job.checkpoints = fmt::format("{}/checkpoints/{}", pod.volumes.front().path, job.name);
  for (const auto& [name, value] : pod.environment)
    if (workload::is_set_by_gpuadm(job, name))
      return base::fail(
          Fault::usage, fmt::format("--env {}: gpuadm sets this variable itself", name),
          "leave it out; --nodes, --processes, --master-port and --storage change such variables");
  return job;
}

/// Options that a manifest has fields for.
Result<> check_unused(const TrainRunOptions& options) {
  std::vector<std::string> given;
  const auto add = [&](bool is, const char* name) {
    if (is) given.emplace_back(name);
  };
  add(!options.command.empty(), "-- COMMAND");
  add(options.nodes != 1, "--nodes");
  add(!options.environment.empty(), "--env");
  add(!options.volumes.empty() || !options.size.empty(), "--storage, --size");
  add(!options.resources.empty(), "--resource");
  add(!options.cpus.empty() || !options.memory.empty() || !options.shm.empty(), "--cpus, --memory, --shm");
  add(options.framework != TrainFramework::plain, "--tf, --mpi");
  if (given.empty()) return {};
  return base::fail(Fault::usage, fmt::format("{}: not with a manifest", base::join(given, ", ")),
                    "change the manifest, or leave out -f");
}

bool sets_processes(const workload::Role& role) {
  const Tree* containers = role.pod.find("containers");
  if (!containers || containers->items().empty()) return false;
  for (const char* key : {"command", "args"})
    if (const Tree* words = containers->items().front().find(key))
      for (const Tree& word : words->items())
        for (const char* option : {"--nproc-per-node", "--nproc_per_node"})
          if (word.text().contains(option)) return true;
  return false;
}

/// Shares of a GPU and MIG instances, which manifests do not know, or another number of GPUs. Roles without
/// GPUs, such as a launcher, stay so. One process for each GPU, as before.
void replace_gpus(TrainJob& job, const workload::GpuRequest& gpus, std::vector<std::string>& notes) {
  const auto last = std::find_if(job.roles.rbegin(), job.roles.rend(),
                                 [](const workload::Role& role) { return role.gpus.any(); });
  if (last == job.roles.rend()) return;
  const int before = workload::processes_for(last->gpus), after = workload::processes_for(gpus);
  if (job.processes == before || gpus.form != workload::GpuRequest::Form::whole) job.processes = after;
  for (workload::Role& role : job.roles)
    if (role.gpus.any()) role.gpus = gpus;
  if (before != after && std::ranges::any_of(job.roles, sets_processes))
    notes.emplace_back("the command sets --nproc-per-node, which --gpus does not change");
}

Result<TrainJob> job_of_manifest(const Files& files, const TrainRunOptions& options,
                                 std::vector<std::string>& notes) {
  TRY(check_unused(options));
  const std::string suffix = TRY(workload::new_instance()).substr(0, generated_letters);
  workload::TrainImport import =
      TRY(workload::import_train(files.manifest, files.source, {options.image, suffix, options.queue}));
  if (!import.problems.empty())
    return base::fail(Fault::spec,
                      fmt::format("{} {} cannot be run on plain Kubernetes:\n{}", import.kind,
                                  base::printable(import.job.name, 80), base::join(import.problems, "\n")),
                      "change these places, or use the operator of its kind");
  notes = std::move(import.notes);
  TrainJob job = std::move(import.job);
  if (!options.gpus.empty()) replace_gpus(job, TRY(workload::parse_gpus("--gpus", options.gpus)), notes);
  return job;
}

}  // namespace

std::string image_problem_of(const TrainJob& job) {
  for (const workload::Role& role : job.roles) {
    const Tree* containers = role.pod.find("containers");
    if (!containers) continue;
    for (const Tree& container : containers->items()) {
      const Tree* image = container.find("image");
      const auto parsed = base::parse_image_reference(image ? image->text() : "");
      if (!parsed) return parsed.error().what;
    }
  }
  return "";
}

Result<TrainRequest> read_train_request(const TrainRunOptions& options) {
  TrainRequest request{.hosts = options.hosts};
  if (!options.image.empty()) TRY(workload::check_image(options.image, "--image REGISTRY/NAME:TAG"));
  const Files files = TRY(read_files(options.files));
  request.hosts.file = files.cluster;
  if (!files.manifest.empty()) {
    // The name is in the manifest, so all words are hosts.
    if (!options.name.empty()) request.hosts.targets.insert(request.hosts.targets.begin(), options.name);
    request.job = TRY(job_of_manifest(files, options, request.notes));
  } else {
    request.job = TRY(job_of(options, request));
  }
  TrainJob& job = request.job;
  const bool has_own_ns = std::ranges::any_of(
      files.manifest, [](const Tree& one) { return !text_at(one, {"metadata", "namespace"}).empty(); });
  if (!options.context_ns.empty() && !has_own_ns) job.ns = options.context_ns;
  if (!options.ns.empty()) job.ns = options.ns;
  TRY(workload::check_service_name("training job", job.name));
  TRY(workload::check_namespace(job.ns));
  if (options.port > 0) job.port = options.port;
  if (options.processes > 0) job.processes = options.processes;
  if (!options.timeout.empty()) job.timeout = TRY(spec::seconds_in("--time-limit", options.timeout));
  if (options.source.empty() && !options.include.empty())
    return base::fail(Fault::usage, "--include: not without --src", "add --src DIR");
  if (!options.source.empty()) {
    SourceFolder source = TRY(read_source(options.source, options.include));
    job.source = std::move(source.files);
    if (!source.note.empty()) request.notes.push_back(std::move(source.note));
  }
  if (!options.queue.empty()) TRY(workload::check_name("queue", options.queue));
  TRY(workload::check_mounts(job));
  return request;
}

}  // namespace commands
