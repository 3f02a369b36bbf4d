#include "gpuadm/base/error.hpp"

namespace base {

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::usage:
      return "usage";
    case Fault::spec:
      return "spec";
    case Fault::unreachable:
      return "unreachable";
    case Fault::auth:
      return "auth";
    case Fault::host_key:
      return "host-key";
    case Fault::timeout:
      return "timeout";
    case Fault::remote:
      return "remote";
    case Fault::parse:
      return "parse";
    case Fault::blocked:
      return "blocked";
    case Fault::interrupted:
      return "interrupted";
    case Fault::bug:
      return "bug";
  }
  return "bug";
}

}  // namespace base
