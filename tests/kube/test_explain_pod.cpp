#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/kube/explanation.hpp"

#include "case_text.hpp"
#include "kube/explain_case.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

namespace {

namespace fs = std::filesystem;
using base::Tree;

constexpr const char* pod_cases = GPUADM_TESTS_DIR "/cases/explain-pod";

kube::PodView view_of(const std::string& name) {
  return explain_case(fs::path(pod_cases) / name);
}

kube::PodExplanation explained(const std::string& name, const std::string& asked,
                               const kube::NodeFacts& hosts = {}) {
  const auto explanation = kube::explain(view_of(name), *kube::parse_pod_name(asked), hosts);
  REQUIRE_MESSAGE(explanation.has_value(), explanation.error().what);
  return *explanation;
}

Tree expected_of(const std::string& asked, const kube::PodExplanation& explanation) {
  const kube::PodLink* first = explanation.first();
  Tree tree = Tree::map_of({{"asked", asked}, {"message", explanation.headline()}});
  if (!first) return tree;
  tree.set("link", first->link);
  tree.set("reason", first->reason);
  tree.set("seen", Tree::list_of(first->seen));
  tree.set("fix", first->fix);
  if (!explanation.pod.empty() && explanation.pod != explanation.name) tree.set("pod", explanation.pod);
  return tree;
}

/// Whether a text has a field of a template that nothing was put into: `{name}`.
bool has_field(std::string_view text) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1);
    if (end != std::string_view::npos && end > at + 1 && text[end] == '}') return true;
  }
  return false;
}

}  // namespace

TEST_CASE("explain pod: the first broken link of every case is named, with evidence and fix") {
  std::set<std::string> reasons;
  for (const auto& entry : fs::directory_iterator(pod_cases)) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const auto expected = base::yaml::read(case_text(entry.path() / "expected.yaml"), name);
    REQUIRE(expected.has_value());
    const std::string asked = expected->find("asked")->text();
    const kube::PodExplanation explanation = explained(name, asked);
    const Tree got = expected_of(asked, explanation);
    if (std::getenv("GPUADM_REWRITE_CASES"))
      REQUIRE(base::write_file(entry.path() / "expected.yaml", base::yaml::write(got), 0644));
    else
      CHECK(base::yaml::write(got) == case_text(entry.path() / "expected.yaml"));
    if (const auto* first = explanation.first()) {
      reasons.insert(first->reason);
      if (first->state == kube::LinkState::broken) CHECK_MESSAGE(!first->fix.empty(), first->what);
    }
    const std::string text = kube::to_text(explanation, 100);
    CHECK_MESSAGE(!has_field(text), text);
    CHECK(std::ranges::count(text, '\n') <= 24);
  }
  CHECK(reasons.size() >= 50);
}

TEST_CASE("explain pod: links after the broken one are not evaluated") {
  const auto explanation = explained("gpus-in-use", "team/trainer");
  REQUIRE(explanation.links.size() == 10);
  CHECK(explanation.links[0].state == kube::LinkState::passed);
  CHECK(explanation.links[1].state == kube::LinkState::broken);
  for (std::size_t i = 2; i < explanation.links.size(); ++i)
    CHECK(explanation.links[i].what == "not reached");
}

TEST_CASE("explain pod: the text begins with the reason, and ends with the last log lines") {
  const std::string text = kube::to_text(explained("exit-code", "team/trainer"), 0);
  CHECK(text.starts_with("CrashLoopBackOff: container main ended with exit code 1: ModuleNotFoundError"));
  CHECK(text.find("last log lines of container main before its restart:\n    Traceback") !=
        std::string::npos);
}

TEST_CASE("explain pod: without a log, the text ends with the termination message") {
  const std::string text = kube::to_text(explained("log-of-removed-container", "team/trainer"), 0);
  CHECK(
      text.ends_with("  termination message of container main:\n"
                     "    load_model: loading /models/short.gguf\n"
                     "    main: error: unable to load model /models/short.gguf\n"));
  CHECK(!text.contains("unable to retrieve"));
}

TEST_CASE("explain pod: a name that does not exist is answered with the nearest") {
  kube::PodView view = view_of("gpus-in-use");
  view.targets.clear();
  view.ns.clear();
  const auto message = [&](const char* name) {
    const auto result = kube::explain(view, *kube::parse_pod_name(name));
    REQUIRE(!result.has_value());
    CHECK(result.error().fault == base::Fault::usage);
    return result.error().what + " / " + result.error().hint;
  };
  CHECK(message("team/trainr") ==
        "no pod, notebook, training job or controller has the name trainr in namespace team / did you mean "
        "team/trainer?");
  CHECK(message("tema/trainer") == "the namespace tema does not exist / did you mean team/trainer?");
  CHECK(message("ana") ==
        "no pod, notebook, training job or controller has the name ana / did you mean notebooks/anna?");
}

TEST_CASE("explain pod: a name in several namespaces is not guessed") {
  kube::PodView view = view_of("running");
  view.ns.clear();
  view.targets = {{"pod", "Pod", "a", "x"}, {"pod", "Pod", "b", "x"}};
  const auto result = kube::explain(view, {"", "x"});
  REQUIRE(!result.has_value());
  CHECK(result.error().hint == "specify one of a/x, b/x");
}

TEST_CASE("explain pod: names are validated before they are sent") {
  for (const char* name : {"", "/", "a/", "/b", "A", "a b", "a;b", "a/b/c", "-a", "../x", "a_b", "$(id)"}) {
    CAPTURE(name);
    CHECK(!kube::parse_pod_name(name));
  }
  CHECK(kube::parse_pod_name("team/trainer-0")->ns == "team");
  CHECK(kube::parse_pod_name("trainer.x")->ns.empty());
}

TEST_CASE("explain pod: an Xid of the hardware while the container ran replaces a CUDA error") {
  facts::Facts host;
  host.kernel.uptime = 10000;
  host.clock.probe_begin = 1795705200;  // 15:00:00 UTC; the container ended at 14:55
  host.nvidia.driver = facts::Driver{"580.95.05", true, "13.0", {}};
  host.nvidia.xids = {{9700, "0000:2a:00.0", 79, "GPU has fallen off the bus."}};
  const auto plain = explained("gpu-out-of-memory", "team/trainer");
  CHECK(kube::node_to_inspect(plain) == "gpu1");
  const auto with = explained("gpu-out-of-memory", "team/trainer", {{"gpu1", &host}});
  REQUIRE(with.first());
  CHECK(with.first()->reason == "xid");
  CHECK(
      with.first()->what ==
      "GPU 0000:2a:00.0 of node gpu1 reported Xid 79 while container main ran: GPU has fallen off the bus.");
  host.nvidia.xids = {{100, "0000:2a:00.0", 79, "GPU has fallen off the bus."}};  // hours before
  CHECK(explained("gpu-out-of-memory", "team/trainer", {{"gpu1", &host}}).first()->reason ==
        "gpu-out-of-memory");
  host.nvidia.xids = {{9700, "0000:2a:00.0", 31, "MMU fault"}};  // the program's own
  const auto own = explained("gpu-out-of-memory", "team/trainer", {{"gpu1", &host}});
  CHECK(own.first()->reason == "gpu-out-of-memory");
  CHECK(own.first()->seen.back().starts_with("Xid 31 on GPU 0000:2a:00.0 at 14:5"));
}

TEST_CASE("explain pod: any truncation of the output is an error or an explanation, and never a crash") {
  const std::string text = completed(case_text(fs::path(pod_cases) / "gpus-in-use" / "input"),
                                     fs::path(pod_cases) / "gpus-in-use");
  for (std::size_t size = 0; size < text.size(); size += 97) {
    const auto view = kube::parse_pod_view(text.substr(0, size) + "\n=== end\n");
    if (view) (void)kube::explain(*view, {"team", "trainer"});
  }
}

TEST_CASE("quantities and times in the notation of Kubernetes") {
  CHECK(*kube::parse_quantity("500m") == doctest::Approx(0.5));
  CHECK(*kube::parse_quantity("2Gi") == 2147483648.0);
  CHECK(*kube::parse_quantity("1k") == 1000);
  CHECK(!kube::parse_quantity(""));
  CHECK(!kube::parse_quantity("many"));
  CHECK(!kube::parse_quantity("-1"));
}
