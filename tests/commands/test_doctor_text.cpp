#include "commands/inspect/doctor_text.hpp"

#include <doctest/doctest.h>

namespace {

report::Finding finding(const std::string& id, report::Severity severity, const std::string& remedy,
                        bool fixable = false) {
  report::Finding one;
  one.id = id;
  one.severity = severity;
  one.host = "gpu1";
  one.message = "what it found";
  one.remedy = remedy;
  one.fixable = fixable;
  return one;
}

constexpr auto blocker = report::Severity::blocker, warning = report::Severity::warning;

}  // namespace

TEST_CASE("next: is what fixes the first broken link, not what fixes something else") {
  const facts::Census census;
  commands::DoctorOptions options;
  const auto other = finding("host.disk.swap-on", warning, "swapoff -a", true);
  const auto next = [&](const report::Finding& first) {
    return commands::next_command({other, first}, census, options);
  };
  CHECK(next(finding("gpu.health.xid", blocker, "drain the node and reboot")) ==
        "gpuadm explain gpu.health.xid");
  CHECK(next(finding("cl.certs-expiry", blocker, "gpuadm certs renew; then run doctor again")) ==
        "gpuadm certs renew");
  CHECK(next(finding("rt.present", blocker, "runtime.containerd.install")) == "gpuadm init");
  CHECK(next(finding("kernel.sysctl", blocker, "sysctl -w a=b", true)) == "gpuadm doctor --fix");
  options.hosts.file = "lab.yaml";
  CHECK(next(finding("rt.present", blocker, "runtime.containerd.install")) == "gpuadm apply");
  options.from = "recording";
  CHECK(next(finding("rt.present", blocker, "runtime.containerd.install")) == "gpuadm explain rt.present");
  CHECK(commands::next_command({}, census, options).empty());
}
