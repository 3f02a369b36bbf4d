#include "gpuadm/base/secret.hpp"

#include <string.h>

namespace base {

void Secret::wipe() noexcept {
  if (!value_.empty()) ::explicit_bzero(value_.data(), value_.size());
  value_.clear();
}

}  // namespace base
