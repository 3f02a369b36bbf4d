#pragma once

#include "gpuadm/base/time.hpp"

#include "commands/command.hpp"

#include <chrono>
#include <optional>

namespace commands {

/// Decides whether a failed read of the cluster is repeated. Workloads do not depend on the connection of
/// gpuadm, so a short failure of the API server or the network is none of them.
class ReadFailures {
 public:
  explicit ReadFailures(Io& io) : io_(io) {}
  /// Nothing if the read may be repeated: it has failed for at most a minute, and may succeed later.
  /// Otherwise the error. The first failure is reported.
  [[nodiscard]] Result<> tolerate(const base::Error& error);
  /// A read has succeeded.
  void reset() { since_.reset(); }

 private:
  Io& io_;
  std::optional<base::Instant> since_;
};

}  // namespace commands
