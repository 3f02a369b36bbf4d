#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include <string>
#include <vector>

/// What Kubernetes is told of the GPUs of its nodes.
namespace playbook {

/// Whether a host has an NVIDIA GPU.
[[nodiscard]] bool has_gpu(const facts::Facts& facts);
/// Whether a host of the run has one.
[[nodiscard]] bool has_gpu_somewhere(const Context& context);

/// Whether pods may name a runtime: dockershim knows no runtime classes, there nvidia is Docker's default.
[[nodiscard]] bool has_runtime_classes(const Context& context);

/// What holds for the GPUs of a host.
[[nodiscard]] spec::GpuLayout layout_of(const spec::Cluster& cluster, const spec::Host& host,
                                        const facts::Facts& facts);
/// The layouts of all hosts of the run with GPUs, each once.
[[nodiscard]] std::vector<spec::GpuLayout> layouts(const Context& context);
/// A name for what of a layout the device plugin is told: "exclusive", "time-slicing-4", "mps-2-…",
/// "mig-single", "mig-mixed-time-slicing-2".
[[nodiscard]] std::string name_of(const spec::GpuLayout& layout);
/// The resources that the plugin offers with a layout: "nvidia.com/gpu", "nvidia.com/mig-1g.18gb".
[[nodiscard]] std::vector<std::string> resources_of(const spec::GpuLayout& layout);

/// The labels of this host's node, a line each: "key=value" to set, "key-" to remove.
[[nodiscard]] std::string node_labels(const Context& context);

/// Which driver root the node of a host has, in a label: name_of_root().
constexpr const char* driver_root_label = "gpuadm.io/driver-root";
/// "/usr/local/nvidia" -> "usr-local-nvidia", "/" -> "root".
[[nodiscard]] std::string name_of_root(std::string_view root);
/// The same of this host's driver root.
[[nodiscard]] std::string driver_root_name(const Context& context);
/// DaemonSets of NVIDIA's DRA driver, one for each driver root of the run's hosts, as YAML documents.
[[nodiscard]] std::string dra_driver_daemonsets(const Context& context);

/// The device plugin for every layout: ConfigMaps and DaemonSets.
[[nodiscard]] Result<std::vector<Composed>> compose_device_plugin(const Context& context);

}  // namespace playbook
