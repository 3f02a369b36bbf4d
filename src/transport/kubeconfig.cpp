#include "gpuadm/base/shell.hpp"

#include "transport/wrapped.hpp"

#include <fmt/format.h>

namespace transport {

namespace {

/// Scripts that need only the API, on this machine with the operator's kubeconfig.
class WithKubeconfig final : public Wrapped {
 public:
  WithKubeconfig(std::unique_ptr<Transport> inner, std::string file, std::string ns)
      : Wrapped(std::move(inner), "kubeconfig"), file_(std::move(file)), ns_(std::move(ns)) {}
  Result<void> start(Command command) override {
    if (!command.api)
      return base::fail(
          base::Fault::usage,
          fmt::format("cannot {}: this needs the hosts of the cluster, and a kubeconfig has only "
                      "its API",
                      command.label),
          "an administrator can do this over SSH: -f FILE or hosts instead of --kubeconfig");
    command.as = As::login;
    command.script =
        base::assignments({{"client_kubeconfig", file_}, {"client_namespace", ns_}}) + command.script.text();
    return Wrapped::start(std::move(command));
  }

 private:
  std::string file_, ns_;
};

}  // namespace

std::unique_ptr<Transport> with_kubeconfig(std::unique_ptr<Transport> local, const spec::Endpoint& endpoint) {
  return std::make_unique<WithKubeconfig>(std::move(local), endpoint.kubeconfig, endpoint.kube_namespace);
}

}  // namespace transport
