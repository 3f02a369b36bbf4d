#include "gpuadm/spec/storage.hpp"

#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "spec/listed/storage_fields.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spec {

namespace {

/// Ceph's keys are 28 bytes in base64; other lengths are possible.
bool is_key(std::string_view text) {
  return text.size() >= 16 && text.size() <= 400 && base::from_base64(text);
}

}  // namespace

std::string place_of(const Storage& storage) {
  return is_mounted(storage.kind) ? "/srv/gpuadm/" + storage.name : storage.path;
}

std::string marker_of(const Storage& storage) {
  return fmt::format("{}/gpuadm-{}", place_of(storage), storage.name);
}

std::string source_of(const Storage& storage) {
  switch (storage.kind) {
    case StorageKind::nfs:
      return fmt::format("{}:{}", base::in_brackets(storage.server), storage.exported);
    case StorageKind::cephfs:
      return fmt::format("{}:{}", base::join(storage.monitors, ","),
                         storage.path.empty() ? "/" : storage.path);
    case StorageKind::local:
    case StorageKind::path:
      break;
  }
  return storage.path;
}

bool is_on(const Storage& storage, const Host& host) {
  return storage.kind != StorageKind::local || storage.host == host.name;
}

const Storage* find_default_class(const Cluster& cluster) {
  const auto found = std::ranges::find(cluster.storage, true, &Storage::default_class);
  return found == cluster.storage.end() ? nullptr : &*found;
}

const Storage* find_storage(const Cluster& cluster, std::string_view name) {
  const auto found = std::ranges::find(cluster.storage, name, &Storage::name);
  return found == cluster.storage.end() ? nullptr : &*found;
}

Result<Storage> read_storage(const Tree& values) {
  Problems problems("storage");
  Storage storage;
  read_fields(values, "storage[].", storage_fields(), storage, problems);
  judge_storage_keys(storage, values, problems);
  if (problems.empty()) return storage;
  // Without positions: the values are not from a file.
  std::string what;
  const std::string all = base::replace_all(problems.error().what, "storage[].", "");
  for (const std::string_view line : base::lines(all)) {
    const std::size_t end = line.find(": ");
    what +=
        (what.empty() ? "" : "\n") + std::string(end == std::string_view::npos ? line : line.substr(end + 2));
  }
  return base::fail(base::Fault::usage, what, "gpuadm config explain storage");
}

Tree to_tree(const Storage& storage) {
  return write_fields(storage, "storage[].", storage_fields());
}

Result<std::string> ceph_key_in(std::string_view text, const std::string& source) {
  std::vector<std::string> keys;
  for (const std::string_view line : base::lines(text)) {
    const std::string_view plain = base::trim(line);
    const std::size_t equals = plain.find('=');
    if (is_key(plain)) keys.emplace_back(plain);
    if (equals == std::string_view::npos || base::trim(plain.substr(0, equals)) != "key") continue;
    const std::string_view value = base::trim(plain.substr(equals + 1));
    if (is_key(value)) keys.emplace_back(value);
  }
  if (keys.size() == 1) return std::move(keys.front());
  return base::fail(
      base::Fault::usage, fmt::format("{} contains {} keys of Ceph; one is needed", source, keys.size()),
      "ceph auth get-or-create-key client.USER mon 'allow r' mds 'allow rw' osd 'allow rw' > FILE");
}

}  // namespace spec
