#include "gpuadm/base/random.hpp"

#include <fmt/format.h>

#include <string.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

namespace base {

Result<Secret> random_secret(std::size_t bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string raw(bytes, '\0');
  for (std::size_t got = 0; got < bytes;) {
    const ssize_t more = ::getrandom(raw.data() + got, bytes - got, 0);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return fail(Fault::bug, fmt::format("no random numbers: {}", std::strerror(errno)));
    got += static_cast<std::size_t>(more);
  }
  std::string text;
  text.reserve(2 * bytes);
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  ::explicit_bzero(raw.data(), raw.size());
  return Secret(std::move(text));
}

}  // namespace base
