#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/spec/migrate.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

const std::string head = "apiVersion: gpuadm/v1alpha1\nkind: GpuCluster  # ours\n";
const std::string tail = "# the machines\nhosts: [{ name: a, address: 192.0.2.1 }]\n";

std::string migrated(const std::string& text) {
  const auto result = spec::migrate(text, "c.yaml");
  REQUIRE_MESSAGE(result, (result ? "" : result.error().what));
  CHECK(spec::parse(result->text, "c.yaml"));
  const auto again = spec::migrate(result->text, "c.yaml");
  REQUIRE(again);
  CHECK(again->changes.empty());
  CHECK(again->text == result->text);
  CHECK(result->changes.empty() == (result->text == text));
  return result->text;
}

std::string refusal(const std::string& text) {
  const auto result = spec::migrate(text, "c.yaml");
  REQUIRE(!result);
  return result.error().what;
}

}  // namespace

TEST_CASE("a file in the current format stays as it is") {
  for (const std::string section :
       {"", "mirrors:\n", "mirrors: {}\n", "mirrors: { registries: { docker.io: 'https://m' } }\n",
        "mirrors:\n  packages: { kubernetes: https://m }\n"})
    CHECK(migrated(head + section + tail) == head + section + tail);
}

TEST_CASE("registries under mirrors are moved to mirrors.registries, with comments") {
  CHECK(migrated(head +
                 "mirrors:  # near\n  # first\n  docker.io: https://m/d  # d\n\n  # then\n"
                 "  registry.k8s.io: 'https://m/k'\n\n" +
                 tail) ==
        head +
            "mirrors:  # near\n  # first\n  registries:\n    docker.io: https://m/d  # d\n\n    # then\n"
            "    registry.k8s.io: 'https://m/k'\n\n" +
            tail);
}

TEST_CASE("so do those in flow style, with other line ends, and at the file's end without one") {
  CHECK(migrated(head + "mirrors: { docker.io: https://m }  # near\n" + tail) ==
        head + "mirrors: { registries: { docker.io: https://m } }  # near\n" + tail);
  CHECK(migrated(head + "mirrors: {docker.io: https://m,\n  quay.io: \"https://q\"}\n" + tail)
            .find("registries: {docker.io") != std::string::npos);
  CHECK(migrated(base::replace_all(head + "mirrors:\n    docker.io: https://m\n" + tail, "\n", "\r\n")) ==
        base::replace_all(head + "mirrors:\n    registries:\n      docker.io: https://m\n" + tail, "\n",
                          "\r\n"));
  CHECK(migrated(head + tail + "mirrors:\n  docker.io: https://m") ==
        head + tail + "mirrors:\n  registries:\n    docker.io: https://m");
}

TEST_CASE("what cannot be moved alone is refused with its place") {
  // The values of an alias stand elsewhere.
  CHECK(refusal(head + "patches: { kubelet: &m { docker.io: https://m } }\nmirrors: *m\n" + tail)
            .find("gpuadm cannot move") != std::string::npos);
}

TEST_CASE("an unknown version is refused with those that are known, and the nearest") {
  CHECK(refusal("apiVersion: gpuadm/v1alpha2\n") ==
        "c.yaml:1:13: apiVersion: expected gpuadm/v1alpha1, got 'gpuadm/v1alpha2' (did you mean "
        "gpuadm/v1alpha1?)");
  CHECK(refusal("apiVersion: v1\n") == "c.yaml:1:13: apiVersion: expected gpuadm/v1alpha1, got 'v1'");
  CHECK(refusal("kind: GpuCluster\n") == "c.yaml:1:1: apiVersion: missing; known: gpuadm/v1alpha1");
  CHECK(refusal("") != "");
  CHECK(refusal("a: [\n").starts_with("c.yaml:"));
}

TEST_CASE("a file of an older format is refused with the verb that rewrites it") {
  const auto cluster = spec::parse(head + "mirrors: { docker.io: https://m }\n" + tail, "c.yaml");
  REQUIRE(!cluster);
  CHECK(cluster.error().hint ==
        "mirrors moved to mirrors.registries; gpuadm config migrate rewrites the file");
}
