#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace serve {

inline constexpr std::size_t most_request = 8u << 10;

/// What the bytes of a client ask for.
struct Request {
  enum class Kind { get, head, other_method, invalid };
  Kind kind = Kind::invalid;
  std::string path;  ///< without a query
};
/// Nothing: the request is not complete. One that is longer than `most_request`, or is not HTTP/1, is
/// invalid.
[[nodiscard]] std::optional<Request> read_request(std::string_view bytes);

/// A complete answer, after which the connection is closed. HEAD: without the text.
[[nodiscard]] std::string response(int status, std::string_view text, bool head);

}  // namespace serve
