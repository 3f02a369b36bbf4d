#pragma once

/// Recommended limits: for the checks' advice and for playbooks/base/limits.yaml, which
/// tests/rules/limits-agree.sh compares. The kernel's defaults are 128 instances (inotify(7)) and 65530 maps
/// (admin-guide/sysctl/vm).
namespace checks {

inline constexpr long long inotify_instances = 8192, inotify_watches = 524288, memory_maps = 1048576;

/// The remedy for the two inotify limits, with the numbers above.
inline constexpr const char* raise_inotify =
    "sysctl -w fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=524288 | tee -a "
    "/etc/sysctl.d/99-gpuadm.conf";

}  // namespace checks
