#pragma once

#include "gpuadm/http/server.hpp"

#include <string_view>

namespace http {

/// Answers GET and HEAD of one path, as Server does.
class TextServer {
 public:
  /// Opens the port and reads the key. Fault::usage if it cannot.
  [[nodiscard]] static Result<TextServer> open(const Endpoint& endpoint);

  /// The text, or why there is none: status 503.
  using Source = std::function<Result<std::string>()>;
  /// Serves until SIGINT or SIGTERM. `path`: "/metrics".
  [[nodiscard]] Result<> serve(std::string_view path, const Source& source);

 private:
  TextServer(Server server, std::shared_ptr<Server::Handler> handler)
      : server_(std::move(server)), handler_(std::move(handler)) {}
  Server server_;
  std::shared_ptr<Server::Handler> handler_;  ///< called by the server
};

}  // namespace http
