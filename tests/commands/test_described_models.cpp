#include "commands/workloads/serve/described.hpp"

#include <doctest/doctest.h>

TEST_CASE("a served model of the cluster file is requested as serve create requests it") {
  spec::Served served{.name = "llama", .model = "models:/llama-8b"};
  const auto usual = commands::options_of(served, {}, {});
  const workload::ServeRequest& plain = usual.request;
  const workload::ServeRequest untouched;
  CHECK(plain.key_variable == untouched.key_variable);
  CHECK(plain.replicas == untouched.replicas);
  CHECK(plain.pod.ns == untouched.pod.ns);
  CHECK(plain.pod.gpus == untouched.pod.gpus);
  CHECK(plain.pod.reach == workload::Reach::cluster);
  CHECK(usual.consent == commands::Consent::ask);
  served = {.name = "own",
            .ns = "vision",
            .model = {},
            .engine = {},
            .gpus = "1/4",
            .replicas = 2,
            .context = 4096,
            .storage = "caches",
            .size = {},
            .cpus = "4",
            .memory = "8Gi",
            .shm = "1Gi",
            .image = "lab.local/server:1",
            .server_port = 8080,
            .health = "/ready",
            .key_variable = "TOKEN",
            .command = {"server"},
            .hub_token_file = "/keys/hub",
            .node_port = true,
            .without_key = true};
  const auto options = commands::options_of(served, {}, {});
  const workload::ServeRequest& request = options.request;
  CHECK(options.hub_token == "/keys/hub");
  CHECK(request.pod.name == "own");
  CHECK(request.pod.ns == "vision");
  CHECK(request.pod.gpus == "1/4");
  CHECK(request.pod.storage == "caches");
  CHECK(request.pod.cpus == "4");
  CHECK(request.pod.memory == "8Gi");
  CHECK(request.pod.shm == "1Gi");
  CHECK(request.pod.image == "lab.local/server:1");
  CHECK(request.pod.command == std::vector<std::string>{"server"});
  CHECK(request.pod.reach == workload::Reach::node_port);
  CHECK(request.replicas == 2);
  CHECK(request.context == 4096);
  CHECK(request.port == 8080);
  CHECK(request.health == "/ready");
  CHECK(request.key_variable == "TOKEN");
  CHECK(request.without_key);
}

TEST_CASE("a served model that cannot be is refused with its place in the file, each of them") {
  const auto assets = assets::Store::open({});
  REQUIRE(assets);
  spec::Cluster cluster;
  cluster.serve.push_back({.name = "a", .model = "models:/a", .engine = "vlm", .mark = {4, 5}});
  cluster.serve.push_back({.name = "b", .model = "models:/b.gguf", .gpus = "1"});
  cluster.serve.push_back({.name = "c", .model = "hf:none", .gpus = "1", .mark = {6, 5}});
  cluster.serve.push_back(
      {.name = "d", .model = "models:/d", .gpus = "1", .hub_token_file = "/no/file", .mark = {7, 5}});
  const auto checked = commands::check_described(cluster, "lab.yaml", *assets);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().fault == base::Fault::blocked);
  const std::string& what = checked.error().what;
  CHECK(what.find("lab.yaml:4:5: serve a: --engine: unknown engine vlm") != std::string::npos);
  CHECK(what.find("serve b") == std::string::npos);
  CHECK(what.find("lab.yaml:6:5: serve c: --model: ") != std::string::npos);
  CHECK(what.find("lab.yaml:7:5: serve d: /no/file") != std::string::npos);
}

TEST_CASE("the difference of a served model has what changes, before and after") {
  const spec::Served served{.name = "llama", .model = "models:/llama-8b", .gpus = "2"};
  CHECK(title_of(commands::DescribedModel{&served, false, {}}) == "Serve the model llama");
  CHECK(diff_of(commands::DescribedModel{&served, false, {}}) == "+models:/llama-8b, GPUs: 2\n");
  const spec::Served other{.name = "llama", .ns = "vision"};
  const commands::DescribedModel model{
      &other, true, {{"GPUs", "1", "2"}, {"volume", "", "caches"}, {"other settings of its pods", "", ""}}};
  CHECK(title_of(model) == "Update the served model vision/llama");
  CHECK(diff_of(model) == "-GPUs: 1\n+GPUs: 2\n+volume: caches\n+other settings of its pods\n");
}
