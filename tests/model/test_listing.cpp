#include "model/files.hpp"

#include <doctest/doctest.h>

TEST_CASE("model: what a host prints of a model's files is read, and anything else is refused") {
  const auto files = model::parse_listing("file 9 3 config.json\nabcfile 5 0 a b.gguf\nend\n", "models:/x");
  REQUIRE(files);
  REQUIRE(files->files.size() == 2);
  CHECK(files->files[0].head == "abc");
  CHECK(files->files[0].size == 9);
  CHECK(files->files[1].name == "a b.gguf");
  for (const char* text :
       {"", "end", "file 3 3 a\nabc", "file 3 9 a\nabcend\n", "file 2 3 a\nabcend\n",
        "file 3 3 ../a\nabcend\n", "file 3 3 a/b\nabcend\n", "file x 3 a\nabcend\n", "file 3 3\nabcend\n",
        "file 3 2 a\nabcend\n", "file -3 -3 a\nend\n", "file 99999999999999999999 3 a\nabcend\n"}) {
    CAPTURE(text);
    const auto damaged = model::parse_listing(text, "models:/x");
    REQUIRE_FALSE(damaged);
    CHECK(damaged.error().what ==
          "models:/x: the host's answer is damaged: a file may have changed while it was read");
  }
}

TEST_CASE("model: the parts of a GGUF file are named by its first one") {
  CHECK(model::parts_of("x.gguf") == std::vector<std::string>{"x.gguf"});
  CHECK(model::parts_of("x-00001-of-00002.gguf") ==
        std::vector<std::string>{"x-00001-of-00002.gguf", "x-00002-of-00002.gguf"});
  CHECK(model::parts_of("x-00001-of-99999.gguf").size() == 1);
  CHECK(model::parts_of("-of-.gguf").size() == 1);
}
