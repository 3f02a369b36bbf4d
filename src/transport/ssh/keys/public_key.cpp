#include "transport/ssh/keys/public_key.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "transport/ssh/keys/bytes.hpp"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/objects.h>

#include <bit>
#include <filesystem>
#include <memory>

namespace transport {

namespace {
constexpr int least_rsa = 1024, most_rsa = 16384;  // OpenSSH's sshkey.h and sshbuf.h
constexpr std::size_t ed25519_size = 32;

/// The bits of a positive number in SSH's format; 0 if it is negative or too large.
int bits_of(std::string_view number) {
  while (number.starts_with('\0')) number.remove_prefix(1);
  if (number.empty() || number.size() > most_rsa / 8) return 0;
  const int low = static_cast<int>(number.size() - 1) * 8;
  return low + std::bit_width(static_cast<unsigned char>(number.front()));
}

bool is_negative(std::string_view number) {
  return !number.empty() && (static_cast<unsigned char>(number.front()) & 0x80) != 0;
}

bool is_point(std::string_view curve, std::string_view point) {
  const int id = curve == "nistp256"   ? NID_X9_62_prime256v1
                 : curve == "nistp384" ? NID_secp384r1
                 : curve == "nistp521" ? NID_secp521r1
                                       : NID_undef;
  if (id == NID_undef) return false;
  const std::unique_ptr<EC_GROUP, decltype(&EC_GROUP_free)> group(EC_GROUP_new_by_curve_name(id),
                                                                  EC_GROUP_free);
  const std::unique_ptr<EC_POINT, decltype(&EC_POINT_free)> read(EC_POINT_new(group.get()), EC_POINT_free);
  const bool good =
      EC_POINT_oct2point(group.get(), read.get(), reinterpret_cast<const unsigned char*>(point.data()),
                         point.size(), nullptr) == 1 &&
      EC_POINT_is_at_infinity(group.get(), read.get()) == 0;
  ERR_clear_error();
  return good;
}

bool is_ecdsa(std::string_view type, Reader& reader) {
  const std::string_view curve = reader.string();
  return type.ends_with(curve) && is_point(curve, reader.string());
}

bool is_rsa(Reader& reader) {
  const std::string_view exponent = reader.string(), modulus = reader.string();
  return bits_of(exponent) > 0 && !is_negative(exponent) && !is_negative(modulus) &&
         bits_of(modulus) >= least_rsa;
}

bool is_key(std::string_view type, Reader& reader) {
  if (type == "ssh-ed25519") return reader.string().size() == ed25519_size;
  if (type == "ssh-rsa") return is_rsa(reader);
  if (type.starts_with("ecdsa-sha2-")) return is_ecdsa(type, reader);
  if (type == "sk-ssh-ed25519@openssh.com")
    return reader.string().size() == ed25519_size && !reader.string().empty();
  if (type == "sk-ecdsa-sha2-nistp256@openssh.com") {
    const std::string_view curve = reader.string();
    return is_point(curve, reader.string()) && !reader.string().empty();
  }
  return false;
}
}  // namespace

bool is_public_key(std::string_view blob) {
  Reader reader(blob);
  const std::string_view type = reader.string();
  return is_key(type, reader) && reader.good() && reader.rest().empty();
}

std::string read_public_key(const std::string& path) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(path, missing)) return {};
  const auto text = base::read_file(path, 64u << 10);
  if (!text) return {};
  const auto words = base::words(*text);
  if (words.size() < 2) return {};
  std::string blob = unbase64(words[1]);
  return is_public_key(blob) && Reader(blob).string() == words[0] ? blob : "";
}

int rsa_bits(std::string_view blob) {
  Reader reader(blob);
  const std::string_view type = reader.string();
  if (type != "ssh-rsa" && !type.starts_with("rsa-")) return 0;
  reader.string();
  return bits_of(reader.string());
}

}  // namespace transport
