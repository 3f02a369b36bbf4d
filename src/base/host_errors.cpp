#include "gpuadm/base/host_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace base {

std::string without_host(std::string_view message, std::string_view host) {
  if (message.starts_with(host) && message.substr(host.size()).starts_with(": "))
    message.remove_prefix(host.size() + 2);
  return std::string(message);
}

bool is_connection_fault(Fault fault) {
  return fault == Fault::unreachable || fault == Fault::auth || fault == Fault::host_key;
}

Error joined(std::span<const Error> errors) {
  if (errors.size() == 1) return errors.front();
  constexpr std::size_t most = 10;
  const bool unreached = std::ranges::all_of(errors, is_connection_fault, &Error::fault);
  const bool same_hint = std::ranges::all_of(
      errors, [&](const std::string& hint) { return hint == errors.front().hint; }, &Error::hint);
  Error all = errors.front();
  all.what = fmt::format("{} hosts {}:", errors.size(), unreached ? "are unreachable" : "failed");
  if (!same_hint) all.hint.clear();
  for (const Error& error : errors.first(std::min(most, errors.size()))) {
    all.what += "\n  " + error.what;
    if (!same_hint && !error.hint.empty()) all.what += "\n    " + error.hint;
  }
  if (errors.size() > most) all.what += fmt::format("\n  and {} more", errors.size() - most);
  return all;
}

Error joined(const std::map<std::string, Error>& errors) {
  std::vector<Error> all;
  for (const auto& [host, error] : errors) all.push_back(error);
  return joined(all);
}

}  // namespace base
