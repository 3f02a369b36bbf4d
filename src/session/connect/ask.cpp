#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

namespace session {

Result<std::string> script_of(const std::string& asset, const assets::Store& assets) {
  std::string script = TRY(assets.read(asset));
  // A line of it loads a library from the script's folder if it is run by hand.
  for (const char* library :
       {"frame", "kubeconfig", "gpu-users", "static-pods", "processes", "storage", "prelude"})
    if (script.find(base::replace_all(library, "-", "_") + "_is_here") != std::string::npos)
      script = TRY(assets.read(fmt::format("playbooks/{}.sh", library))) + "\n" + script;
  return script;
}

Result<transport::Command> command_of(const Query& query, const assets::Store& assets) {
  const std::string script = TRY(script_of(query.asset, assets));
  transport::Command command{
      .label = query.label, .script = base::assignments(query.variables) + script, .timeout = query.timeout};
  command.api = query.api;
  return command;
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
