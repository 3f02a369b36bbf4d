#include "gpuadm/base/files.hpp"
#include "gpuadm/base/secret_file.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/spec/storage.hpp"

#include <fmt/format.h>

namespace session {

base::Result<> read_storage_keys(spec::Cluster& cluster) {
  for (spec::Storage& storage : cluster.storage) {
    if (storage.key_file.empty() || !storage.key.empty()) continue;
    const std::filesystem::path file = storage.key_file.starts_with("~/")
                                           ? base::home() / storage.key_file.substr(2)
                                           : std::filesystem::path(storage.key_file);
    const auto text = base::read_private_file(file);
    if (!text)
      return base::fail(text.error().fault,
                        fmt::format("storage {}: keyFile: {}", storage.name, text.error().what),
                        text.error().hint);
    storage.key = base::Secret(TRY(spec::ceph_key_in(
        text->reveal(), fmt::format("storage {}: keyFile: {}", storage.name, file.string()))));
  }
  return {};
}

}  // namespace session
