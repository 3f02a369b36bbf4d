#include "transport/ssh/keys/algorithms.hpp"

#include "gpuadm/base/text.hpp"

#include <libssh2.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>

namespace transport {

namespace {

// No post-quantum exchange here, AES in hardware, SHA-2.
constexpr std::array key_exchange = std::to_array<std::string_view>(
    {"curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256", "ecdh-sha2-nistp384",
     "ecdh-sha2-nistp521", "diffie-hellman-group-exchange-sha256", "diffie-hellman-group16-sha512",
     "diffie-hellman-group18-sha512", "diffie-hellman-group14-sha256"});
constexpr std::array host_keys =
    std::to_array<std::string_view>({"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                                     "ecdsa-sha2-nistp521", "rsa-sha2-512", "rsa-sha2-256"});
constexpr std::array ciphers =
    std::to_array<std::string_view>({"aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr",
                                     "aes256-ctr", "aes192-ctr", "chacha20-poly1305@openssh.com"});
constexpr std::array macs =
    std::to_array<std::string_view>({"hmac-sha2-256-etm@openssh.com", "hmac-sha2-256",
                                     "hmac-sha2-512-etm@openssh.com", "hmac-sha2-512", "hmac-sha1"});

/// Algorithms of a kind (LIBSSH2_METHOD_…) in this libssh2: 1.10 has no rsa-sha2 for host keys.
std::vector<std::string> supported(int kind) {
  std::vector<std::string> names;
  LIBSSH2_SESSION* session = ::libssh2_session_init_ex(nullptr, nullptr, nullptr, nullptr);
  const char** list = nullptr;
  const int count = session ? ::libssh2_session_supported_algs(session, kind, &list) : 0;
  if (count > 0) {
    names.assign(list, list + count);
    ::libssh2_free(session, list);
  }
  if (session) ::libssh2_session_free(session);
  return names;
}

/// The algorithms of `ours` that libssh2 supports and the operator allows. libssh2 must not filter unknown
/// names itself, because it uses its defaults if none is left.
std::vector<std::string> allowed(int kind, std::span<const std::string_view> ours,
                                 const std::vector<std::string>& theirs) {
  static std::map<int, std::vector<std::string>> known;
  const auto& here = known.try_emplace(kind, supported(kind)).first->second;
  std::vector<std::string> both;
  for (const std::string_view name : ours)
    if (std::ranges::find(here, name) != here.end() &&
        (theirs.empty() || std::ranges::find(theirs, name) != theirs.end()))
      both.emplace_back(name);
  return both;
}

bool is_of_type(std::string_view algorithm, const std::string& type) {
  return algorithm == type || (type == "ssh-rsa" && algorithm.starts_with("rsa-"));
}

}  // namespace

Algorithms algorithms_for(const Config& config, const std::vector<std::string>& known) {
  auto keys = allowed(LIBSSH2_METHOD_HOSTKEY, host_keys, config.host_key_algorithms);
  // libssh2 does not check the length of a key.
  if (config.least_rsa_bits > Config::usual_rsa_bits)
    std::erase_if(keys, [](const std::string& name) { return name.starts_with("rsa-"); });
  std::vector<std::string> order;
  for (const std::string& type : known)
    for (const std::string& name : keys)
      if (is_of_type(name, type) && std::ranges::find(order, name) == order.end()) order.push_back(name);
  for (const std::string& name : keys)
    if (std::ranges::find(order, name) == order.end()) order.push_back(name);
  return {.key_exchange = base::join(allowed(LIBSSH2_METHOD_KEX, key_exchange, config.kex_algorithms), ","),
          .host_keys = base::join(order, ","),
          .ciphers = base::join(allowed(LIBSSH2_METHOD_CRYPT_CS, ciphers, config.ciphers), ","),
          .macs = base::join(allowed(LIBSSH2_METHOD_MAC_CS, macs, config.macs), ",")};
}

bool can_verify(const Algorithms& algorithms, const std::string& type) {
  return std::ranges::any_of(base::split(algorithms.host_keys, ','),
                             [&](std::string_view name) { return is_of_type(name, type); });
}

std::string openssh_ciphers(const Config& config) {
  std::vector<std::string> order = config.ciphers;
  const auto others = std::ranges::stable_partition(
      order, [](const std::string& name) { return name.ends_with("-gcm@openssh.com"); });
  return others.begin() == order.begin() ? "" : base::join(order, ",");
}

}  // namespace transport
