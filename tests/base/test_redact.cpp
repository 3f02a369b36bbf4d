#include "gpuadm/base/files.hpp"
#include "gpuadm/base/redact.hpp"
#include "gpuadm/base/text.hpp"

#include <doctest/doctest.h>

TEST_CASE("redact: no secret survives, in whatever form tools print it") {
  const auto text = base::read_file(GPUADM_TESTS_DIR "/cases/redact/lines");
  REQUIRE(text);
  for (const std::string_view line : base::lines(*text)) {
    if (line.starts_with("# ")) continue;
    std::string given, wanted;
    std::size_t secrets = 0;
    for (std::string_view rest = line; !rest.empty();) {
      const auto from = rest.find("«");
      given += rest.substr(0, from);
      wanted += rest.substr(0, from);
      if (from == rest.npos) break;
      rest.remove_prefix(from + std::string_view("«").size());
      given += rest.substr(0, rest.find("»"));
      wanted += "***";
      ++secrets;
      rest.remove_prefix(rest.find("»") + std::string_view("»").size());
    }
    CAPTURE(given);
    std::size_t count = 0;
    const std::string got = base::without_secrets(given, count);
    CHECK(got == wanted);
    CHECK(count == secrets);
    CHECK(base::without_secrets(got, count) == got);
  }
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
