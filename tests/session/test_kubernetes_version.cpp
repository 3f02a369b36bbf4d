#include "gpuadm/session/run_playbook.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

using base::Version;
using Versions = std::vector<Version>;

/// The version, or what is said and what to type.
std::string chosen(const playbook::ChosenVersion& version, const session::Offers& offers) {
  const auto choice = session::choose_offered(version, offers, "https://mirror.lab");
  return choice ? choice->text() : choice.error().what + "; " + choice.error().hint;
}

const playbook::ChosenVersion minor{{1, 36, 4}, true};  // the patch is assumed

}  // namespace

TEST_CASE("a version on the command line is a minor or a patch, and nothing else") {
  CHECK(spec::parse_kubernetes_version("1.36", "--kubernetes-version")->text() == "1.36");
  CHECK(spec::parse_kubernetes_version("v1.36.2", "--kubernetes-version")->text() == "1.36.2");
  for (const char* text : {"", "1", "2.1", "1.x", "1.36.", "1.36.2-rc.0", "1.36.2 ", "01.36", "latest"}) {
    CAPTURE(text);
    const auto version = spec::parse_kubernetes_version(text, "--kubernetes-version");
    REQUIRE(!version);
    CHECK(version.error().fault == base::Fault::usage);
    CHECK(version.error().what == fmt::format("invalid Kubernetes version: '{}'", text));
  }
}

TEST_CASE("offers are the patches of the minor in ascending order") {
  CHECK(session::read_offers("1.36.2\n1.36.10\n 1.36.2\n", minor.version) ==
        Versions{{1, 36, 2}, {1, 36, 10}});
  CHECK(session::read_offers("1.35.9\n1.36\n1.36.1-rc.0\n<html>\nv1.36.1\n", minor.version).empty());
  CHECK(session::read_offers("", minor.version).empty());
}

TEST_CASE("a minor becomes the newest patch that every host is offered, whatever the catalog names") {
  CHECK(chosen(minor, {{"a", {{1, 36, 1}, {1, 36, 2}}}}) == "1.36.2");
  CHECK(chosen(minor, {{"a", {{1, 36, 2}, {1, 36, 10}}}, {"b", {{1, 36, 1}, {1, 36, 2}}}}) == "1.36.2");
  CHECK(chosen(minor, {}) == "1.36.4");
  CHECK(chosen(minor, {{"a", {{1, 36, 1}}}, {"b", {{1, 36, 2}}}}) ==
        "no patch release of Kubernetes 1.36 is available to all hosts from https://mirror.lab: a: 1.36.1; "
        "b: 1.36.2; "
        "set "
        "another repository in mirrors.packages.kubernetes, or use --bundle DIR");
  CHECK(chosen(minor, {{"a", {{1, 36, 1}}}, {"b", {}}}) ==
        "b: https://mirror.lab does not offer Kubernetes 1.36; set another repository in "
        "mirrors.packages.kubernetes, or use --bundle DIR");
}

TEST_CASE("a patch that is not offered is refused with those that are") {
  const playbook::ChosenVersion exact{{1, 36, 9}, false};
  CHECK(chosen(exact, {{"a", {{1, 36, 2}, {1, 36, 9}}}}) == "1.36.9");
  CHECK(chosen(exact, {{"a", {{1, 36, 9}}}, {"b", {{1, 36, 1}, {1, 36, 2}}}}) ==
        "b: https://mirror.lab does not offer Kubernetes 1.36.9; it offers 1.36.1, 1.36.2: "
        "--kubernetes-version "
        "1.36.2; or set another repository in mirrors.packages.kubernetes, or use --bundle DIR");
}
