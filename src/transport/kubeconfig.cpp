#include "gpuadm/base/shell.hpp"
#include "gpuadm/transport/transport.hpp"

#include <fmt/format.h>

namespace transport {

namespace {

/// Scripts that need only the API, on this machine with the operator's kubeconfig.
class WithKubeconfig final : public Transport {
 public:
  WithKubeconfig(std::unique_ptr<Transport> inner, std::string file, std::string ns)
      : inner_(std::move(inner)), file_(std::move(file)), ns_(std::move(ns)) {}
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
    return inner_->start(std::move(command));
  }
  void interests(std::vector<pollfd>& into) const override { inner_->interests(into); }
  std::optional<base::Instant> wake() const override { return inner_->wake(); }
  Result<std::optional<Exit>> advance() override { return inner_->advance(); }
  void close() override { inner_->close(); }
  std::uint64_t sent() const override { return inner_->sent(); }
  std::string kind() const override { return "kubeconfig (" + inner_->kind() + ")"; }

 private:
  std::unique_ptr<Transport> inner_;
  std::string file_, ns_;
};

}  // namespace

std::unique_ptr<Transport> with_kubeconfig(std::unique_ptr<Transport> local, const spec::Endpoint& endpoint) {
  return std::make_unique<WithKubeconfig>(std::move(local), endpoint.kubeconfig, endpoint.kube_namespace);
}

}  // namespace transport
