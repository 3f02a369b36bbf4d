#pragma once

#include "gpuadm/base/secret.hpp"

#include "commands/workloads/service/named.hpp"

#include <cstdint>
#include <string>

namespace commands {

/// One completion with the key, and one refusal without it, as a sentence for the operator.
[[nodiscard]] Result<std::string> prove_model(ReachedCluster& cluster, const NamedService& service,
                                              const base::Secret& key, const std::string& health, Io& io);
/// Writes the key file, prints how it is used, and keeps a tunnel open until Ctrl-C if one is needed. `port`:
/// of the tunnel; 0: any that is free.
[[nodiscard]] Result<Outcome> open_model(ReachedCluster& cluster, const NamedService& service,
                                         std::uint16_t port, Io& io);

/// What the Deployment of a served model says of it.
struct ServedModel {
  std::string model, engine, image, gpus, health;
  long long replicas = 1;
};
[[nodiscard]] ServedModel served_model(const base::Tree& deployment);

}  // namespace commands
