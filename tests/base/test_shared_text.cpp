#include "gpuadm/base/shared_text.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using base::SharedText;

TEST_CASE("shared text: copies have the same text, and a change of one leaves the others") {
  const SharedText empty;
  CHECK(empty.empty());
  CHECK(empty.text().empty());
  CHECK(empty == "");
  SharedText text = std::string("swap is enabled");
  const SharedText copy = text;
  CHECK(copy.text().data() == text.text().data());
  text += " on one";
  CHECK(text == "swap is enabled on one");
  CHECK(copy == "swap is enabled");
  CHECK(copy != text);
  CHECK("host: " + copy == "host: swap is enabled");
  CHECK(fmt::format("[{:>16}]", copy) == "[ swap is enabled]");
  const SharedText moved = std::move(text);
  CHECK(moved == "swap is enabled on one");
}

TEST_CASE("shared text: a pool gives equal texts one copy") {
  base::SharedTexts texts;
  const SharedText first = texts.get(std::string(100, 'x'));
  for (int i = 0; i < 1000; ++i) CHECK(texts.get(std::to_string(i)) == std::to_string(i));
  CHECK(texts.get(std::string(100, 'x')).text().data() == first.text().data());
  CHECK(texts.get("").empty());
}
