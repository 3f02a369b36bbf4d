#pragma once

#include "spec/field.hpp"

namespace spec {

/// The keys of one storage, under "storage[].".
[[nodiscard]] const std::vector<Field<Storage>>& storage_fields();

/// The list of storages, as written.
[[nodiscard]] Type<std::vector<Storage>> storages();

/// Missing keys, keys of another kind, names that are taken. `file` is their source.
void judge_storage(const Cluster& cluster, const Tree& file, Problems& problems);
/// Hosts of storages that are not in the file.
void judge_storage_hosts(const Cluster& cluster, const Tree& file, Problems& problems);
/// The same for the keys of one storage.
void judge_storage_keys(const Storage& storage, const Tree& item, Problems& problems);

}  // namespace spec
