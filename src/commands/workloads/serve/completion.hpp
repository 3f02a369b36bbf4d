#pragma once

#include "gpuadm/base/secret.hpp"
#include "gpuadm/http/client.hpp"

#include "commands/command.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace commands {

/// Where an OpenAI-compatible server answers.
struct CompletionTarget {
  std::string address;
  std::uint16_t port = 0;
  std::string model;
  base::Secret key;  ///< empty: without one
};

/// One completion that is streamed, and its times.
class Completion {
 public:
  Completion(const CompletionTarget& target, int tokens);
  Completion(Completion&&) noexcept;
  Completion& operator=(Completion&&) noexcept;
  ~Completion();

  [[nodiscard]] http::Exchange& exchange() { return *exchange_; }
  /// Once the exchange is done: whether it was answered with at least one token. Otherwise the error, with
  /// the server's own words.
  [[nodiscard]] Result<> result() const;
  [[nodiscard]] int status() const;  ///< 0: no answer
  [[nodiscard]] long long tokens() const;
  [[nodiscard]] double first_token() const;      ///< seconds until then
  [[nodiscard]] double tokens_a_second() const;  ///< after the first one

 private:
  struct Stream;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<http::Exchange> exchange_;
};

/// A completion that was answered, and one that was refused.
struct ServeProof {
  int refused = 0;  ///< the status of the answer without the key; 0: the server takes no key
  long long tokens = 0;
  double first_token = 0, tokens_a_second = 0;  ///< seconds; a second
};
/// One completion with the key, and one without it, which must be refused; only one if there is no key.
/// Repeats a connection that fails, as a Service may not forward to a new pod yet. Fault::remote, timeout,
/// interrupted.
[[nodiscard]] Result<ServeProof> prove_completion(const CompletionTarget& target,
                                                  std::chrono::seconds timeout, base::Interrupt& interrupt);
/// The first model that GET /v1/models names, as servers with OpenAI's API do; empty: it is answered with
/// something else. Fault::unreachable, timeout, interrupted.
[[nodiscard]] Result<std::string> first_model(const CompletionTarget& target, std::chrono::seconds timeout,
                                              base::Interrupt& interrupt);
/// "12 tokens, the first after 0.21s, then 35.1 a second; refused without the key (401)"
[[nodiscard]] std::string describe(const ServeProof& proof);

}  // namespace commands
