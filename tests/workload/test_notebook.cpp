#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/random.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/notebook.hpp"
#include "gpuadm/workload/objects.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

using base::Tree;
namespace fs = std::filesystem;

std::vector<fs::path> cases() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(GPUADM_TESTS_DIR "/cases/notebook"))
    found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::string text_of(const fs::path& path) {
  return base::read_file(path).value_or("cannot read " + path.string());
}

Tree catalog() {
  return *base::yaml::read(text_of(GPUADM_TESTS_DIR "/../playbooks/catalog.yaml"), "catalog.yaml");
}

workload::NotebookRequest request_of(const Tree& tree) {
  workload::NotebookRequest request;
  const auto set = [&](const char* name, std::string& value) {
    if (const Tree* found = tree.find(name)) value = found->text();
  };
  set("name", request.name);
  set("namespace", request.ns);
  set("gpus", request.gpus);
  set("image", request.image);
  set("storage", request.storage);
  set("size", request.size);
  set("mount", request.mount);
  set("cpus", request.cpus);
  set("memory", request.memory);
  set("shm", request.shm);
  if (tree.find("nodePort")) request.reach = workload::Reach::node_port;
  if (const Tree* command = tree.find("command"))
    for (const Tree& word : command->items()) request.command.push_back(word.text());
  return request;
}

/// With claims, a device for each GPU instead of a resource of the node.
void add_gpus_of(const Tree& given, bool claims, facts::Node& node, facts::ClusterFacts& facts) {
  const std::string count = given.find("gpus")->text();
  if (claims) {
    facts::ResourceSlice slice{"gpu.nvidia.com", node.name, node.name, {}};
    for (long long i = 0; i < base::to_int(count).value_or(0); ++i)
      slice.devices.push_back({fmt::format("gpu-{}", i), "gpu", fmt::format("GPU-{}", i), ""});
    facts.slices->push_back(slice);
    return;
  }
  const Tree* resource = given.find("resource");
  node.capacity[resource ? resource->text() : "nvidia.com/gpu"] = count;
}

facts::ClusterFacts cluster_of(const Tree& tree) {
  facts::ClusterFacts facts;
  facts.nodes.emplace();
  facts.pods.emplace();
  facts.slices.emplace();
  const bool claims = tree.find("claims") != nullptr;
  if (claims) facts.dra_versions = {"v1"};
  if (claims) facts.resource_claims.emplace();
  if (tree.find("runtimeClass"))
    facts.runtime_classes = std::map<std::string, std::string>{{"nvidia", "nvidia"}};
  for (const Tree& given : tree.find("nodes")->items()) {
    facts::Node node;
    node.name = given.find("name")->text();
    node.conditions["Ready"] = {"True", "KubeletReady"};
    node.capacity["memory"] = given.find("memory")->text();
    add_gpus_of(given, claims, node, facts);
    node.allocatable = node.capacity;
    if (const Tree* cuda = given.find("cuda"))
      node.labels["nvidia.com/cuda.runtime-version.full"] = cuda->text();
    if (const Tree* shares = given.find("shares")) node.labels["nvidia.com/gpu.replicas"] = shares->text();
    facts.nodes->push_back(node);
  }
  return facts;
}

/// The objects as YAML, or the error.
workload::Result<std::string> made_from(const Tree& given) {
  workload::Notebook notebook = TRY(workload::make_notebook(request_of(*given.find("request"))));
  std::optional<facts::ClusterFacts> facts;
  workload::GpuSupply supply;
  if (const Tree* cluster = given.find("cluster")) {
    facts = cluster_of(*cluster);
    supply = TRY(workload::supply_of(*facts));
  }
  const auto cuda = facts ? workload::cuda_of(*facts, supply) : std::nullopt;
  notebook.image = TRY(workload::image_of(catalog(), notebook.image, notebook.gpus, cuda));
  if (notebook.shm.empty()) notebook.shm = workload::shm_of(notebook, facts ? &*facts : nullptr, supply);
  notebook.instance = "0123456789";
  const auto parts = workload::parts_of(supply, notebook.gpus, notebook.name, notebook.ns, {});
  std::string text;
  for (const Tree& object : workload::objects_of(notebook, parts, base::Secret("TOKEN")))
    text += "---\n" + base::yaml::write(object);
  return text;
}

}  // namespace

TEST_CASE("a notebook becomes these objects, or is refused with this message") {
  REQUIRE(cases().size() > 15);
  const bool rewrite = std::getenv("GPUADM_REWRITE_CASES") != nullptr;
  for (const fs::path& folder : cases()) {
    CAPTURE(folder.filename().string());
    const auto given = base::yaml::read(text_of(folder / "options.yaml"), "options.yaml");
    REQUIRE(given);
    const auto made = made_from(*given);
    const bool refused = folder.filename().string().starts_with("refused-");
    CHECK(made.has_value() == !refused);
    const std::string seen = made ? *made : made.error().what + "\n" + made.error().hint + "\n";
    const fs::path file = folder / (refused ? "error.txt" : "expected.yaml");
    if (rewrite) REQUIRE(base::write_file(file, seen, 0644));
    CHECK(seen == text_of(file));
  }
}

TEST_CASE("the token is only in the Secret") {
  const auto given = base::yaml::read("request: { name: anna }", "test");
  const std::string text = made_from(*given).value();
  const std::size_t first = text.find("TOKEN");
  CHECK(text.find("token: TOKEN") == first - 7);
  std::string rest = text.substr(first + 5);
  rest = base::replace_all(std::move(rest), "JUPYTER_TOKEN", "");
  CHECK(rest.find("TOKEN") == std::string::npos);
}

TEST_CASE("tokens are random and of the requested length") {
  const auto one = base::random_secret(24), two = base::random_secret(24);
  REQUIRE(one);
  REQUIRE(two);
  CHECK(one->reveal().size() == 48);
  CHECK(one->reveal() != two->reveal());
  CHECK(base::from_base64(base::base64(one->reveal())) == one->reveal());
  CHECK(base::from_base64(base::base64("ab")) == "ab");
  CHECK(base::from_base64("") == "");
  CHECK_FALSE(base::from_base64("a"));
  CHECK_FALSE(base::from_base64("a?b="));
}
