#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/files.hpp"

#include <doctest/doctest.h>

TEST_CASE("base64 is read as it is written, whatever the bytes") {
  std::string bytes;
  for (int length = 0; length < 70; ++length) {
    CHECK(base::from_base64(base::base64(bytes)) == bytes);
    bytes += static_cast<char>(length * 37);
  }
}

TEST_CASE("each value has one text in base64: others are not read") {
  CHECK(base::from_base64("QQ==") == "A");
  CHECK(base::from_base64("QUI=") == "AB");
  for (const char* text :
       {"QQ", "QQ=", "QQ===", "Q===", "====", "=", "QR==", "QUJ=", "QQ==QQ==", "Q=Q=", "QQ==\n",
        " QQ==", "QQ==    ", "QU JD", "QUJD\nQUJD", "QU-_", "QUI=\n\n\n\n", "a?b="}) {
    CAPTURE(text);
    CHECK_FALSE(base::from_base64(text));
  }
}
