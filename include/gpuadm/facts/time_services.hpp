#pragma once

#include <array>

namespace facts {

/// The units of time services. If a host has several, the first of them is started. playbooks/probe.sh asks
/// for each of them.
inline constexpr std::array time_services = {
    "chrony.service", "chronyd.service",  "ntpsec.service",           "ntp.service",
    "ntpd.service",   "openntpd.service", "systemd-timesyncd.service"};

}  // namespace facts
