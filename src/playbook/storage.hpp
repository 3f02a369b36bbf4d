#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include <string>

/// Variables and selectors of the steps under playbooks/storage/.
namespace playbook {

/// The storages of the host, a line each, columns apart by tabs, "-" for an empty one: name, kind, folder on
/// the host, source, path in the source, user, options, "maker" on the host that makes the folder
/// gpuadm-NAME.
[[nodiscard]] std::string storages(const Context& context);
/// Lines "NAME KEY" for CephFS; secret.
[[nodiscard]] std::string storage_keys(const Context& context);

/// The node with the volumes of the default StorageClass, and their folder there; empty: none.
[[nodiscard]] std::string default_class_node(const Context& context);
[[nodiscard]] std::string default_class_folder(const Context& context);
/// Whether the cluster has a default StorageClass of gpuadm; whether its volumes are on this host.
[[nodiscard]] bool has_default_class(const Context& context);
[[nodiscard]] bool has_default_class_here(const Context& context);

/// Whether the host has a storage of that kind.
[[nodiscard]] bool has_storage(const Context& context, spec::StorageKind kind);
/// Whether it has any.
[[nodiscard]] bool has_any_storage(const Context& context);
/// Whether all hosts have a storage.
[[nodiscard]] bool has_shared_storage(const Context& context);
/// Whether the key of a storage is to be read from the first control-plane node, because the operator's
/// machine does not have it.
[[nodiscard]] bool lacks_storage_key(const Context& context);

}  // namespace playbook
