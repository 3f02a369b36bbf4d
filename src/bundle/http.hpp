#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bundle {
struct Proxy;
}

/// HTTP by libcurl, which is loaded on demand: everything except downloads works without it.
namespace bundle::http {

using base::Result;

struct Request {
  std::string url;                   ///< http or https
  std::vector<std::string> headers;  ///< "Name: value"; those with secrets are not shown in errors
  std::uint64_t from = 0;            ///< the first byte to request
  std::uint64_t limit = 0;           ///< maximum number of bytes; determines the time limit
  const Proxy* proxy = nullptr;      ///< nullptr: from the environment
};

/// The head of a response.
struct Head {
  long status = 0;
  std::map<std::string, std::string>
      headers;  ///< names in lower case; several values of a name: one line each
};

/// The result of a request with a response.
struct Response {
  Head head;
  bool whole = true;  ///< false: the connection ended before the body did
  std::string how;    ///< libcurl's error for an incomplete body
};

/// Whether a URL without TLS is of a server on this machine: http://localhost:8080, http://127.0.0.1,
/// http://[::1]:8080. No proxy is used for it.
[[nodiscard]] bool is_this_machine(std::string_view url);

/// Whether libcurl is available; Fault::usage with what to install.
[[nodiscard]] Result<> available();

/// One GET request. Follows redirects, from https only to https. `sink` gets the head and body of the last
/// response, and aborts the request by returning false; for an error response it gets at most 64 KiB.
/// Fault::unreachable if there was no response: no connection within 15 s, or less than 1 KiB/s for 30 s;
/// Fault::parse if a repetition is useless.
[[nodiscard]] Result<Response> get(const Request& request,
                                   const std::function<bool(const Head& head, std::string_view piece)>& sink);

}  // namespace bundle::http
