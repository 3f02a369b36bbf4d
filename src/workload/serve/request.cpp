#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/serve.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

constexpr int most_replicas = 100;
constexpr int most_context = 100'000'000;

std::unexpected<base::Error> refuse(std::string what, std::string hint) {
  return base::fail(Fault::usage, std::move(what), std::move(hint));
}

/// An image of the operator, with the port and the path that its server answers.
Result<Engine> own_engine(const ServeRequest& request) {
  if (request.port == 0 || request.health.empty())
    return refuse(
        "--image without --engine needs the port of the server and a path that it answers when it is ready",
        "--server-port 8000 --health /health, or --engine for one of the catalog");
  const bool plain = request.health.starts_with('/') && request.health.size() < 256 &&
                     std::ranges::all_of(request.health, [](char c) { return c > ' ' && c < 127; });
  if (!plain)
    return refuse(fmt::format("--health: {}: not a path", base::printable(request.health, 80)),
                  "for example --health /health");
  const std::string& variable = request.key_variable;
  if (variable.empty() || !std::ranges::all_of(variable, [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      }))
    return refuse(
        fmt::format("--key-variable: {}: not the name of a variable", base::printable(variable, 80)),
        "for example --key-variable API_KEY");
  Engine engine;
  engine.port = request.port;
  engine.health = request.health;
  engine.key_variable = variable;
  return engine;
}

std::string default_engine(const ModelSource& source) {
  return source.format() == "gguf" ? "llama.cpp" : "vllm";
}

Result<Engine> choose_engine(const ServeRequest& request, const ModelSource& source, const Tree& catalog) {
  if (request.engine.empty() && !request.pod.image.empty()) return own_engine(request);
  if (request.port != 0 || !request.health.empty())
    return refuse("--server-port and --health are of an image without an engine of the catalog",
                  "leave them out, or name the image: --image IMAGE");
  if (!request.pod.command.empty())
    return refuse(
        "the command after -- is of an image without an engine of the catalog",
        "leave it out, or name the image: --image IMAGE --server-port PORT --health PATH -- COMMAND");
  return engine_of(catalog, request.engine.empty() ? default_engine(source) : request.engine);
}

/// Whether the engine reads such a model.
Result<> check_source(const ModelServer& server) {
  const Engine& engine = server.engine;
  const ModelSource& source = server.source;
  if (engine.name.empty()) return {};
  if (source.kind == ModelSource::Kind::none)
    return refuse("--model is missing", "for example --model models:/llama-8b, or --model hf:ORG/NAME");
  const std::string format = source.format();
  if (!format.empty() && std::ranges::find(engine.formats, format) == engine.formats.end())
    return refuse(fmt::format("--engine: {} does not read {} ({})", engine.name, format,
                              base::join(engine.formats, ", ")),
                  fmt::format("--engine {}", default_engine(source)));
  if (source.kind == ModelSource::Kind::hub && !engine.options.contains("hub"))
    return refuse(fmt::format("--model: with {}, the model must be on a claim", engine.name),
                  "copy the model to a claim: --model CLAIM:/PATH");
  if (!source.revision.empty() && !engine.options.contains("revision"))
    return refuse(fmt::format("--model: {} downloads no revision other than the newest", engine.name),
                  "leave out @REVISION, or copy the model to a claim: --model CLAIM:/PATH");
  if (server.context > 0 && !engine.options.contains("context"))
    return refuse(fmt::format("--context: {} has no such setting", engine.name), "leave it out");
  return {};
}

/// A port of every node would be open to everyone in the network.
Result<> check_reach(const ModelServer& server, bool without_key) {
  const Engine& engine = server.engine;
  if (without_key && engine.has_key())
    return refuse("--without-key: the server has an API key", "leave it out");
  if (server.pod.reach != Reach::node_port || engine.has_key() || without_key) return {};
  return refuse(fmt::format("--node-port: {} has no API key, so that everyone in the network could use the "
                            "model ({})",
                            engine.name, engine.no_key),
                "--tunnel; or add --without-key if everyone may");
}

Result<> check_numbers(const ServeRequest& request) {
  if (request.replicas < 1 || request.replicas > most_replicas)
    return refuse(fmt::format("--replicas: {} is not between 1 and {}", request.replicas, most_replicas),
                  "for example --replicas 2");
  if (request.context < 0 || request.context > most_context)
    return refuse(fmt::format("--context: {} is not a number of tokens", request.context),
                  "for example --context 32768");
  return {};
}

}  // namespace

std::chrono::seconds loading_limit(const ModelSource& source) {
  using namespace std::chrono_literals;
  return source.kind == ModelSource::Kind::hub ? 12h : 2h;
}

Result<ModelServer> make_server(const ServeRequest& request, const Tree& catalog) {
  ModelServer server;
  ServicePodRequest pod = request.pod;
  pod.mount = cache_mount;
  server.pod = TRY(make_service_pod(serve_kind, pod, "for example --image REGISTRY/NAME:TAG"));
  TRY(check_numbers(request));
  if (!request.model.empty()) server.source = TRY(parse_model_source(request.model));
  server.engine = TRY(choose_engine(request, server.source, catalog));
  server.replicas = request.replicas;
  server.context = request.context;
  TRY(check_source(server));
  TRY(check_reach(server, request.without_key));
  const bool offers_none = std::ranges::none_of(
      server.engine.images.items(), [](const Tree& image) { return image.find("cuda") == nullptr; });
  if (!server.engine.name.empty() && !server.pod.gpus.any() && server.pod.image.empty() && offers_none)
    return refuse(fmt::format("--gpus: {} needs a GPU", server.engine.name), "for example --gpus 1");
  if (server.replicas > 1 && !server.pod.size.empty())
    return refuse("--size: pods on several nodes cannot write to one new volume",
                  "--storage with a claim on a storage that all nodes share (gpuadm storage claim)");
  return server;
}

Result<> resolve_volume(ModelServer& server, const std::string& claim) {
  const bool is_kept = server.pod.claim.empty() && !claim.empty();
  if (claim.empty() && server.source.kind == ModelSource::Kind::hub)
    return refuse("--model: a model of a hub is downloaded to a volume, and none is given",
                  "--size 50Gi for a new volume, or --storage CLAIM for an existing one");
  if (is_kept && server.replicas > 1)
    return base::fail(Fault::blocked,
                      fmt::format("--replicas: the volume of the earlier served model {}/{} would be mounted "
                                  "on several nodes",
                                  server.pod.ns, server.pod.name),
                      fmt::format("--storage with a claim on a storage that all nodes share, or "
                                  "gpuadm serve delete {} -n {} --purge",
                                  server.pod.name, server.pod.ns));
  server.pod.claim = claim;
  // It may be bound to one node, on which the GPUs of the old pod are not free yet.
  server.rolling = server.rolling && claim.empty();
  return {};
}

}  // namespace workload
