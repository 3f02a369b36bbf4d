#pragma once

#include "gpuadm/facts/kubernetes.hpp"

namespace checks {

/// "it is valid from 2026-11-21, and the host's clock says 2023-11-14", if a certificate is not yet valid at
/// this time, in seconds since 1970; empty: it is, or nothing says that it is not. Where its begin was not
/// read, one that is valid for longer than kubeadm makes it, a year and ten for authorities
/// (https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-certs/), is named with that reason.
[[nodiscard]] std::string not_yet_valid(const facts::Certificate& certificate, double now);
/// The remedy.
constexpr const char* set_clock =
    "set the clock: systemctl enable --now systemd-timesyncd (or chrony), and allow outgoing UDP 123";

}  // namespace checks
