#include "playbook/storage.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/storage.hpp"

#include "playbook/kubeadm.hpp"

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

bool any_storage(const Context& context, auto holds) {
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

std::string default_class_node(const Context& context) {
  const Storage* storage = spec::find_default_class(context.cluster);
  const auto host = storage ? std::ranges::find(context.cluster.hosts, storage->host, &spec::Host::name)
                            : context.cluster.hosts.end();
  if (host == context.cluster.hosts.end()) return {};
  const auto facts = context.census ? context.census->find(host->name) : facts::Census::const_iterator();
  const bool known = context.census && facts != context.census->end() && facts->second;
  if (!known && host->name != context.host.name) return {};
  return node_name({context.cluster, context.decisions, *host, known ? *facts->second : context.facts,
                    context.catalog, context.bundle, context.kubernetes});
}

std::string default_class_folder(const Context& context) {
  const Storage* storage = spec::find_default_class(context.cluster);
  return storage ? spec::marker_of(*storage) + "/volumes" : std::string();
}

bool has_default_class(const Context& context) {
  return !default_class_node(context).empty();
}

bool has_default_class_here(const Context& context) {
  const Storage* storage = spec::find_default_class(context.cluster);
  return storage && storage->host == context.host.name;
}

bool has_storage(const Context& context, StorageKind kind) {
  return any_storage(context, [&](const Storage& storage) { return storage.kind == kind; });
}

bool has_any_storage(const Context& context) {
  return any_storage(context, [](const Storage&) { return true; });
}

bool has_shared_storage(const Context& context) {
  return any_storage(context, [](const Storage& storage) { return storage.kind != StorageKind::local; });
}

bool lacks_storage_key(const Context& context) {
  return any_storage(context, [](const Storage& storage) {
    return storage.kind == StorageKind::cephfs && storage.key.empty();
  });
}

}  // namespace playbook
