#pragma once

#include "gpuadm/base/error.hpp"

#include "transport/descriptor.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace transport {

/// The operator's ssh-agent, over one connection for the whole run.
class Agent {
 public:
  explicit Agent(std::string socket) : socket_(std::move(socket)) {}

  struct Key {
    std::string blob, comment;
  };
  /// The keys in the agent, listed once. Empty without an agent.
  [[nodiscard]] const std::vector<Key>& keys();
  /// The signature without its algorithm's name; rsa-sha2-512 for RSA. Waits for the agent (which may prompt
  /// its user) for at most a minute.
  [[nodiscard]] base::Result<std::string> sign(std::string_view blob, std::string_view data);

 private:
  [[nodiscard]] base::Result<std::string> request(std::string_view message);
  [[nodiscard]] base::Result<> connect();
  std::string socket_;
  Descriptor connection_;
  bool asked_ = false;
  std::vector<Key> keys_;
};

}  // namespace transport
