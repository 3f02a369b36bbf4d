#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/workload/gpus.hpp"
#include "gpuadm/workload/service_pod.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Served models: a Deployment with an inference server, a Service, a Secret with the API key, and a volume
/// for what is downloaded.
namespace workload {

/// Annotations of the Deployment.
inline constexpr std::string_view model_annotation = "gpuadm.io/model",
                                  engine_annotation = "gpuadm.io/engine",
                                  no_key_annotation = "gpuadm.io/no-key", api_annotation = "gpuadm.io/api",
                                  commit_annotation = "gpuadm.io/model-commit",
                                  digest_annotation = "gpuadm.io/model-sha256",
                                  sum_annotation = "gpuadm.io/configuration";
/// Annotations of its pods, by which the add-on prometheus finds their metrics (templates/addons/).
inline constexpr std::string_view metrics_port_annotation = "gpuadm.io/metrics-port",
                                  metrics_path_annotation = "gpuadm.io/metrics-path";
/// Where the volume is mounted, which is also the home directory of the server; and where a model of a claim
/// is mounted, read-only.
inline constexpr std::string_view cache_mount = "/cache", model_mount = "/model";
/// The key of the API in the Secret `NAME-key`.
inline constexpr const char* api_key = "key";
/// The key of the token of the hub there.
inline constexpr const char* hub_token_key = "hub-token";

/// An inference server: a row of `serve` in playbooks/catalog.yaml, or an image of the operator.
struct Engine {
  std::string name;  ///< "vllm"; empty: an image of the operator
  base::Tree images;
  std::vector<std::string> command;  ///< the program and its arguments; `{name}` and so on are replaced
  /// Arguments that follow if something is given: "storage" or "hub" for the model, "revision", "gpus",
  /// "context".
  std::map<std::string, std::vector<std::string>> options;
  std::uint16_t port = 0;
  std::string health, metrics;  ///< paths; an empty one: none
  std::uint16_t metrics_port = 0;
  bool metrics_need_key = false;     ///< the API key, which Prometheus does not have
  std::string no_key;                ///< why it takes no API key; empty: it takes one
  std::string key_variable;          ///< that has the API key; empty: a file has it
  std::string key_option, key_text;  ///< of a file with the API key: "--config", "api-key: {key}"
  std::vector<std::string> formats;  ///< "safetensors", "gguf"; empty: any
  std::map<std::string, std::string> environment;
  std::int64_t user = 0;  ///< 0: as the image says
  std::string api;        ///< "openai": answers /v1/models and /v1/completions; "kserve"; empty: unknown
  [[nodiscard]] bool is_openai() const { return api == "openai"; }
  [[nodiscard]] bool has_key() const { return no_key.empty(); }
};
/// The row of an engine. Fault::usage with the names of all rows.
[[nodiscard]] Result<Engine> engine_of(const base::Tree& catalog, const std::string& name);
/// The names of all rows.
[[nodiscard]] std::vector<std::string> engine_names(const base::Tree& catalog);

/// Where a model is.
struct ModelSource {
  enum class Kind {
    none,     ///< the image has it
    storage,  ///< a folder or file of a claim
    hub       ///< a model of a hub such as Hugging Face
  };
  Kind kind = Kind::none;
  std::string storage;     ///< a claim; or a storage, whose claim is the first part of the path
  std::string path;        ///< in the claim, beginning with '/'
  std::string repository;  ///< "ORG/NAME"
  std::string revision;    ///< empty: the newest
  [[nodiscard]] std::string text() const;  ///< "models:/llama-8b", "hf:ORG/NAME@REVISION"
  /// "gguf" or "safetensors", by its name; empty: not known.
  [[nodiscard]] std::string format() const;
};
/// Of a claim or a hub; a model of this machine was copied to a claim before. Fault::usage for anything else.
[[nodiscard]] Result<ModelSource> parse_model_source(std::string_view text);

/// A served model as it was requested; empty: the default. The mount of `pod` is not used.
struct ServeRequest {
  ServicePodRequest pod;
  std::string model, engine;
  std::uint16_t port = 0;  ///< of an image of the operator
  std::string health;      ///< of an image of the operator
  std::string key_variable = "API_KEY";
  int replicas = 1;
  int context = 0;           ///< tokens; 0: as the model says
  bool without_key = false;  ///< a port on every node may be open without an API key
};

/// A served model whose values are valid.
struct ModelServer {
  ServicePod pod;
  Engine engine;
  ModelSource source;
  int replicas = 1;
  int context = 0;
  bool rolling = false;      ///< a new pod starts before the old one ends, because a GPU is spare
  std::string commit;        ///< of the model on its hub; empty: not known
  std::string digest;        ///< SHA-256 of the list of the model's files with theirs; empty: not known
  std::string hub_endpoint;  ///< HF_ENDPOINT; empty: the default
  bool has_hub_token = false;
};
/// Validates everything that needs no cluster. The image is as requested. Fault::usage.
[[nodiscard]] Result<ModelServer> make_server(const ServeRequest& request, const base::Tree& catalog);

/// Takes the volume that was found for it: `claim`, or empty. Fault::usage: a model of a hub has none;
/// Fault::blocked: several pods cannot mount that of an earlier served model.
[[nodiscard]] Result<> resolve_volume(ModelServer& server, const std::string& claim);

/// How long loading may take before the pod is restarted: a model of a hub is downloaded first.
[[nodiscard]] std::chrono::seconds loading_limit(const ModelSource& source);

/// The path that answers once the model is loaded.
[[nodiscard]] std::string health_of(const ModelServer& server);
/// The command of the container. Fault::usage if the engine cannot do what is requested.
[[nodiscard]] std::vector<std::string> command_of(const ModelServer& server);

/// Secrets of a served model.
struct ServeKeys {
  base::Secret api;        ///< empty: the engine takes none
  base::Secret hub_token;  ///< empty: none
};
/// What an update changes.
struct ServeChange {
  std::string what;      ///< "model", "image", "GPUs"
  std::string from, to;  ///< may be empty: none
};
/// The differences of a Deployment as it is and as objects_of makes it; none: they are the same.
[[nodiscard]] std::vector<ServeChange> changes_of(const base::Tree& live, const base::Tree& made);

/// The objects, in the order of creation.
[[nodiscard]] std::vector<base::Tree> objects_of(const ModelServer& server, const GpuParts& parts,
                                                 const ServeKeys& keys);

}  // namespace workload
