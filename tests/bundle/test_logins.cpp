#include "gpuadm/bundle/logins.hpp"

#include <doctest/doctest.h>

namespace {

std::string found(const bundle::Logins& logins, std::string_view host, std::string_view repository) {
  const base::Secret* login = logins.find(host, repository);
  return login ? login->reveal() : "none";
}

}  // namespace

TEST_CASE("a login is that of the registry, or of the part of it that is nearest") {
  const auto logins = bundle::Logins::parse(R"({"auths": {
      "https://index.docker.io/v1/": {"auth": "aHVi"},
      "Harbor.Lab:8443": {"auth": "YWxs"},
      "harbor.lab:8443/team/a": {"auth": "dGVhbQ=="},
      "http://old.lab/v2/": {"username": "u", "password": "p:w"},
      "bad.lab": {"auth": "a\r\nX-Header: b"}, "empty.lab": {}, "odd.lab": 7}})",
                                            "logins.json");
  REQUIRE(logins);
  CHECK(found(*logins, "registry-1.docker.io", "library/nginx") == "aHVi");
  CHECK(found(*logins, "docker.io", "library/nginx") == "aHVi");
  CHECK(found(*logins, "harbor.lab:8443", "x") == "YWxs");
  CHECK(found(*logins, "harbor.lab:8443", "team/a/image") == "dGVhbQ==");
  CHECK(found(*logins, "harbor.lab:8443", "team/ab") == "YWxs");
  CHECK(found(*logins, "harbor.lab", "x") == "none");
  CHECK(found(*logins, "old.lab", "x") == "dTpwOnc=");
  for (const char* host : {"bad.lab", "empty.lab", "odd.lab", "lab", ""})
    CHECK(found(*logins, host, "x") == "none");
}

TEST_CASE("what can be done without a login names the file, and a helper that is not run") {
  CHECK(bundle::Logins().advice("a.lab").starts_with("log in: docker login a.lab, or "));
  const auto helped = bundle::Logins::parse(R"({"credHelpers": {"a.lab": "pass"}})", "f");
  REQUIRE(helped);
  CHECK(helped->advice("a.lab").starts_with("f uses a credential helper"));
  CHECK(helped->advice("b.lab").starts_with("f has no login for b.lab: "));
}

TEST_CASE("a file of logins that cannot be read is rejected without showing its contents") {
  for (const char* text : {"", "[]", "user:hunter2", R"({"auths": {"a": {"auth": "hunter2)"}) {
    const auto logins = bundle::Logins::parse(text, "f");
    REQUIRE(!logins);
    CHECK(logins.error().what == "f: not a JSON object");
  }
}
