#include "gpuadm/base/network.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/version.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace base;

namespace {

template <class Text>
concept can_be_cut = requires(Text&& text) {
  words(std::forward<Text>(text));
  lines(std::forward<Text>(text));
  split(std::forward<Text>(text), ',');
};
static_assert(can_be_cut<std::string&> && can_be_cut<const std::string&> && can_be_cut<std::string_view> &&
              can_be_cut<const char*>);
static_assert(!can_be_cut<std::string> && !can_be_cut<const std::string>);

}  // namespace

TEST_CASE("text: what a host says is harmless for a terminal") {
  CHECK(printable("ok\n") == "ok\n");
  CHECK(printable("\x1b[31mred\x07") == "\\x1b[31mred\\x07");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("gr\xc3\xbc\xc3\x9f") == "gr\xc3\xbc\xc3\x9f");
  for (const std::string hidden : {"\xe2\x80\x8b", "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6"})
    CHECK(printable(hidden).starts_with("\\xe2\\x8"));
  CHECK(printable("– — ‘it’ “it” • …") == "– — ‘it’ “it” • …");
  CHECK(printable(std::string(100, 'a'), 10) == "aaaaaaaaaa… (90 more bytes)");
}

TEST_CASE("text: a typo finds its neighbour and nonsense finds none") {
  const std::vector<std::string> keys = {"podCIDR", "serviceCIDR", "plugin"};
  CHECK(nearest("podCidr", keys) == "podCIDR");
  CHECK(nearest("plugn", keys) == "plugin");
  CHECK(!nearest("zzzzz", keys));
}

TEST_CASE("text: a unified diff shows three lines of context") {
  CHECK(unified_diff("a\n", "a\n", "x", "y").empty());
  CHECK(unified_diff("", "a\n", "/dev/null", "y") == "--- /dev/null\n+++ y\n@@ -0,0 +1,1 @@\n+a\n");
  CHECK(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "x", "y") ==
        "--- x\n+++ y\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST_CASE("shell: every word comes back from sh as it was") {
  for (const std::string word : {"", "a b", "it's", "$HOME `id` \"x\" \\", "line\nline", "-n", "*?[a]"}) {
    const std::string command = "test \"$(printf %sx " + quote(word) + ")\" = " + quote(word + "x");
    CHECK(std::system(command.c_str()) == 0);
  }
  CHECK(assignments({{"a", "1"}, {"b", "x y"}}) == "a='1'\nb='x y'\n");
  CHECK_THROWS(assignments({{"a b", "1"}}));
}

TEST_CASE("version: dotted versions compare by number") {
  CHECK(*Version::parse("v1.20.2") < *Version::parse("1.36"));
  CHECK(Version::parse("1.7.24~ds1-1")->text() == "1.7.24");
  CHECK(*Version::parse("1.9") < *Version::parse("1.10"));
  CHECK(!Version::parse("latest"));
}

TEST_CASE("network: overlap is by prefix") {
  const auto cidr = [](const char* text) { return *Cidr::parse(text); };
  CHECK(cidr("10.244.0.0/16").overlaps(cidr("10.0.0.0/8")));
  CHECK(!cidr("10.244.0.0/16").overlaps(cidr("10.96.0.0/12")));
  CHECK(!cidr("10.244.0.1/16").is_network());
  CHECK(!Cidr::parse("10.244.0.0/33"));
  CHECK(!Cidr::parse("10.244/16"));
  CHECK(cidr("fd00::/8").contains(cidr("fd12::1")));
}

TEST_CASE("network: only an IPv6 address gets brackets, and only once") {
  CHECK(base::in_brackets("fd00::1") == "[fd00::1]");
  CHECK(base::in_brackets("[fd00::1]") == "[fd00::1]");
  CHECK(base::in_brackets("192.0.2.1") == "192.0.2.1");
  CHECK(base::in_brackets("nfs.example.com") == "nfs.example.com");
}
