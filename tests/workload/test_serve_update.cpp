#include "gpuadm/base/json.hpp"
#include "gpuadm/workload/serve.hpp"

#include "service_case.hpp"

#include <doctest/doctest.h>

namespace {

using base::Tree;

struct Wanted {
  std::string model = "models:/m", image, gpus = "1", size;
  int replicas = 1, context = 0;
  bool rolling = false;
  std::string commit;
};

Tree deployment_for(const Wanted& wanted) {
  workload::ServeRequest request;
  request.pod.name = "llama";
  request.pod.gpus = wanted.gpus;
  request.pod.image = wanted.image.empty() ? "lab.local/vllm:1" : wanted.image;
  request.engine = "vllm";
  request.model = wanted.model;
  request.replicas = wanted.replicas;
  request.context = wanted.context;
  auto server = workload::make_server(request, service_case::catalog());
  REQUIRE(server);
  server->pod.shm = "1Gi";
  server->pod.instance = "0123456789";
  server->rolling = wanted.rolling;
  server->commit = wanted.commit;
  if (wanted.model.starts_with("hf:")) server->pod.claim = "llama";
  for (Tree& object : workload::objects_of(*server, {}, {base::Secret("KEY"), {}}))
    if (text_of(object, "kind") == "Deployment") return std::move(object);
  FAIL("no Deployment");
  return {};
}

std::string changes_between(const Wanted& live, const Wanted& made) {
  std::string text;
  for (const workload::ServeChange& change : workload::changes_of(deployment_for(live), deployment_for(made)))
    text += fmt::format("{}: {} -> {}\n", change.what, change.from, change.to);
  return text;
}

}  // namespace

TEST_CASE("the same request changes nothing, whether a GPU is spare or not") {
  CHECK(changes_between({}, {}).empty());
  CHECK(changes_between({}, {.rolling = true}).empty());
}

TEST_CASE("an update names what it changes, before and after") {
  CHECK(changes_between({}, {.image = "lab.local/vllm:2"}) ==
        "image: lab.local/vllm:1 -> lab.local/vllm:2\n");
  CHECK(changes_between({}, {.context = 4096}) == "command:  -> --max-model-len 4096\n");
  CHECK(changes_between({.context = 4096}, {.context = 8192}) ==
        "command: --max-model-len 4096 -> --max-model-len 8192\n");
  CHECK(changes_between({}, {.replicas = 2}) == "pods: 1 -> 2\n");
  CHECK(changes_between({.model = "models:/a"}, {.model = "models:/b"}) ==
        "model: models:/a -> models:/b\ncommand: /model/a -> /model/b\n");
  const std::string commit(40, 'a'), other(40, 'b');
  CHECK(changes_between({.model = "hf:a/b@v1", .commit = commit}, {.model = "hf:a/b@v2", .commit = other}) ==
        fmt::format("model: hf:a/b@v1 -> hf:a/b@v2\ncommit: {0} -> {1}\n"
                    "command: --revision {0} -> --revision {1}\n",
                    commit, other));
  CHECK(changes_between({.gpus = "1"}, {.gpus = "2"}) ==
        "GPUs: 1 -> 2\ncommand: --tensor-parallel-size 1 -> --tensor-parallel-size 2\n");
}

TEST_CASE("a Deployment without the sum of an earlier version changes") {
  Tree live = deployment_for({});
  live["metadata"]["annotations"].set(std::string(workload::sum_annotation), "");
  const auto changes = workload::changes_of(live, deployment_for({}));
  REQUIRE(changes.size() == 1);
  CHECK(changes.front().what == "other settings of its pods");
}

TEST_CASE("a Deployment is replaced only as it was read, and is restored as it was") {
  Tree live = deployment_for({});
  live["metadata"].set("resourceVersion", "41");
  live["metadata"].set("uid", "u");
  live["metadata"]["annotations"].set("deployment.kubernetes.io/revision", "3");
  live.set("status", Tree::map_of({{"replicas", 1}}));
  const Tree made = workload::replacement_of(live, deployment_for({.context = 4096}));
  CHECK(text_at(made, {"metadata", "resourceVersion"}) == "41");
  CHECK(text_at(made, {"metadata", "annotations", "deployment.kubernetes.io/revision"}) == "3");
  const Tree restored = workload::restored(live);
  CHECK(restored.at({"metadata", "resourceVersion"}) == nullptr);
  CHECK(restored.find("status") == nullptr);
  CHECK(base::json::write(*restored.find("spec")) == base::json::write(*live.find("spec")));
  CHECK(text_at(restored, {"kind"}) == "Deployment");
}

TEST_CASE("a Secret is restored with its data and its type") {
  const Tree live = Tree::map_of({{"apiVersion", "v1"},
                                  {"kind", "Secret"},
                                  {"type", "Opaque"},
                                  {"data", Tree::map_of({{"api-key", "a2V5"}})},
                                  {"metadata", Tree::map_of({{"name", "llama"}, {"resourceVersion", "9"}})}});
  CHECK(
      base::json::write(workload::restored(live), 0) ==
      R"({"apiVersion":"v1","kind":"Secret","type":"Opaque","data":{"api-key":"a2V5"},"metadata":{"name":"llama"}})");
}

TEST_CASE("new pods start before the earlier ones end only if the update is rolling") {
  CHECK(text_at(deployment_for({.rolling = true}), {"spec", "strategy", "type"}) == "RollingUpdate");
  CHECK(text_at(deployment_for({}), {"spec", "strategy", "type"}) == "Recreate");
}
