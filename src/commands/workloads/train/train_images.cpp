#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/cuda.hpp"
#include "gpuadm/spec/engines.hpp"
#include "gpuadm/workload/train_check.hpp"
#include "gpuadm/workload/train_image.hpp"

#include "commands/workloads/train/train_create.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace commands {

namespace {

using base::Fault;
using workload::NodeImages;
using workload::TrainImage;
using workload::TrainJob;

constexpr std::chrono::seconds most_time{120};

std::optional<std::string> full_name_of(const std::string& written) {
  const auto parsed = base::parse_image_reference(written);
  if (!parsed) return std::nullopt;
  return base::full_name(*parsed);
}

/// Nodes that may run a rank: with GPUs, those that offer them.
std::vector<const facts::Node*> nodes_of(const TrainJob& job, const TrainView& view) {
  auto nodes = workload::nodes_for_pods(view.cluster);
  const bool gpus = std::ranges::any_of(job.roles, [](const auto& role) { return role.gpus.any(); });
  if (gpus)
    std::erase_if(nodes, [&](const facts::Node* node) {
      return std::ranges::none_of(view.supply.offers,
                                  [&](const auto& offer) { return offer.node == node->name; });
    });
  return nodes;
}

/// The node that a host is, among these.
const facts::Node* node_of(const spec::Host& host, const std::vector<const facts::Node*>& nodes) {
  const auto found = std::ranges::find_if(nodes, [&](const facts::Node* node) {
    return node->name == host.name || (!node->address.empty() && node->address == host.endpoint.address);
  });
  return found == nodes.end() ? nullptr : *found;
}

/// Lines for playbooks/read/image.sh.
std::string lines_of(const std::vector<TrainImage>& images) {
  std::string lines;
  for (const TrainImage& image : images)
    if (const auto name = base::parse_image_reference(image.written))
      lines += fmt::format("{}\t{}\t{}\t{}\t{}\n", image.full, name->registry, name->repository,
                           name->digest.empty() ? name->tag : name->digest, image.pulled);
  return lines;
}

std::string programs_of(const TrainJob& job) {
  if (job.framework != workload::Framework::mpi || job.ranks() == 1) return "";
  return fmt::format("{} {}", fmt::join(workload::mpi_servers, " "), fmt::join(workload::mpi_starters, " "));
}

/// Every node that is a host of the cluster file, at the same time.
Result<std::vector<NodeImages>> read_nodes(TrainSession& opened, const TrainJob& job,
                                           const std::vector<const facts::Node*>& nodes,
                                           const std::vector<TrainImage>& images) {
  std::vector<NodeImages> read;
  if (opened.client->is_limited()) {
    for (const facts::Node* node : nodes)
      read.push_back({node->name, "a kubeconfig does not reach the nodes", {}, {}});
    return read;
  }
  const transport::Command command = TRY(session::command_of(
      {.label = "read the images of the node",
       .asset = "playbooks/read/image.sh",
       .variables = {{"socket", std::string(spec::row_of(opened.cluster.runtime.engine).socket)},
                     {"images", lines_of(images)},
                     {"programs", programs_of(job)}},
       .timeout = most_time},
      opened.assets));
  std::map<std::string, std::string> names;  // of nodes, by host
  for (const spec::Host& host : opened.cluster.hosts)
    if (const facts::Node* node = node_of(host, nodes)) {
      names[host.name] = node->name;
      opened.fleet->submit(host.name, command);
    }
  while (const auto completion = opened.fleet->next()) {
    const std::string& node = names[completion->host];
    if (!completion->result)
      read.push_back({node, base::printable(completion->result.error().what, 300), {}, {}});
    else if (completion->result->status != 0)
      read.push_back({node, base::printable(base::tail(completion->result->err, 1), 300), {}, {}});
    else
      read.push_back(workload::read_node_images(node, completion->result->out));
  }
  if (opened.fleet->interrupted())
    return base::fail(Fault::interrupted, "interrupted while reading the images of nodes");
  return read;
}

}  // namespace

Result<std::vector<report::Finding>> examine_images(TrainSession& opened, TrainJob& job,
                                                    const TrainView& view) {
  const std::vector<TrainImage> images = workload::train_images(job, full_name_of);
  const auto nodes = nodes_of(job, view);
  if (images.empty() || nodes.empty()) return std::vector<report::Finding>();
  const checks::CudaDrivers drivers =
      TRY(checks::CudaDrivers::read([&](std::string_view path) { return opened.assets.read(path); }));
  const workload::CudaLimits cuda{
      [&](const base::Version& version) { return drivers.lowest_driver(version); },
      [&](const base::Version& driver) {
        return drivers.is_newer_than_tables(driver) ? std::nullopt : drivers.cuda_of(driver);
      }};
  const std::vector<NodeImages> read = TRY(read_nodes(opened, job, nodes, images));
  TRY(workload::set_entrypoints(job, images, read));
  return workload::examine_images({.job = job, .nodes = nodes, .read = read, .images = images, .cuda = cuda});
}

}  // namespace commands
