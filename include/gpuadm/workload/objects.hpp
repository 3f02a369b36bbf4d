#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/spec/values.hpp"

#include <span>
#include <string>
#include <string_view>

/// What people run on a cluster, as plain objects of Kubernetes: notebooks, training jobs, storage claims.
/// Pure: computes objects and states; session::ClusterClient sends and reads them.
namespace workload {

using base::Result;

/// Labels of every object that gpuadm makes for a workload, and of its pods.
inline constexpr std::string_view managed_by_label = "app.kubernetes.io/managed-by", managed_by = "gpuadm",
                                  kind_label = "gpuadm.io/kind", name_label = "gpuadm.io/name";
/// Label of the objects that one command creates, so that a failed command deletes only its own objects.
inline constexpr std::string_view instance_label = "gpuadm.io/instance";
/// Values of the label `gpuadm.io/kind`.
inline constexpr std::string_view notebook_kind = "notebook", serve_kind = "serve", train_kind = "train",
                                  storage_claim_kind = "storage-claim";

/// Whether an object has the label of those that gpuadm makes.
[[nodiscard]] bool is_managed(const base::Tree& object);

/// The labels of a workload, as a map.
[[nodiscard]] base::Tree labels_of(std::string_view kind, std::string_view name);
/// The selector of all objects of a workload; an empty name: of all workloads of the kind; an empty kind too:
/// of all workloads.
[[nodiscard]] std::string selector_of(std::string_view kind, std::string_view name = {});
/// The same for the objects of one instance; an empty instance: of all.
[[nodiscard]] std::string instance_selector(std::string_view kind, std::string_view name,
                                            std::string_view instance);
/// A random value of instance_label.
[[nodiscard]] Result<std::string> new_instance();

/// Names of the default StorageClasses among objects, except `own`.
[[nodiscard]] std::vector<std::string> default_classes(std::span<const base::Tree> objects,
                                                       std::string_view own = {});

// Checks of what operators write on a command line; cluster files have the same values.
using spec::bytes_of;
using spec::check_name;
using spec::check_namespace;
using spec::check_service_name;
using spec::millicpus_of;
using spec::size_of;

/// The value of --image. Fault::usage says what is wrong; `example`: "--image REGISTRY/NAME:TAG".
[[nodiscard]] Result<> check_image(std::string_view image, std::string_view example);
/// A directory of a container at which a volume is mounted. Fault::usage says what is wrong; `example`:
/// "--mount /home/jovyan/work".
[[nodiscard]] Result<> check_mount(std::string_view option, std::string_view directory,
                                   std::string_view example);
/// The directory without repeated and trailing slashes, and without ".": "/data" for "//data/./".
[[nodiscard]] std::string plain_directory(std::string_view directory);

/// The text as a value of a command, an argument or a variable of a container: Kubernetes expands "$(NAME)"
/// there, and "$$" to "$" (third_party/forked/golang/expansion).
[[nodiscard]] std::string literal(std::string_view text);
[[nodiscard]] base::Tree literals(const std::vector<std::string>& words);

}  // namespace workload
