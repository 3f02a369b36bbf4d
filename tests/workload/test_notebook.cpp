#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/random.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/notebook.hpp"
#include "gpuadm/workload/objects.hpp"

#include "service_case.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

using base::Tree;
using service_case::catalog;
namespace fs = std::filesystem;

/// The objects as YAML, or the error.
workload::Result<std::string> made_from(const Tree& given) {
  workload::Notebook notebook =
      TRY(workload::make_notebook(service_case::request_of(*given.find("request"))));
  std::optional<facts::ClusterFacts> facts;
  workload::GpuSupply supply;
  if (const Tree* cluster = given.find("cluster")) {
    facts = service_case::cluster_of(*cluster);
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
  REQUIRE(service_case::cases("notebook").size() > 15);
  const bool rewrite = std::getenv("GPUADM_REWRITE_CASES") != nullptr;
  for (const fs::path& folder : service_case::cases("notebook")) {
    CAPTURE(folder.filename().string());
    const auto given = base::yaml::read(service_case::text_of(folder / "options.yaml"), "options.yaml");
    REQUIRE(given);
    const auto made = made_from(*given);
    const bool refused = folder.filename().string().starts_with("refused-");
    CHECK(made.has_value() == !refused);
    const std::string seen = made ? *made : made.error().what + "\n" + made.error().hint + "\n";
    const fs::path file = folder / (refused ? "error.txt" : "expected.yaml");
    if (rewrite) REQUIRE(base::write_file(file, seen, 0644));
    CHECK(seen == service_case::text_of(file));
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
