#include "transport/ssh/keys/bytes.hpp"

#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/files.hpp"

#include <openssl/sha.h>

namespace transport {

std::string fingerprint(std::string_view blob) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  ::SHA256(reinterpret_cast<const unsigned char*>(blob.data()), blob.size(), digest);
  std::string text = base::base64({reinterpret_cast<const char*>(digest), sizeof digest});
  while (!text.empty() && text.back() == '=') text.pop_back();
  return "SHA256:" + text;
}

std::string unbase64(std::string_view text) {
  return base::from_base64(text).value_or("");
}

}  // namespace transport
