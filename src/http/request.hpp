#pragma once

#include "gpuadm/http/server.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace http {

inline constexpr std::size_t most_request = 8u << 10;

/// Nothing: the request is not complete. One that is longer than `most_request`, or is not HTTP/1, is
/// invalid.
[[nodiscard]] std::optional<Request> read_request(std::string_view bytes);

/// A complete answer, after which the connection is closed. HEAD: without the text.
[[nodiscard]] std::string to_text(const Response& response, bool head);

}  // namespace http
