#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/time.hpp"

#include <poll.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Serves texts over HTTP.
namespace http {

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

/// What the bytes of a client ask for.
struct Request {
  enum class Kind { get, head, other_method, invalid };
  Kind kind = Kind::invalid;
  std::string path;  ///< without a query
  std::string host;  ///< of the header Host, in lower case; empty: there is none
};

struct Response {
  int status = 200;
  std::string text;
  std::string type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Answers GET and HEAD. One thread; 16 connections at a time, each with one request of at most 8 KiB, for at
/// most ten seconds. Passive like a transport: it never waits, and names the descriptors that it waits for.
class Server {
 public:
  /// Called for valid requests with GET or HEAD only.
  using Handler = std::function<Response(const Request&)>;
  /// Opens the port and reads the key. Port 0: any that is free. Fault::usage if it cannot.
  [[nodiscard]] static Result<Server> open(const Endpoint& endpoint, Handler handler);
  Server(Server&& other) noexcept;
  Server& operator=(Server&&) = delete;
  ~Server();

  /// The port that is open.
  [[nodiscard]] std::uint16_t port() const;
  /// Appends the descriptors to poll for.
  void interests(std::vector<pollfd>& into) const;
  /// When advance() must be called even if no descriptor is ready. Nothing: not required.
  [[nodiscard]] std::optional<base::Instant> wake() const;
  /// Accepts, reads and answers as far as it is possible without waiting.
  void advance();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace http
