#include "gpuadm/base/fault.hpp"

namespace base {

std::optional<Fault> fault_named(std::string_view name) {
  for (const Fault fault :
       {Fault::usage, Fault::spec, Fault::unreachable, Fault::auth, Fault::host_key, Fault::timeout,
        Fault::remote, Fault::parse, Fault::blocked, Fault::interrupted, Fault::bug})
    if (name_of(fault) == name) return fault;
  return std::nullopt;
}

}  // namespace base
