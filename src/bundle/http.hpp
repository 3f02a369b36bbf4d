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

/// HTTP by libcurl, which is loaded when it is needed: everything but fetching works without it.
namespace bundle::http {

using base::Result;

struct Request {
  std::string url;                   ///< http or https
  std::vector<std::string> headers;  ///< "Name: value"; those with secrets are not shown in errors
  std::uint64_t from = 0;            ///< the first byte that is wanted
  std::uint64_t limit = 0;       ///< bytes that are expected at most; the time it may take follows from them
  const Proxy* proxy = nullptr;  ///< nothing: as the environment says
};

/// What a server said before the body.
struct Head {
  long status = 0;
  std::map<std::string, std::string> headers;  ///< names in small letters; several of a name: a line each
};

/// How a request ended, where a server answered.
struct Response {
  Head head;
  bool whole = true;  ///< false: the connection ended before the body did
  std::string how;    ///< what libcurl says of a body that is not whole
};

/// Whether libcurl is here; Fault::usage with what to install.
[[nodiscard]] Result<> available();

/// One GET. Redirects are followed, from https to nothing else. `sink` gets the body of the last answer, with
/// its head, and ends the request where it returns false; of an answer that is no file it gets 64 KiB at
/// most. Fault::unreachable where no answer came: no connection within 15 s, or less than 1 KiB a second for
/// 30 s; Fault::parse where asking again helps nothing.
[[nodiscard]] Result<Response> get(const Request& request,
                                   const std::function<bool(const Head& head, std::string_view piece)>& sink);

}  // namespace bundle::http
