#include "gpuadm/base/json.hpp"
#include "gpuadm/base/yaml.hpp"

#include <doctest/doctest.h>

using namespace base;

TEST_CASE("yaml: plain scalars are typed, quoted ones are text, and 1.30 stays 1.30") {
  const auto tree = yaml::read("a: 1.30\nb: \"1.30\"\nc: true\nd: 7\ne:\nf: 1.20.2\n", "x");
  REQUIRE(tree);
  CHECK(tree->at({"a"})->is_real());
  CHECK(tree->at({"a"})->text() == "1.30");
  CHECK(tree->at({"b"})->is_string());
  CHECK(tree->at({"c"})->as_bool() == true);
  CHECK(tree->at({"d"})->as_int() == 7);
  CHECK(tree->at({"e"})->is_null());
  CHECK(tree->at({"f"})->is_string());
  CHECK(tree->at({"d"})->mark.line == 4);
}

TEST_CASE("yaml: duplicate keys and broken syntax are named with their place") {
  CHECK(yaml::read("a: 1\nb: 2\na: 3\n", "f.yaml").error().what == "f.yaml:3:1: duplicate key 'a'");
  CHECK(yaml::read("a: {b: 1, b: {c: 2}}\na: [3]\n", "f.yaml").error().what ==
        "f.yaml:1:11: duplicate key 'b'\nf.yaml:2:1: duplicate key 'a'");
  CHECK(yaml::read("a: [1\n", "f.yaml").error().what.starts_with("f.yaml:1:4: this ["));
}

TEST_CASE("yaml: a text that is short but would be endless or huge is refused") {
  CHECK(yaml::read(",\x13pi", "f").error().fault == Fault::spec);
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'i'; ++c)
    bomb += fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n", c,
                        static_cast<char>(c - 1));
  CHECK(yaml::read(bomb, "f").error().what.find("more than 1000000 values") != std::string::npos);
  CHECK(yaml::read("a: &a [*a]\n", "f").error().what == "f:1:8: an alias inside its own anchor");
  CHECK(yaml::read(std::string(1000, '['), "f").error().fault == Fault::spec);
  CHECK(yaml::read("a: b\nc: \x96\n", "f").error().what == "f:2:4: a byte that is not allowed in YAML");
  CHECK_FALSE(yaml::read(std::string("a: b\0c\n", 7), "f"));
}

TEST_CASE("yaml: aliases stand for what was anchored, also as keys") {
  const auto tree = yaml::read("a: &x 1.30\nb: *x\nc: {*x : 2}\nd: &l [1]\ne: *l\n", "f");
  REQUIRE(tree);
  CHECK(tree->at({"b"})->text() == "1.30");
  CHECK(tree->at({"c", "1.30"})->as_int() == 2);
  CHECK(tree->at({"e"})->items().size() == 1);
}

TEST_CASE("yaml: what is written reads back the same") {
  Tree tree = Tree::map_of({{"text", "true"},
                            {"number", 3},
                            {"empty", ""},
                            {"lines", "a\nb\n"},
                            {"version", "1.20"},
                            {"on", "on"},
                            {"list", Tree::list_of({"a", "2"})},
                            {"none", Tree::map()},
                            {"nothing", Tree()}});
  const auto back = yaml::read(yaml::write(tree), "x");
  REQUIRE(back);
  CHECK(*back == tree);
}

TEST_CASE("yaml: every string reads back as it was, as a value, a key and an item") {
  std::vector<std::string> strings = {"",
                                      " ",
                                      "a",
                                      "a b",
                                      "a: b",
                                      "a:b",
                                      "a #b",
                                      "#b",
                                      "- a",
                                      "-",
                                      "?",
                                      "1",
                                      "1.30",
                                      "0x1f",
                                      "1e3",
                                      "1:20",
                                      "0o17",
                                      ".inf",
                                      "~",
                                      "null",
                                      "Yes",
                                      "off",
                                      "<<",
                                      "=",
                                      "*a",
                                      "&a",
                                      "!a",
                                      "%a",
                                      "@a",
                                      "`a",
                                      "{",
                                      "[a]",
                                      "'a'",
                                      "\"a\"",
                                      "a,b",
                                      "...",
                                      "---",
                                      "2001-01-01",
                                      "\xc3\xbc",
                                      "\xe2\x80\xa8",
                                      "\xef\xbb\xbf",
                                      "\xc2\x85",
                                      "\x01",
                                      "\x7f",
                                      "\t",
                                      "a\tb",
                                      "\\",
                                      "a\nb",
                                      "a\nb\n",
                                      "a\n\n\n",
                                      "\n",
                                      "\na",
                                      " a\nb\n",
                                      "a\n  b\n\n c\n",
                                      "a \nb ",
                                      "a\r\nb\n",
                                      "#!/bin/sh\nx\n"};
  std::uint32_t state = 1;
  const std::string alphabet = "aZ0 .-:#\n\t'\"\\{}[]&*!|>%@`,?_/=~";
  for (int i = 0; i < 2000; ++i) {
    std::string& text = strings.emplace_back();
    for (state = state * 1664525 + 1013904223; state >> 28; state = state * 1664525 + 1013904223)
      text += alphabet[(state >> 16) % alphabet.size()];
  }
  for (const std::string& text : strings) {
    CAPTURE(text);
    const Tree tree =
        Tree::map_of({{"value", text},
                      {"list", Tree::List{text, Tree::List{text, 1}, Tree::map_of({{"b", text}})}},
                      {"k" + text, 1}});
    const auto again = yaml::read(yaml::write(tree), "again");
    REQUIRE_MESSAGE(again, again.error().what);
    CHECK(*again == tree);
    const auto alone = yaml::read(yaml::write(Tree(text)), "alone");
    REQUIRE_MESSAGE(alone, alone.error().what);
    CHECK(*alone == Tree(text));
  }
}

TEST_CASE("yaml: escapes of single characters are those that YAML names, in UTF-8") {
  const auto tree = yaml::read("a: \"x\\N\\_\\L\\P\\x85\\u00e9\\N\"\n\"k\\_\": 1\n", "x");
  REQUIRE(tree);
  CHECK(*tree->find("a")->as_string() == "x\xC2\x85\xC2\xA0\xE2\x80\xA8\xE2\x80\xA9\xC2\x85\xC3\xA9\xC2\x85");
  CHECK(tree->find("k\xC2\xA0"));
  const auto again = yaml::read(yaml::write(*tree), "again");
  REQUIRE_MESSAGE(again, again.error().what);
  CHECK(*again == *tree);
}

TEST_CASE("yaml: keys of any length are read again") {
  for (const std::size_t length : {999U, 1000U, 1001U, 1024U, 5000U}) {
    CAPTURE(length);
    const std::string word(length, 'k');
    const Tree inner = Tree::map_of({{word, 1}, {word + " ", Tree::List{"a", Tree::map_of({{word, 2}})}}});
    const Tree tree = Tree::map_of({{word, inner}, {"b" + word, Tree::list()}, {"c", Tree::List{inner, 3}}});
    const auto again = yaml::read(yaml::write(tree), "again");
    REQUIRE_MESSAGE(again, again.error().what);
    CHECK(*again == tree);
  }
}

TEST_CASE("yaml: written in blocks, bare where every reader takes it for a word") {
  const Tree tree = Tree::map_of(
      {{"list", Tree::List{"a", Tree::map_of({{"b", 1}, {"c", Tree::List{2.0}}}), Tree::List{true, Tree()}}},
       {"empty", Tree::List{Tree::map(), Tree::list()}},
       {"words", Tree::List{"yes", "10.0.0.1", "10.0.0.0/8", "100Mi", "registry.k8s.io/pause:3.9", "--v=2"}},
       {"script", "echo a\necho b\n"}});
  CHECK(yaml::write(tree) == R"(list:
  - a
  - b: 1
    c:
      - 2.0
  - - true
    - null
empty:
  - {}
  - []
words:
  - "yes"
  - "10.0.0.1"
  - 10.0.0.0/8
  - 100Mi
  - registry.k8s.io/pause:3.9
  - "--v=2"
script: |
  echo a
  echo b
)");
}

TEST_CASE("json: what is written reads back the same, and is as JSON has it") {
  const Tree tree = Tree::map_of({{"text", "a\"b\\c\n\t\r\x01\x7f ü"},
                                  {"numbers", Tree::List{-1, 0, 1.0, 0.1, 1e300, -2.5}},
                                  {"truth", Tree::List{true, false, Tree()}},
                                  {"empty", Tree::List{Tree::map(), Tree::list(), ""}}});
  for (const int indent : {0, 2}) {
    const auto again = json::read(json::write(tree, indent), "again");
    REQUIRE(again);
    CHECK(*again == tree);
  }
  CHECK(
      json::write(tree, 0) ==
      R"({"text":"a\"b\\c\n\t\r\u0001\u007f ü","numbers":[-1,0,1.0,0.1,1e+300,-2.5],"truth":[true,false,null],"empty":[{},[],""]})");
  CHECK(json::write(Tree::map_of({{"a", Tree::List{1, Tree::map()}}})) ==
        "{\n  \"a\": [\n    1,\n    {}\n  ]\n}");
  std::string text;
  const auto write = [&text](std::string_view piece) { text += piece; };
  json::Members members(write);
  for (const auto& [key, value] : tree.entries()) members.add(key, value);
  members.end();
  CHECK(text == json::write(tree));
  text.clear();
  json::Members(write).end();
  CHECK(text == "{}");
  CHECK(json::write(Tree("\xff\xed\xa0\x80")) == "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST_CASE("json: errors name line and column; output is one tree") {
  CHECK(json::read("{\n \"a\": }", "d.json").error().what == "d.json:2:7: invalid JSON");
  CHECK(json::write(Tree::map_of({{"b", 1}, {"a", Tree::list_of({"x"})}}), 0) == "{\"b\":1,\"a\":[\"x\"]}");
  CHECK(!json::read(std::string(10000, '['), "x"));
}

TEST_CASE("yaml: a bracket that is not closed is named with its own place") {
  const auto place = [](std::string_view text) {
    const auto tree = base::yaml::read(text, "a.yaml");
    return tree ? std::string() : tree.error().what;
  };
  CHECK(place("name: x\nhosts: [{ name: cp1 }\nswap: off\n") == "a.yaml:2:8: this [ is not closed");
  CHECK(place("hosts: [{ name: cp1 }]\n").empty());
}
