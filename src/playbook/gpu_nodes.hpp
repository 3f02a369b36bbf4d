#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include <string>
#include <vector>

/// GPU settings of the nodes in Kubernetes.
namespace playbook {

/// Whether a host has an NVIDIA GPU.
[[nodiscard]] bool has_gpu(const facts::Facts& facts);
/// Whether a host of the run has one.
[[nodiscard]] bool has_gpu_somewhere(const Context& context);

/// Whether pods can select a runtime: dockershim has no runtime classes, so nvidia is Docker's default.
[[nodiscard]] bool has_runtime_classes(const Context& context);

/// The settings of the GPUs of a host, and those of them that are not in quarantine.
[[nodiscard]] spec::GpuLayout layout_of(const spec::Cluster& cluster, const spec::Host& host,
                                        const facts::Facts& facts);
/// The distinct layouts of all hosts of the run with GPUs.
[[nodiscard]] std::vector<spec::GpuLayout> layouts(const Context& context);
/// A name for the device plugin's part of a layout: "exclusive", "time-slicing-4", "mps-2-…", "mig-single",
/// "mig-mixed-time-slicing-2".
[[nodiscard]] std::string name_of(const spec::GpuLayout& layout);
/// The resources that the plugin advertises with a layout: "nvidia.com/gpu", "nvidia.com/mig-1g.18gb".
[[nodiscard]] std::vector<std::string> resources_of(const spec::GpuLayout& layout);

/// A line for each host with GPUs that the device plugin or the DRA driver offers: "HOST NODE LAYOUT
/// RESOURCE=COUNT,…", with the shares of all GPUs that are not in quarantine, or "HOST NODE dra:ROOT CLASS".
[[nodiscard]] std::string gpu_nodes(const Context& context);

/// The labels of this host's node, one per line: "key=value" to set, "key-" to remove.
[[nodiscard]] std::string node_labels(const Context& context);

/// The label with the layout of a node: name_of().
constexpr const char* layout_label = "gpuadm.io/device-plugin";
/// The label with the driver root of a node: name_of_root().
constexpr const char* driver_root_label = "gpuadm.io/driver-root";
/// "/usr/local/nvidia" -> "usr-local-nvidia", "/" -> "root".
[[nodiscard]] std::string name_of_root(std::string_view root);
/// The label value for this host's driver root.
[[nodiscard]] std::string driver_root_name(const Context& context);
/// DaemonSets of NVIDIA's DRA driver, one for each driver root of the run's hosts, as YAML documents.
[[nodiscard]] std::string dra_driver_daemonsets(const Context& context);

/// The device plugin for every layout: ConfigMaps and DaemonSets.
[[nodiscard]] Result<std::vector<Composed>> compose_device_plugin(const Context& context);

}  // namespace playbook
