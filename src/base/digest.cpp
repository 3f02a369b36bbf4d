#include "gpuadm/base/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace base {

std::string sha512(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), sum.data(), &length, EVP_sha512(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", sum.at(i));
  return hex;
}

}  // namespace base
