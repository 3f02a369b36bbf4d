#pragma once

#include "gpuadm/base/secret.hpp"
#include "gpuadm/model/read.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "commands/command.hpp"

#include <filesystem>
#include <string>

namespace commands {

/// Where a model is that is to be checked.
struct ModelPlace {
  enum class Kind {
    local,    ///< a folder or a .gguf file of this machine
    storage,  ///< in a claim on a storage
    hub       ///< hf:ORG/NAME@REVISION
  };
  Kind kind = Kind::local;
  std::string text;     ///< as it was given
  std::string storage;  ///< a storage, or a claim
  std::string path;     ///< in the claim; of a storage, the claim is the first part
};

/// "hf:…" and "NAME:/PATH" are a hub and a storage; everything else is a path, of this machine. Fault::usage.
[[nodiscard]] Result<ModelPlace> parse_model_place(const std::string& text);

/// Headers of the model's files. Fault::usage, parse, auth, remote or unreachable with what to do.
[[nodiscard]] Result<model::Files> read_hub_model(const ModelPlace& place, const base::Secret& token);

/// The same, read as root on a host with the storage: a claim's folder may belong to a user. `cluster` has
/// the storages and its hosts; `ns`: the namespace of the claim.
[[nodiscard]] Result<model::Files> read_storage_model(const ModelPlace& place, const std::string& ns,
                                                      const spec::Cluster& cluster, transport::Fleet& fleet,
                                                      const assets::Store& assets);

}  // namespace commands
