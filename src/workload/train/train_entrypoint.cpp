#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/train_image.hpp"

#include "workload/train/train_pod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

/// The entrypoint of an image as a node knows it; empty: the image has none. Nothing: no node knows the
/// image.
std::optional<std::vector<std::string>> entrypoint_of(const std::string& written,
                                                      const std::vector<TrainImage>& images,
                                                      const std::vector<NodeImages>& read) {
  const auto image = std::ranges::find(images, written, &TrainImage::written);
  if (image == images.end()) return std::nullopt;
  for (const NodeImages& node : read)
    if (const auto known = node.images.find(image->full);
        known != node.images.end() && known->second.is_configured)
      return known->second.entrypoint;
  return std::nullopt;
}

}  // namespace

bool starts_command(const TrainJob& job, const Role& role) {
  return !job.source.empty() || (job.framework == Framework::mpi && &role == &job.roles.front());
}

Result<> set_entrypoints(TrainJob& job, const std::vector<TrainImage>& images,
                         const std::vector<NodeImages>& read) {
  for (Role& role : job.roles) {
    Tree* containers = role.pod.find("containers");
    if (!containers || containers->items().empty() || !starts_command(job, role)) continue;
    Tree& container = containers->items().front();
    const Tree* command = container.find("command");
    if (command && !command->items().empty()) continue;
    const std::string image = text_of(container, "image");
    const auto entrypoint = entrypoint_of(image, images, read);
    const Tree* arguments = container.find("args");
    if (entrypoint && entrypoint->empty() && arguments && !arguments->items().empty()) {
      // The runtime starts the arguments.
      container.set("command", Tree(*arguments));
      container.erase("args");
      continue;
    }
    if (!entrypoint || entrypoint->empty())
      return base::fail(Fault::usage,
                        fmt::format("the pod of {} has no command, and {} {}", base::printable(role.name, 50),
                                    entrypoint ? "no entrypoint is in the image"
                                               : "no node knows an entrypoint of the image",
                                    base::printable(image, 120)),
                        "set command: in the manifest, or pull the image on a node before");
    // Kubernetes expands variables in a command, and not in the entrypoint of an image.
    container.set("command", literals(*entrypoint));
  }
  return {};
}

}  // namespace workload
