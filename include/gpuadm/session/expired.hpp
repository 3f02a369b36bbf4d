#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/facts/facts.hpp"

namespace session {

/// Fault::blocked where a certificate that a node needs has expired by its host's own clock: a control
/// plane's, or that of a kubelet. Whatever speaks with the API server would fail in the middle of a run.
[[nodiscard]] base::Result<> refuse_expired(const facts::Census& census);

}  // namespace session
