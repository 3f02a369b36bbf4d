#pragma once

#include <array>

namespace facts {

/// Units of time services. If a host has several, a fix starts the first of them. playbooks/probe.sh reads
/// all of them.
inline constexpr std::array time_services = {
    "chrony.service", "chronyd.service",  "ntpsec.service",           "ntp.service",
    "ntpd.service",   "openntpd.service", "systemd-timesyncd.service"};

}  // namespace facts
