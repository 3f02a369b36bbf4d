#pragma once

#include "gpuadm/base/secret.hpp"
#include "gpuadm/http/server.hpp"

#include <map>

namespace http {

/// Resources for browsers on this machine: below a token, which every path begins with, and only under a
/// loopback name, so that a page of another server cannot read them by a name of its own.
class Site {
 public:
  explicit Site(base::Secret token) : token_(std::move(token)) {}

  using Source = std::function<std::string()>;
  /// `name`: the path below the token; empty: the page itself.
  void add(const std::string& name, std::string type, Source source);
  /// 403 without the token or under another name, 404 for other paths. Every answer forbids caching, framing
  /// and everything that the page loads from elsewhere.
  [[nodiscard]] Response answer(const Request& request) const;
  /// "http://127.0.0.1:4711/TOKEN/"
  [[nodiscard]] std::string address(std::uint16_t port) const;

 private:
  struct Resource {
    std::string type;
    Source source;
  };
  base::Secret token_;
  std::map<std::string, Resource, std::less<>> resources_;
};

}  // namespace http
