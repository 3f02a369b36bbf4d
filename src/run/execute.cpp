#include "gpuadm/run/run.hpp"

#include "run/executor.hpp"
#include "run/preview.hpp"

namespace run {

Outcome execute(const plan::Plan& plan, transport::Fleet& fleet, report::Reporter& reporter, Mode mode,
                const Identity& who, Outcome so_far, Reboots reboots, const Judge& judge) {
  if (mode == Mode::preview) return preview(plan, fleet, reporter, who);
  return Executor(plan, fleet, reporter, who, std::move(so_far), reboots, judge).run();
}

}  // namespace run
