#pragma once

#include "gpuadm/base/secret.hpp"

#include "commands/workloads/serve/key_file.hpp"
#include "commands/workloads/service/named.hpp"

#include <cstdint>
#include <string>

namespace commands {

/// One completion with the key, and one refusal without it, as a sentence for the operator. An empty key: the
/// server takes none.
[[nodiscard]] Result<std::string> prove_model(ReachedCluster& cluster, const NamedService& service,
                                              const base::Secret& key, const std::string& health, Io& io);
/// The same of an image of the operator if it has OpenAI's API, which GET /v1/models shows. What is not
/// answered is in the sentence, and no error: the image may serve something else.
[[nodiscard]] Result<std::string> prove_image(ReachedCluster& cluster, const NamedService& service,
                                              const base::Secret& key, const std::string& health, Io& io);
/// Writes the key file, prints how it is used, and keeps a tunnel open until Ctrl-C if one is needed. `port`:
/// of the tunnel; 0: any that is free.
[[nodiscard]] Result<Outcome> open_model(ReachedCluster& cluster, const NamedService& service,
                                         std::uint16_t port, Io& io);

/// What the Deployment of a served model says of it.
struct ServedModel {
  std::string model, engine, image, gpus, health;
  ServedApi api;
  std::string commit;   ///< of the model on its hub; empty: not known
  std::string digest;   ///< of the model's files; empty: not known
  std::string metrics;  ///< ":8002/metrics" of its pods, for Prometheus; empty: none without a key
  long long replicas = 1;
};
[[nodiscard]] ServedModel served_model(const base::Tree& deployment);
/// The digests of the images that its containers run, without repetition, "sha256:…"; empty: not known.
[[nodiscard]] std::string image_digests(const std::vector<base::Tree>& objects);
/// Its API key; empty if it takes none.
[[nodiscard]] Result<base::Secret> read_api_key(ReachedCluster& cluster, const NamedService& service,
                                                const ServedApi& api);

}  // namespace commands
