#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

/// Serves a text over HTTP.
namespace serve {

using base::Result;

struct Endpoint {
  std::string address;  ///< IPv4 or IPv6, without brackets
  std::uint16_t port = 0;
  std::filesystem::path certificate, key;  ///< PEM files; empty: without TLS
};

/// A key of its own and a certificate that it signs itself, for this address and name, in the two files of
/// the endpoint (the key with mode 0600). Kept if they are valid for another 30 days and for the same address
/// and name; otherwise made again.
[[nodiscard]] Result<> ensure_certificate(const Endpoint& endpoint, const std::string& name);

/// Answers GET and HEAD of one path. One thread; 16 connections at a time, each with one request of at most 8
/// KiB, for at most ten seconds.
class TextServer {
 public:
  /// Opens the port and reads the key. Fault::usage if it cannot.
  [[nodiscard]] static Result<TextServer> open(const Endpoint& endpoint);
  TextServer(TextServer&& other) noexcept;
  TextServer& operator=(TextServer&&) = delete;
  ~TextServer();

  /// The text, or why there is none: status 503.
  using Source = std::function<Result<std::string>()>;
  /// Serves until SIGINT or SIGTERM. `path`: "/metrics".
  [[nodiscard]] Result<> serve(std::string_view path, const Source& source);

 private:
  TextServer(int listener, void* context) : listener_(listener), context_(context) {}
  int listener_;
  void* context_;  ///< SSL_CTX; nullptr: without TLS
};

}  // namespace serve
