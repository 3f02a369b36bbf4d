#include "gpuadm/base/redact.hpp"

#include <doctest/doctest.h>

TEST_CASE("a difference between files is shown without the secrets in them") {
  std::size_t count = 0;
  CHECK(base::without_secrets("-  password = \"swordfish\"", count) == "-  password = \"***\"");
  CHECK(base::without_secrets("+\t\"auth\": \"dXNlcjpwYXNz\"", count) == "+\t\"auth\": \"***\"");
  CHECK(base::without_secrets(" endpoint = [\"https://me:pass@mirror.example\"]", count) ==
        " endpoint = [\"https://***@mirror.example\"]");
  CHECK(count == 3);
  CHECK(base::without_secrets("+  SystemdCgroup = true", count) == "+  SystemdCgroup = true");
  CHECK(base::without_secrets("@@ -1,3 +1,4 @@", count) == "@@ -1,3 +1,4 @@");
  CHECK(count == 3);
}
