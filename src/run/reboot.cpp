#include "run/reboot.hpp"

#include "gpuadm/base/text.hpp"

#include "run/program.hpp"

#include <fmt/format.h>

namespace run {

namespace {

using base::Fault;

constexpr std::chrono::seconds margin{30};   // for a program, in addition to its own limit
constexpr std::chrono::seconds leaving{5};   // until a rebooting host is polled
constexpr std::chrono::seconds interval{3};  // between polls

}  // namespace

std::optional<transport::Command> Reboot::next(const std::string& prelude, const Identity& who,
                                               base::Instant now) {
  if (asked_ || now < wake_) return std::nullopt;
  asked_ = true;
  transport::Command command;
  command.effect = transport::Effect::changes;
  if (begun_) {
    command.label = "check whether the host is up";
    command.script = rebooted_program(step_, prelude, who, boot_);
    command.timeout = boot_timeout + margin;
  } else {
    begun_ = true;
    command.label = "reboot the host";
    command.script = reboot_program(step_, prelude, who, reboot_timeout);
    command.timeout = margin;
  }
  return command;
}

Result<bool> Reboot::heard(const transport::Completion& completion, base::Instant now) {
  asked_ = false;
  const auto& result = completion.result;
  if (boot_.empty() && !result) return std::unexpected(result.error());
  if (boot_.empty()) return answered(completion.host, *result, now);
  if (!result && result.error().fault == Fault::interrupted) return std::unexpected(result.error());
  if (result && result->status != 0)
    return base::fail(Fault::remote, "after the reboot: " + base::tail(result->err, 3),
                      "fix this, then run the same command again to continue");
  if (result && !base::trim(result->out).empty() && base::trim(result->out) != boot_) return true;
  last_ = result ? "the host did not reboot" : result.error().what;
  if (now >= until_)
    return base::fail(
        Fault::timeout,
        fmt::format("the host is not up {}s after its reboot: {}", reboot_timeout.count(), last_),
        "check its console; when it is up, run the same command again to continue");
  wake_ = now + interval;
  return false;
}

Result<bool> Reboot::answered(const std::string& host, const transport::Exit& exit, base::Instant now) {
  if (exit.status == own_host_resumes)
    return base::fail(Fault::blocked,
                      "it must be rebooted, and gpuadm runs on it: gpuadm continues at the next boot");
  if (exit.status == own_host)
    return base::fail(Fault::blocked, "it must be rebooted, and gpuadm runs on it",
                      fmt::format("run systemctl reboot on {}, then the same command again to continue",
                                  base::printable(host)));
  boot_ = base::trim(exit.out);
  if (exit.status != 0 || boot_.empty())
    return base::fail(Fault::remote, "it could not be rebooted: " + base::tail(exit.err, 3));
  until_ = now + reboot_timeout;
  wake_ = now + leaving;
  return false;
}

}  // namespace run
