#include "gpuadm/base/fault.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/redact.hpp"
#include "gpuadm/base/text.hpp"

#include "literals.hpp"

#include <doctest/doctest.h>

namespace {

/// A line of tests/cases/redact: secrets are between « and ».
struct RedactCase {
  std::string given, wanted;
  std::size_t secrets = 0;
};

RedactCase redact_case(std::string_view line) {
  RedactCase result;
  for (std::string_view rest = line; !rest.empty();) {
    const auto from = rest.find("«");
    result.given += rest.substr(0, from);
    result.wanted += rest.substr(0, from);
    if (from == rest.npos) break;
    rest.remove_prefix(from + std::string_view("«").size());
    result.given += rest.substr(0, rest.find("»"));
    result.wanted += "***";
    ++result.secrets;
    rest.remove_prefix(rest.find("»") + std::string_view("»").size());
  }
  return result;
}

}  // namespace

TEST_CASE("redact: no secret survives, in whatever form tools print it") {
  const auto text = base::read_file(GPUADM_TESTS_DIR "/cases/redact/lines");
  REQUIRE(text);
  for (const std::string_view line : base::lines(*text)) {
    if (line.starts_with("# ")) continue;
    const auto [given, wanted, secrets] = redact_case(line);
    CAPTURE(given);
    std::size_t count = 0;
    const std::string got = base::without_secrets(given, count);
    CHECK(got == wanted);
    CHECK(count == secrets);
    CHECK(base::without_secrets(got, count) == got);
  }
}

TEST_CASE("redact: names of files in gpuadm's own messages are not settings, text of hosts is redacted") {
  const auto text = base::read_file(GPUADM_TESTS_DIR "/cases/redact/messages");
  REQUIRE(text);
  for (const std::string_view line : base::lines(*text)) {
    if (line.starts_with("# ")) continue;
    const auto blank = line.find(' ');
    const auto fault = base::fault_named(line.substr(0, blank));
    REQUIRE(fault);
    const auto [given, wanted, secrets] = redact_case(line.substr(blank + 1));
    CAPTURE(line);
    CHECK(base::error_without_secrets({*fault, given, ""}).what == wanted);
  }
  CHECK(base::error_without_secrets({base::Fault::spec, "token:1:1: a\ntoken:2:1: b", "token: x"}).what ==
        "token:1:1: a\ntoken:2:1: b");
  CHECK(base::error_without_secrets({base::Fault::spec, "a", "token: x"}).hint == "token: ***");
  CHECK(base::error_without_secrets({base::Fault::parse, "token:1:1: a\ntoken: x", ""}).what ==
        "token:1:1: a\ntoken: ***");
}

TEST_CASE("redact: a secret of many lines is left out") {
  CHECK(base::text_without_secrets("a: b\npassword: |\n  x\n\n  y\nc: d\n") == "a: b\npassword: |\nc: d\n");
  CHECK(base::text_without_secrets("+  - \"token\": >-\n+      x\n+    c: d") ==
        "+  - \"token\": >-\n+    c: d");
  CHECK(base::text_without_secrets("data: |\n  x: y") == "data: |\n  x: y");
  // Environment variables of pods.
  CHECK(
      base::text_without_secrets("+  - name: DB_PASSWORD\n+    value: x\n+  - name: MODE\n+    value: y\n") ==
      "+  - name: DB_PASSWORD\n+  - name: MODE\n+    value: y\n");
  CHECK(base::text_without_secrets("- name: TOKEN\n  value: |\n    x\n    y\n- name: z") ==
        "- name: TOKEN\n- name: z");
  CHECK(base::text_without_secrets("\"name\": \"TOKEN\",\n\"value\": \"x\"\n}") == "\"name\": \"TOKEN\",\n}");
  CHECK(base::text_without_secrets("- name: TOKEN\n  valueFrom: y\n  value: z\n") ==
        "- name: TOKEN\n  valueFrom: y\n  value: z\n");
  CHECK(base::text_without_secrets(
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb\n") ==
        "-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\nb\n");
  CHECK(base::text_without_secrets("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n") ==
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n");
}

TEST_CASE("a tag of sudoers is not a password") {
  const std::string rule = "allow it with `visudo`: ubuntu ALL=(ALL) NOPASSWD: ALL";
  CHECK(base::text_without_secrets(rule) == rule);
  CHECK(base::text_without_secrets("PASSWD: hunter2") == "PASSWD: ***");
}

TEST_CASE("no sentence of gpuadm is taken for a secret") {
  std::size_t sentences = 0;
  for (const auto& [file, text] : literals_of_sources()) {
    if (text.find(' ') == std::string::npos) continue;
    ++sentences;
    CHECK_MESSAGE(base::text_without_secrets(text) == text, file);
  }
  CHECK(sentences > 3000);
}

TEST_CASE("the key of a served model is a secret in the settings that an engine prints") {
  const std::string line =
      "server_args=ServerArgs(model_path='/model', api_key='f3b1c0ffee', log_level='info')";
  const std::string shown = base::text_without_secrets(line);
  CHECK(shown.find("f3b1c0ffee") == std::string::npos);
  CHECK(shown.find("model_path='/model'") != std::string::npos);
}
