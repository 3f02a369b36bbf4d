#include "gpuadm/base/toml.hpp"

#include <doctest/doctest.h>

using namespace base;

TEST_CASE("toml: an assignment keeps comments, order and foreign keys") {
  const std::string text =
      "# mine\nversion = 2\nroot = \"/data\" # disk\n\n[plugins.\"io.containerd.grpc.v1.cri\"]\n"
      "  # keep\n  restrict_oom_score_adj = true\n";
  const std::vector<toml::Assignment> set = {
      {{"plugins", "io.containerd.grpc.v1.cri", "sandbox_image"}, "k8s.gcr.io/pause:3.2"},
      {{"plugins", "io.containerd.grpc.v1.cri", "containerd", "runtimes", "runc", "options", "SystemdCgroup"},
       true},
      {{"root"}, "/disk"},
      {{"disabled_plugins"}, Tree::list()}};
  const auto result = toml::set(text, set, "config.toml");
  REQUIRE(result);
  CHECK(*result ==
        "disabled_plugins = []\n# mine\nversion = 2\nroot = \"/disk\" # "
        "disk\n\n[plugins.\"io.containerd.grpc.v1.cri\"]\n"
        "  sandbox_image = \"k8s.gcr.io/pause:3.2\"\n"
        "  # keep\n  restrict_oom_score_adj = true\n\n"
        "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\n  SystemdCgroup = true\n");
  CHECK(*toml::set(*result, set, "config.toml") == *result);
}

TEST_CASE("toml: inline tables, dotted keys and multi-line arrays are edited or rewritten, never broken") {
  for (const std::string text : {"a = { b = 1 }\n", "a.b = 1\n", "[a]\nb = [\n  1,\n  2,\n]\nc = 3\n",
                                 "[[a.list]]\nx = 1\n", "", "a = {}\n", "[a.deep]\nx=1"}) {
    CAPTURE(text);
    const std::vector<toml::Assignment> set = {{{"a", "b"}, "new"}, {{"a", "n", "m"}, 5}};
    const auto result = toml::set(text, set, "t");
    REQUIRE(result);
    const auto tree = toml::read(*result, "t");
    REQUIRE(tree);
    CHECK(*tree->at({"a", "b"}) == Tree("new"));
    CHECK(*tree->at({"a", "n", "m"}) == Tree(5));
  }
}

TEST_CASE("toml: an inline table that is added to is written again, and nothing else") {
  const std::vector<toml::Assignment> set = {{{"a", "b", "c"}, 5}, {{"a", "d"}, true}};
  CHECK(*toml::set("# mine\na = { x = 1 } # theirs\n[z]\n  y = 2 # too\n", set, "t") ==
        "# mine\na = { x = 1, b = { c = 5 }, d = true } # theirs\n[z]\n  y = 2 # too\n");
}

TEST_CASE("toml: what cannot be read is refused with its place") {
  const auto result = toml::read("a = 1\na = 2\n", "config.toml");
  REQUIRE(!result);
  CHECK(result.error().what.starts_with("config.toml:2:"));
}

TEST_CASE("toml: what nests too deep is refused, however it is written") {
  const auto refused = [](const std::string& text) {
    const auto tree = base::toml::read(text, "x");
    return !tree && tree.error().what == "x: nested deeper than 256 levels";
  };
  std::string key = "a";
  for (int i = 1; i < 13'100; ++i) key += ".a";
  CHECK(refused(key + " = 1\n"));
  CHECK(refused("[" + key + "]\n"));
  CHECK(refused("[[" + key + "]]\n"));
  CHECK(refused("x = { " + key + " = 1 }\n"));
  CHECK(refused("x = [ { y = 1 }, { " + key + " = 1 } ]\n"));
  CHECK(refused("x = " + std::string(100'000, '[') + "\n"));
  const std::string part = key.substr(0, 199);  // 100 keys
  CHECK(refused("[" + part + "]\n" + part + " = { " + part + " = 1 }\n"));
  CHECK(base::toml::read("[" + part + "]\n" + part + " = 1\n", "x"));
}

TEST_CASE("toml: dots and brackets in strings, comments and numbers do not nest") {
  const std::string dots(2'000, '.'), brackets(2'000, '[');
  const std::string quotes = "\"\"\"", ticks(3, '\'');
  CHECK(base::toml::read("a = \"" + dots + brackets + "\" # " + dots + "\nb = '" + dots + "'\n", "x"));
  CHECK(base::toml::read("a = " + quotes + "\n" + dots + "\n\"" + brackets + "\\\"" + quotes + "\n", "x"));
  CHECK(base::toml::read("a = " + ticks + "\n" + dots + brackets + "\n" + ticks + "\n", "x"));
  CHECK(base::toml::read("\"" + dots + "\".b = [1.5, 2.5, 3.5]\n", "x"));
  std::string many;
  for (int i = 0; i < 2'000; ++i) many += "a" + std::to_string(i) + ".b = [[1.5], {c.d = 2}]\n";
  CHECK(base::toml::read(many, "x"));
}
