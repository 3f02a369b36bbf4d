#include "playbook/storage.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/storage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace playbook {

namespace {

using spec::Storage;
using spec::StorageKind;

std::string column(const std::string& text) {
  return text.empty() ? "-" : text;
}

bool makes(const Context& context, const Storage& storage) {
  if (storage.kind == StorageKind::local) return true;
  static const facts::Census none;
  const spec::Host* first = first_control_plane(context.cluster, context.census ? *context.census : none);
  return first && first->name == context.host.name;
}

std::string line_of(const Context& context, const Storage& storage) {
  const bool ceph = storage.kind == StorageKind::cephfs;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", storage.name, spec::row_of(storage.kind).name,
                     spec::place_of(storage),
                     ceph ? base::join(storage.monitors, ",") : spec::source_of(storage),
                     ceph && storage.path.empty() ? "/" : column(ceph ? storage.path : ""),
                     column(storage.user), column(storage.options), makes(context, storage) ? "maker" : "-");
}

bool any_of(const Context& context, auto holds) {
  return std::ranges::any_of(context.cluster.storage, [&](const Storage& storage) {
    return spec::is_on(storage, context.host) && holds(storage);
  });
}

}  // namespace

std::string storages(const Context& context) {
  std::string text;
  for (const Storage& storage : context.cluster.storage)
    if (spec::is_on(storage, context.host)) text += line_of(context, storage);
  return text;
}

std::string storage_keys(const Context& context) {
  std::string text;
  for (const Storage& storage : context.cluster.storage)
    if (!storage.key.empty()) text += fmt::format("{} {}\n", storage.name, storage.key.reveal());
  return text;
}

bool has_storage(const Context& context, StorageKind kind) {
  return any_of(context, [&](const Storage& storage) { return storage.kind == kind; });
}

bool has_any_storage(const Context& context) {
  return any_of(context, [](const Storage&) { return true; });
}

bool has_shared_storage(const Context& context) {
  return any_of(context, [](const Storage& storage) { return storage.kind != StorageKind::local; });
}

bool lacks_storage_key(const Context& context) {
  return any_of(context, [](const Storage& storage) {
    return storage.kind == StorageKind::cephfs && storage.key.empty();
  });
}

}  // namespace playbook
