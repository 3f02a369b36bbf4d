#include "transport/piped.hpp"

#include <fmt/format.h>

#include <pwd.h>
#include <unistd.h>

namespace transport {

namespace {
std::string local_host_name() {
  if (::geteuid() == 0) return "root";
  const passwd* entry = ::getpwuid(::geteuid());
  return entry ? entry->pw_name : fmt::format("uid {}", ::geteuid());
}
}  // namespace

std::unique_ptr<Transport> local(Session& session, const std::string& host) {
  Way way;
  way.kind = "local";
  way.argv = [](const std::string& line) { return std::vector<std::string>{"/bin/sh", "-c", line}; };
  return piped(session, {host, local_host_name(), ""}, std::move(way));
}

}  // namespace transport
