#include "gpuadm/session/ask.hpp"

namespace session {

namespace {

/// A script, after the functions of the library that it calls.
Result<std::string> with_library(std::string script, const assets::Store& assets) {
  if (script.find("\nfind_kubeconfig\n") == std::string::npos) return script;
  return TRY(assets.read("playbooks/kubeconfig.sh")) + "\n" + script;
}

}  // namespace

Result<transport::Command> command_of(const Query& query, const assets::Store& assets) {
  return transport::Command{
      .label = query.label,
      .script = base::assignments(query.variables) + TRY(with_library(TRY(assets.read(query.asset)), assets)),
      .timeout = query.timeout,
      .output = query.output};
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
