#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/facts/facts.hpp"

namespace session {

/// Fault::blocked if a certificate that a node needs has expired by its host's own clock: a control plane's,
/// or a kubelet's. Otherwise the run would fail at the first access to the API server.
[[nodiscard]] base::Result<> refuse_expired(const facts::Census& census);

}  // namespace session
