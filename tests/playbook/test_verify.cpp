// The playbook of `gpuadm verify`, phase by phase as the verb runs it.
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/plan/plan.hpp"

#include "playbook/sample.hpp"

namespace {

struct Verify : Sample {
  playbook::Library verify = *playbook::Library::load(store, "verify");
  facts::Census census;

  Verify() {
    bundle = bundle::Bundle{};
    bundle->directory = "/run";
    bundle->files.push_back({"proof-image.tar", bundle::BundleKind::image, "", "", "gpuadm.local/proof:1", "",
                             std::string(64, 'a')});
    census.emplace(cluster.hosts.front().name, facts);
  }
  base::Result<plan::Plan> plan(const char* phase, const base::Variables& given = {}) {
    return plan::make(cluster, {}, census, verify, nullptr, {{phase}, {}, {}, given, {}, &*bundle});
  }
};

std::vector<std::string> ids(const plan::Plan& plan) {
  std::vector<std::string> found;
  for (const plan::Stage& stage : plan.stages)
    for (const plan::Walk& walk : stage.walks)
      for (const plan::Action& action : walk.actions) found.push_back(action.id);
  return found;
}

}  // namespace

TEST_CASE("verify: the image that gpuadm carries is imported into either engine, and routes are read") {
  Verify with;
  for (const auto engine : {spec::Engine::containerd, spec::Engine::docker}) {
    with.cluster.runtime.engine = engine;
    const auto plan = with.plan("verify/image");
    REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().what));
    REQUIRE(ids(*plan).size() == 2);
    CHECK(ids(*plan).back() == "verify.routes");
    CHECK(ids(*plan).front().ends_with(":gpuadm.local/proof:1"));
    CHECK(plan->stages.front().walks.front().actions.front().input == "/run/proof-image.tar");
  }
}

TEST_CASE("verify: the network test runs on the first control plane, and on no cluster with CRI-O") {
  Verify with;
  auto plan = with.plan("verify/network", {{"network_proof", "always"}});
  REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().what));
  CHECK(ids(*plan) == std::vector<std::string>{"verify.network", "verify.network.record"});
  const plan::Action& action = plan->stages.front().walks.front().actions.front();
  CHECK(action.judge == "pod-network");
  CHECK(action.variables.at("network_proof") == "always");
  CHECK(action.variables.at("node_names").ends_with("\n"));
  with.cluster.runtime.engine = spec::Engine::crio;
  plan = with.plan("verify/network");
  REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().what));
  CHECK(ids(*plan).empty());
}

TEST_CASE("verify: what the verb gives reaches the step that reads it, and is missed where it is not given") {
  Verify with;
  const auto missing = with.plan("verify/pods");
  REQUIRE(!missing);
  CHECK(missing.error().what.find("'verify_pods' is not defined") != std::string::npos);
  const auto plan = with.plan("verify/pods", {{"verify_pods", "---"}, {"verify_count", "3"}});
  REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().what));
  CHECK(ids(*plan) == std::vector<std::string>{"verify.namespace", "verify.pods"});
  CHECK(plan->stages.front().walks.front().actions.back().variables.at("verify_count") == "3");
}

TEST_CASE("verify: a pod is one YAML document, with a RuntimeClass or without") {
  const Verify with;
  const std::string text = *with.verify.text("templates/verify-pod.yaml");
  for (const char* runtime_class : {"nvidia", "null"}) {
    const auto filled = playbook::fill(text,
                                       {{"name", "pod-0-0"},
                                        {"node", "one"},
                                        {"image", "gpuadm.local/proof:1"},
                                        {"command", R"("nvidia-smi", "-L")"},
                                        {"runtime_class", runtime_class},
                                        {"claims", "[]"},
                                        {"resources", R"({ limits: { nvidia.com/gpu: "1" } })"},
                                        {"deadline", "900"}},
                                       {}, "templates/verify-pod.yaml");
    REQUIRE_MESSAGE(filled, (filled ? "" : filled.error().what));
    const auto tree = base::yaml::read(*filled, "pod");
    REQUIRE_MESSAGE(tree, (tree ? "" : tree.error().what));
    CHECK(tree->at({"spec", "runtimeClassName"})->is_null() == (std::string_view(runtime_class) == "null"));
    const base::Tree& container = tree->at({"spec", "containers"})->items().front();
    CHECK(container.at({"resources", "limits", "nvidia.com/gpu"})->text() == "1");
    CHECK(container.find("command")->items().size() == 2);
  }
}
