#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/serve.hpp"

#include "service_case.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

namespace {

using base::Tree;
using service_case::catalog;
namespace fs = std::filesystem;

workload::ServeRequest serve_request_of(const Tree& tree) {
  workload::ServeRequest request;
  request.pod = service_case::request_of(tree);
  const auto set = [&](const char* name, std::string& value) {
    if (const Tree* found = tree.find(name)) value = found->text();
  };
  set("model", request.model);
  set("engine", request.engine);
  set("health", request.health);
  set("keyVariable", request.key_variable);
  const auto number = [&](const char* name) {
    const Tree* found = tree.find(name);
    return found ? found->as_int().value_or(0) : 0;
  };
  request.port = static_cast<std::uint16_t>(number("port"));
  if (tree.find("replicas")) request.replicas = static_cast<int>(number("replicas"));
  request.context = static_cast<int>(number("context"));
  request.without_key = tree.find("withoutKey") != nullptr;
  return request;
}

/// The objects as YAML, or the error.
workload::Result<std::string> objects_from(const Tree& given) {
  workload::ModelServer server =
      TRY(workload::make_server(serve_request_of(*given.find("request")), catalog()));
  TRY(workload::resolve_volume(server, server.pod.claim));
  std::optional<facts::ClusterFacts> facts;
  workload::GpuSupply supply;
  if (const Tree* cluster = given.find("cluster")) {
    facts = service_case::cluster_of(*cluster);
    supply = TRY(workload::supply_of(*facts));
  }
  const auto cuda = facts ? workload::cuda_of(*facts, supply) : std::nullopt;
  if (server.pod.image.empty())
    server.pod.image =
        TRY(workload::image_for(server.engine.images, server.engine.name, server.pod.gpus, cuda));
  if (server.pod.shm.empty())
    server.pod.shm = workload::shm_of(server.pod, facts ? &*facts : nullptr, supply);
  server.pod.instance = "0123456789";
  server.rolling = given.at({"request", "rolling"}) != nullptr;
  server.has_hub_token = given.find("token") != nullptr;
  server.hub_endpoint = text_of(given, "endpoint");
  const auto parts = workload::parts_of(supply, server.pod.gpus, server.pod.name, server.pod.ns, {});
  const workload::ServeKeys keys{base::Secret("APIKEY"),
                                 base::Secret(server.has_hub_token ? "HUBTOKEN" : "")};
  std::string text;
  for (const Tree& object : workload::objects_of(server, parts, keys))
    text += "---\n" + base::yaml::write(object);
  return text;
}

}  // namespace

TEST_CASE("a served model becomes these objects, or is refused with this message") {
  const auto folders = service_case::cases("serve");
  REQUIRE(folders.size() > 25);
  const bool rewrite = std::getenv("GPUADM_REWRITE_CASES") != nullptr;
  for (const fs::path& folder : folders) {
    CAPTURE(folder.filename().string());
    const auto given = base::yaml::read(service_case::text_of(folder / "options.yaml"), "options.yaml");
    REQUIRE(given);
    const auto made = objects_from(*given);
    const bool refused = folder.filename().string().starts_with("refused-");
    CHECK(made.has_value() == !refused);
    const std::string seen = made ? *made : made.error().what + "\n" + made.error().hint + "\n";
    const fs::path file = folder / (refused ? "error.txt" : "expected.yaml");
    if (rewrite) REQUIRE(base::write_file(file, seen, 0644));
    CHECK(seen == service_case::text_of(file));
  }
}

TEST_CASE("every engine of the catalog has a case") {
  std::set<std::string> covered;
  for (const fs::path& folder : service_case::cases("serve"))
    if (const auto given = base::yaml::read(service_case::text_of(folder / "options.yaml"), "options.yaml"))
      if (const auto server = workload::make_server(serve_request_of(*given->find("request")), catalog()))
        covered.insert(server->engine.name);
  for (const std::string& name : workload::engine_names(catalog())) {
    CAPTURE(name);
    CHECK(covered.contains(name));
    const auto engine = workload::engine_of(catalog(), name);
    REQUIRE(engine);
    CHECK(engine->port > 0);
    CHECK(engine->health.starts_with('/'));
    const int ways =
        int{!engine->key_variable.empty()} + int{!engine->key_option.empty()} + int{!engine->has_key()};
    CHECK(ways == 1);
    CHECK((engine->api == "openai" || engine->api == "kserve"));
    CHECK((engine->metrics.empty() || engine->metrics.starts_with('/')));
    CHECK(!engine->formats.empty());
    CHECK(!engine->command.empty());
    CHECK(!engine->images.items().empty());
  }
}

TEST_CASE("the key of a served model is only in its Secret") {
  for (const char* engine : {"vllm", "sglang"}) {
    const auto given = base::yaml::read(
        fmt::format("request: {{ name: llama, model: 'models:/m', engine: {}, gpus: '1' }}", engine), "test");
    const std::string text = objects_from(*given).value();
    const std::size_t secret = text.find("kind: Secret"), service = text.find("kind: Service");
    for (std::size_t at = text.find("APIKEY"); at != std::string::npos; at = text.find("APIKEY", at + 1)) {
      CHECK(at > secret);
      CHECK(at < service);
    }
  }
}

TEST_CASE("a source of a model is read back as it was written") {
  for (const char* text :
       {"models:/llama-8b", "models:/a/b.gguf", "models:/", "hf:Qwen/Qwen3-8B", "hf:a/b@v1.0/x"}) {
    const auto source = workload::parse_model_source(text);
    REQUIRE(source);
    CHECK(source->text() == text);
  }
  CHECK(workload::parse_model_source("models:/a//b/")->text() == "models:/a/b");
}

TEST_CASE(
    "the volume of an earlier served model is used, by one pod, which ends before the next one starts") {
  const auto server_for = [](const char* model, int replicas) {
    workload::ServeRequest request;
    request.pod.name = "llama";
    request.pod.gpus = "1";
    request.model = model;
    request.replicas = replicas;
    auto server = workload::make_server(request, catalog());
    REQUIRE(server);
    server->rolling = true;
    return *server;
  };
  workload::ModelServer one = server_for("hf:a/b", 1);
  CHECK(!workload::resolve_volume(one, ""));
  REQUIRE(workload::resolve_volume(one, "llama"));
  CHECK(one.pod.claim == "llama");
  CHECK(!one.rolling);
  workload::ModelServer two = server_for("models:/m", 2);
  const auto refused = workload::resolve_volume(two, "llama");
  REQUIRE(!refused);
  CHECK(refused.error().fault == base::Fault::blocked);
  REQUIRE(workload::resolve_volume(two, ""));
  CHECK(two.rolling);
}
