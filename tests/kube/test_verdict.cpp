#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/kube/verdict.hpp"

#include "case_text.hpp"
#include "kube/explain_case.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

// tests/cases/pod-verdict/table.tsv: a pod and what is known of it, and the verdict. "pod": the pod alone, as
// a notebook, a rank and a wait judge it; "everything": as `gpuadm explain pod` does, with nodes, events and
// logs.

namespace {

namespace fs = std::filesystem;
using base::Tree;
using kube::Outlook;
using kube::PodVerdict;

constexpr const char* all_cases = GPUADM_TESTS_DIR "/cases";

struct Row {
  std::string name, known;
  PodVerdict verdict;
};

std::string text_of(const Row& row) {
  const PodVerdict& verdict = row.verdict;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", row.name, row.known, kube::name_of(verdict.stage),
                     kube::name_of(verdict.outlook), verdict.reason, verdict.text, verdict.fix);
}

std::vector<fs::path> folders_of(const char* name) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(fs::path(all_cases) / name))
    if (entry.is_directory()) folders.push_back(entry.path());
  std::ranges::sort(folders);
  return folders;
}

Tree pods_of_table() {
  const auto pods = base::yaml::read(case_text(fs::path(all_cases) / "pod-verdict/pods.yaml"), "pods.yaml");
  REQUIRE(pods);
  return *pods;
}

std::vector<Row> rows_of_the_table() {
  std::vector<Row> rows;
  const Tree pods = pods_of_table();
  for (const auto& [name, pod] : pods.entries())
    rows.push_back({name, "pod", kube::judge(kube::read_pod(pod))});
  for (const fs::path& folder : folders_of("pod-start")) {
    const auto objects = base::yaml::read(case_text(folder / "objects.yaml"), "objects.yaml");
    REQUIRE(objects);
    rows.push_back({"pod-start/" + folder.filename().string(), "pod", kube::judge(objects->items())});
  }
  for (const fs::path& folder : folders_of("explain-pod")) {
    const auto expected = base::yaml::read(case_text(folder / "expected.yaml"), "expected.yaml");
    REQUIRE(expected);
    const std::string name = "explain-pod/" + folder.filename().string();
    const kube::PodView view = explain_case(folder);
    const auto explanation = kube::explain(view, *kube::parse_pod_name(expected->find("asked")->text()));
    REQUIRE(explanation);
    rows.push_back({name, "everything", explanation->verdict});
    for (const kube::Pod& pod : *view.pods)
      if (pod.name == explanation->pod) rows.push_back({name, "pod", kube::judge(pod)});
  }
  return rows;
}

}  // namespace

TEST_CASE("the verdict on a pod is the one of the table") {
  const std::vector<Row> rows = rows_of_the_table();
  CHECK(rows.size() >= 200);
  std::string table = "pod\tknown\tstage\toutlook\treason\ttext\tfix\n";
  for (const Row& row : rows) table += text_of(row);
  const fs::path path = fs::path(all_cases) / "pod-verdict/table.tsv";
  if (std::getenv("GPUADM_REWRITE_CASES")) REQUIRE(base::write_file(path, table, 0644));
  const std::string expected_table = case_text(path);
  const auto expected = base::lines(expected_table), got = base::lines(table);
  CHECK(expected.size() == got.size());
  for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i) CHECK(got[i] == expected[i]);
}

TEST_CASE("what is not known of a pod makes its outlook no worse and no better") {
  std::map<std::string, Outlook> everything;
  for (const Row& row : rows_of_the_table()) {
    if (row.known == "everything") everything[row.name] = row.verdict.outlook;
    const auto place = everything.find(row.name);
    if (row.known != "pod" || place == everything.end() || place->second == Outlook::waiting) continue;
    CAPTURE(row.name);
    // Events and nodes show problems that the pod itself does not name; the pod never contradicts them.
    CHECK((row.verdict.outlook == place->second || row.verdict.outlook == Outlook::waiting ||
           (row.verdict.outlook == Outlook::doubtful && place->second == Outlook::hopeless)));
  }
}

TEST_CASE("a reason that is in no table is shown in the pod's own words, and is waited for") {
  const Tree pods = pods_of_table();
  const auto verdict = [&](const char* name) { return kube::judge(kube::read_pod(*pods.find(name))); };
  const PodVerdict waits = verdict("reason-in-no-table");
  CHECK(waits.outlook == Outlook::waiting);
  CHECK(waits.text ==
        "container main waits: SignatureValidationPending: the policy controller checks the signature");
  CHECK(verdict("reason-in-no-table-of-an-ended-container").text.find("SandboxMelted: it melted") !=
        std::string::npos);
  CHECK(verdict("reason-in-no-table-of-the-pod").text ==
        "the pod failed: RackOnFire: the rack of gpu1 burns");
  CHECK(verdict("image-pull-fails-with-other-words").text.find("the blob is made of cheese") !=
        std::string::npos);
}

TEST_CASE("waiting rules are parameters: a notebook ends earlier than a pod of the cluster") {
  using std::chrono::seconds;
  const Tree pods = pods_of_table();
  const auto ends = [&](const char* name, const kube::WaitRules& rules, seconds lasted) {
    return kube::ends_wait(rules, kube::judge(kube::read_pod(*pods.find(name)), rules).outlook, lasted);
  };
  CHECK(ends("image-not-found", kube::notebook_wait, seconds(0)));
  CHECK(ends("image-not-found", kube::rank_wait, seconds(0)));
  CHECK_FALSE(ends("image-not-found", kube::cluster_wait, seconds(29)));
  CHECK(ends("image-not-found", kube::cluster_wait, seconds(30)));
  CHECK(ends("crash-loop-after-its-first-exits", kube::notebook_wait, seconds(0)));
  CHECK_FALSE(ends("crash-loop-after-its-first-exits", kube::cluster_wait, seconds(300)));
  CHECK(ends("crash-loop-after-five-exits", kube::cluster_wait, seconds(30)));
  CHECK_FALSE(ends("image-registry-times-out", kube::notebook_wait, seconds(44)));
  CHECK(ends("image-registry-times-out", kube::notebook_wait, seconds(45)));
  CHECK_FALSE(ends("image-registry-times-out", kube::rank_wait, seconds(3600)));
  CHECK_FALSE(ends("reason-in-no-table", kube::notebook_wait, seconds(3600)));
}

TEST_CASE("the newest pod that has not ended is judged, whatever the order and the second of refused ones") {
  const auto pod = [](const char* name, const char* made, const char* phase) {
    return Tree::map_of({{"kind", "Pod"},
                         {"metadata", Tree::map_of({{"name", name}, {"creationTimestamp", made}})},
                         {"spec", Tree::map_of({{"nodeName", "gpu1"}})},
                         {"status", Tree::map_of({{"phase", phase}})}});
  };
  const Tree refused = pod("refused", "2026-11-28T10:00:05Z", "Failed");
  const Tree old = pod("old", "2026-11-28T09:00:00Z", "Failed");
  const Tree lives = pod("lives", "2026-11-28T10:00:05Z", "Running");
  const Tree later = pod("later", "2026-11-28T10:00:06Z", "Failed");
  CHECK(kube::judge(std::vector<Tree>{old, refused, lives}).pod == "lives");
  CHECK(kube::judge(std::vector<Tree>{lives, refused, old}).pod == "lives");
  CHECK(kube::judge(std::vector<Tree>{later, lives, refused}).pod == "lives");
  const kube::PodVerdict ended = kube::judge(std::vector<Tree>{old, refused});
  CHECK(ended.pod == "refused");
  CHECK(ended.stage == kube::Stage::failed);
}
