#include "gpuadm/session/ask.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace session {

namespace {

/// A script, after the libraries whose functions it calls: a line that loads one from the script's folder if
/// it is run by hand.
Result<std::string> with_libraries(std::string script, const assets::Store& assets) {
  for (const char* library : {"frame", "kubeconfig", "gpu-users", "static-pods", "storage", "prelude"})
    if (script.find(base::replace_all(library, "-", "_") + "_is_here") != std::string::npos)
      script = TRY(assets.read(fmt::format("playbooks/{}.sh", library))) + "\n" + script;
  return script;
}

}  // namespace

Result<transport::Command> command_of(const Query& query, const assets::Store& assets) {
  return transport::Command{.label = query.label,
                            .script = base::assignments(query.variables) +
                                      TRY(with_libraries(TRY(assets.read(query.asset)), assets)),
                            .timeout = query.timeout};
}

Result<transport::Exit> ask(const std::string& host, const Query& query, transport::Fleet& fleet,
                            const assets::Store& assets) {
  return ask(host, TRY(command_of(query, assets)), fleet);
}

Result<transport::Exit> ask(const std::string& host, transport::Command command, transport::Fleet& fleet) {
  const std::string label = command.label;
  const bool cleans_up = command.purpose == transport::Purpose::clean_up;
  fleet.submit(host, std::move(command));
  auto completion = fleet.next();
  if (!completion || (fleet.interrupted() && !cleans_up))
    return base::fail(base::Fault::interrupted, "interrupted: " + label);
  return std::move(completion->result);
}

}  // namespace session
