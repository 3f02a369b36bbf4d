#include "gpuadm/base/json.hpp"

#include <doctest/doctest.h>

using base::Tree;

TEST_CASE("json: what changes how a terminal shows the rest is escaped") {
  CHECK(base::json::write(Tree("a\x7f")) == "\"a\\u007f\"");
  CHECK(base::json::write(Tree("\xC2\x9B"
                               "31m")) == "\"\\u009b31m\"");  // C1: CSI
  CHECK(base::json::write(Tree("\xE2\x80\xAE"
                               "x\xE2\x81\xA6")) == "\"\\u202ex\\u2066\"");  // directions
  CHECK(base::json::write(Tree("\xD8\x9C\xE2\x80\x8F")) == "\"\\u061c\\u200f\"");
  CHECK(base::json::write(Tree("\xE2\x80\xA8")) == "\"\\u2028\"");
  CHECK(base::json::write(Tree("gr\xC3\xBC\xC3\x9F \xE4\xB8\xAD")) == "\"gr\xC3\xBC\xC3\x9F \xE4\xB8\xAD\"");
  CHECK(base::json::read("\"\\u202e\\u009b\"", "x")->text() == "\xE2\x80\xAE\xC2\x9B");
}

TEST_CASE("json: integers that no 64-bit number holds keep their digits") {
  for (const char* text :
       {"9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615",
        "340282366920938463463374607431768211455", "-99999999999999999999"}) {
    const auto tree = base::json::read(text, "x");
    REQUIRE(tree);
    CHECK(base::json::write(*tree) == text);
  }
  CHECK(base::json::write(*base::json::read("1.5", "x")) == "1.5");
  CHECK(base::json::read("1e3", "x")->as_real() == 1000.0);
}

TEST_CASE("json: too deep nesting and invalid JSON are rejected") {
  const std::string deep(300, '['), deeper(1'000'000, '[');
  CHECK(base::json::read(deep + std::string(300, ']'), "x").error().what ==
        "x: nested deeper than 256 levels");
  CHECK(base::json::read(deeper, "x").error().what == "x: nested deeper than 256 levels");
  CHECK(base::json::read("{\n  \"a\": }", "x").error().what == "x:2:8: invalid JSON");
  CHECK(base::json::read("{\"a\":1,\"a\":2}", "x")->find("a")->as_int() == 2);
  CHECK(!base::json::read("", "x"));
  CHECK(!base::json::read("1 2", "x"));
}

TEST_CASE("json: each scalar of a text is passed with the keys around it") {
  std::vector<std::string> seen;
  const auto take = [&](const std::vector<std::string>& keys, const base::Tree& value) {
    std::string path;
    for (const std::string& key : keys) path += "/" + key;
    seen.push_back(path + "=" + value.text());
  };
  CHECK(base::json::each_scalar(R"({"a":{"b":[1,[2],{"c":true}]},"d":"x"})", "t", take));
  CHECK(seen == std::vector<std::string>{"/a/b=1", "/a/b=2", "/a/b/c=true", "/d=x"});
  CHECK(base::json::each_scalar("7", "t", take));
  CHECK(seen.back() == "=7");
  const auto broken = base::json::each_scalar(R"({"a":})", "t", take);
  REQUIRE_FALSE(broken);
  CHECK(broken.error().what == "t:1:6: invalid JSON");
  CHECK_FALSE(base::json::each_scalar(std::string(300, '['), "t", take));
}

TEST_CASE("json: a map of many keys is read in linear time, and its last value of a key counts") {
  std::string text = "{";
  constexpr int count = 200'000;
  for (int i = 0; i < count; ++i) text += "\"k" + std::to_string(i) + "\":1,";
  text += "\"k7\":2,\"k100000\":3}";
  const auto tree = base::json::read(text, "t");
  REQUIRE(tree);
  CHECK(tree->entries().size() == count);
  CHECK(tree->entries()[7].second == base::Tree(2));
  CHECK(tree->entries()[100'000].second == base::Tree(3));
}
