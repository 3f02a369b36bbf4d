#include "commands/workloads/read_failures.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;

constexpr std::chrono::seconds tolerated{60};

bool is_transient(Fault fault) {
  return fault == Fault::remote || fault == Fault::timeout || fault == Fault::unreachable;
}

}  // namespace

Result<> ReadFailures::tolerate(const base::Error& error) {
  const auto now = base::Clock::now();
  if (!is_transient(error.fault) || now - since_.value_or(now) > tolerated) return std::unexpected(error);
  if (!since_)
    io_.err(fmt::format("{}; repeated for {}s\n", base::printable(error.what, 300), tolerated.count()));
  since_ = since_.value_or(now);
  return {};
}

}  // namespace commands
