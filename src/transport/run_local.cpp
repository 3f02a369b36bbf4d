#include "gpuadm/transport/run_local.hpp"

#include "gpuadm/transport/fleet.hpp"

namespace transport {

base::Result<transport::Exit> run_local(const std::string& label, const base::Variables& variables,
                                        const std::string& script, std::chrono::seconds timeout) {
  const auto session = transport::make_session({}, {});
  transport::Fleet here(1, nullptr);
  here.add("this machine", transport::open(*session, "this machine", {.local = true}));
  here.submit("this machine", {.label = label,
                               .script = base::assignments(variables) + script,
                               .as = transport::As::login,
                               .timeout = timeout});
  const auto completion = here.next();
  if (!completion) return base::fail(base::Fault::interrupted, "interrupted: " + label);
  return completion->result;
}

}  // namespace transport
