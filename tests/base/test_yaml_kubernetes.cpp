#include "gpuadm/base/json.hpp"
#include "gpuadm/base/yaml.hpp"

#include <doctest/doctest.h>

using namespace base;

namespace {

/// How Kubernetes reads a plain scalar, as JSON; "refused": it does not.
std::string read_as(const std::string& plain) {
  const auto tree = yaml::read("a: " + plain + "\n", "m.yaml", yaml::Dialect::kubernetes);
  return tree ? json::write(*tree->find("a"), 0) : "refused";
}

}  // namespace

TEST_CASE("plain scalars of a manifest are typed as sigs.k8s.io/yaml types them") {
  // Each from goyaml.v2/resolve.go and encoding/json.
  const std::pair<const char*, const char*> cases[] = {{"0400", "256"},
                                                       {"0755", "493"},
                                                       {"0o400", "256"},
                                                       {"0O17", "15"},
                                                       {"-0400", "-256"},
                                                       {"+0400", "256"},
                                                       {"00", "0"},
                                                       {"0", "0"},
                                                       {"-0", "0"},
                                                       {"0x1F", "31"},
                                                       {"0Xff", "255"},
                                                       {"-0x10", "-16"},
                                                       {"0b101", "5"},
                                                       {"-0b11", "-3"},
                                                       {"1_000", "1000"},
                                                       {"0_400", "256"},
                                                       {"0x_f", "15"},
                                                       {"_1", "\"_1\""},
                                                       {"08", "8"},
                                                       {"0899", "899"},
                                                       {"0o8", "\"0o8\""},
                                                       {"0b12", "\"0b12\""},
                                                       {"0x", "\"0x\""},
                                                       {"0xg", "\"0xg\""},
                                                       {"1.5", "1.5"},
                                                       {".5", "0.5"},
                                                       {"8.0", "8"},
                                                       {"1e3", "1000"},
                                                       {"1e-3", "0.001"},
                                                       {"5.", "5"},
                                                       {"1e999", "\"1e999\""},
                                                       {"1.30.2", "\"1.30.2\""},
                                                       {"1:20", "\"1:20\""},
                                                       {"190:20:30", "\"190:20:30\""},
                                                       {"2026-11-26", "\"2026-11-26\""},
                                                       {"9223372036854775807", "9223372036854775807"},
                                                       {"-9223372036854775808", "-9223372036854775808"},
                                                       {"18446744073709551615", "18446744073709551615"},
                                                       {"0xffffffffffffffff", "18446744073709551615"},
                                                       {"0x10000000000000000", "refused"},
                                                       {".inf", "refused"},
                                                       {"-.INF", "refused"},
                                                       {".nan", "refused"},
                                                       {"y", "true"},
                                                       {"Yes", "true"},
                                                       {"ON", "true"},
                                                       {"true", "true"},
                                                       {"n", "false"},
                                                       {"NO", "false"},
                                                       {"Off", "false"},
                                                       {"yEs", "\"yEs\""},
                                                       {"yes please", "\"yes please\""},
                                                       {"~", "null"},
                                                       {"Null", "null"},
                                                       {"nULL", "\"nULL\""},
                                                       {"\"0400\"", "\"0400\""},
                                                       {"'yes'", "\"yes\""},
                                                       {"!!str 0400", "\"0400\""},
                                                       {"!!int \"0400\"", "refused"},
                                                       {"10Gi", "\"10Gi\""},
                                                       {"500m", "\"500m\""},
                                                       {"+", "\"+\""},
                                                       {"-x", "\"-x\""}};
  for (const auto& [plain, json] : cases) {
    CAPTURE(plain);
    CHECK(read_as(plain) == json);
  }
}

TEST_CASE("what is printed of a manifest is what is sent, for every reader of YAML") {
  const auto tree = yaml::read("mode: 0400\nother: 0755\non_host: yes\nversion: 1.30\nport: 80\n", "m.yaml",
                               yaml::Dialect::kubernetes);
  REQUIRE(tree);
  CHECK(yaml::write(*tree) == "mode: 256\nother: 493\non_host: true\nversion: 1.30\nport: 80\n");
  CHECK(json::write(*tree, 0) == R"({"mode":256,"other":493,"on_host":true,"version":1.3,"port":80})");
  for (const auto dialect : {yaml::Dialect::core, yaml::Dialect::kubernetes})
    CHECK(*yaml::read(yaml::write(*tree), "again", dialect) == *tree);
}

TEST_CASE("keys that Kubernetes reads as other words, and tags, are refused with their place") {
  const auto refusal = [](const char* text) {
    const auto tree = yaml::read(text, "m.yaml", yaml::Dialect::kubernetes);
    return tree ? "read" : tree.error().what;
  };
  CHECK(refusal("data:\n  on: a\n") == "m.yaml:2:3: Kubernetes does not read the key on as 'on': quote it");
  CHECK(refusal("0400: a\n") == "m.yaml:1:1: Kubernetes does not read the key 0400 as '0400': quote it");
  CHECK(refusal("1.30: a\n").ends_with("quote it"));
  CHECK(refusal("null: a\n") == "m.yaml:1:1: a key must be a word");
  CHECK(refusal("\"on\": a\n80: b\ntrue: c\n") == "read");
  CHECK(refusal("a: &x { b: 1 }\nc: { b: 2, <<: *x }\n") ==
        "m.yaml:2:16: the merge key '<<' follows b, which it also has: write it first");
  CHECK(refusal("c: { <<: 1 }\n") == "m.yaml:1:10: the value of the merge key '<<' is not a map");
  CHECK(refusal("a: !!float 1\n") == "m.yaml:1:4: the tag of '1' is not supported");
}

TEST_CASE("merge keys add entries of other maps, as kubectl reads them") {
  const auto read = [](const char* text) {
    const auto tree = yaml::read(text, "m.yaml", yaml::Dialect::kubernetes);
    REQUIRE_MESSAGE(tree, tree.error().what);
    return json::write(*tree, 0);
  };
  CHECK(read("a: &x { b: 1, c: 2 }\nd: { <<: *x, c: 3 }\n") == R"({"a":{"b":1,"c":2},"d":{"c":3,"b":1}})");
  CHECK(read("a: &x { b: 1 }\nc: &y { b: 2, d: 3 }\ne:\n  <<: [*x, *y]\n  f: 4\n") ==
        R"({"a":{"b":1},"c":{"b":2,"d":3},"e":{"f":4,"b":1,"d":3}})");
  // A quoted one is a word.
  CHECK(read("a: { \"<<\": 1 }\n") == R"({"a":{"<<":1}})");
}

TEST_CASE("gpuadm's own files are read by YAML 1.2") {
  const auto tree = yaml::read("a: 0400\nb: yes\nc: 0x10\non: 1\n", "f.yaml");
  REQUIRE(tree);
  CHECK(tree->at({"a"})->as_int() == 400);
  CHECK(tree->at({"b"})->is_string());
  CHECK(tree->at({"c"})->is_string());
  CHECK(tree->at({"on"})->as_int() == 1);
}
