#include "gpuadm/base/time.hpp"

#include <fmt/chrono.h>

namespace base {

std::string iso8601(Time time) {
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)),
                     milliseconds % 1000);
}

std::string stamp(Time time) {
  return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace base
