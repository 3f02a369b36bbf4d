#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A DNS client's messages (RFC 1035, RFC 3596) and its configuration (resolv.conf(5)). The C library's own
/// resolver loads plugins that the image does not have.
namespace dns {

enum class Type : std::uint16_t { a = 1, aaaa = 28 };

/// A query for one name with recursion desired. Empty: the name cannot stand in a message.
[[nodiscard]] std::vector<std::uint8_t> query(std::uint16_t id, std::string_view name, Type type);

struct Answer {
  int code = 0;            ///< RCODE: 0 no error, 2 the server failed, 3 no such name
  bool truncated = false;  ///< the whole answer needs TCP
  std::vector<std::string> addresses;
};
/// The answer to such a query. Nothing: the bytes are not an answer to it, or damaged.
[[nodiscard]] std::optional<Answer> parse(std::span<const std::uint8_t> message, std::uint16_t id, Type type);

struct Config {
  std::vector<std::string> servers, search;
  int ndots = 1;
};
[[nodiscard]] Config read_config(std::string_view text);

/// The names to ask for, in order, as resolv.conf(5) completes them: a name with fewer dots than `ndots` has
/// the search domains appended first.
[[nodiscard]] std::vector<std::string> candidates(std::string_view name, const Config& config);

}  // namespace dns
