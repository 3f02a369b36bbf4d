#pragma once

#include "gpuadm/base/error.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace base {

/// A message without the "HOST: " that it may begin with, for output that names the host already.
[[nodiscard]] std::string without_host(std::string_view message, std::string_view host);

/// Whether a fault means that no program was started on the host: no connection, login or trusted host key.
[[nodiscard]] bool is_connection_fault(Fault fault);

/// The errors of hosts as one error with the fault of the first: a single error is unchanged; of several, a
/// line for each of the first ten, and the number of the others. `what` of each begins with its host. A hint
/// that all have in common is the hint of the whole; otherwise each follows its line. `errors` is not empty.
[[nodiscard]] Error joined(std::span<const Error> errors);
/// The same of errors by host, in the order of the names.
[[nodiscard]] Error joined(const std::map<std::string, Error>& errors);

}  // namespace base
