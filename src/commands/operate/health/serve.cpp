#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/http/text_server.hpp"

#include "commands/operate/health/health.hpp"
#include "commands/operate/health/health_options.hpp"
#include "commands/operate/health/metrics_file.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace commands {

namespace {

struct HealthServeOptions {
  Common common;
  MetricsPlace listen = MetricsPlace::loopback;
  std::string address, node;  ///< of this machine, for MetricsPlace::node: its certificate is for both
  int port = metrics_port;
};

using base::Fault;

constexpr const char *key_file = "/var/lib/gpuadm/health/tls.key",
                     *certificate_file = "/var/lib/gpuadm/health/tls.crt";
constexpr id_t nobody = 65534;

Result<http::Endpoint> endpoint_of(const HealthServeOptions& options) {
  const auto port = static_cast<std::uint16_t>(options.port);
  if (options.listen != MetricsPlace::node) return http::Endpoint{"127.0.0.1", port, {}, {}};
  const auto address = base::Cidr::parse(options.address);
  if (!address || options.address.contains('/'))
    return base::fail(Fault::usage, fmt::format("invalid address: {}", base::printable(options.address, 80)),
                      "use the node's address in kubectl get nodes -o wide");
  if (!base::is_dns_name(options.node))
    return base::fail(Fault::usage, fmt::format("invalid node name: {}", base::printable(options.node, 80)),
                      "use the name in kubectl get nodes");
  return http::Endpoint{options.address, port, certificate_file, key_file};
}

/// The port is open and the key is read: what clients send is read without any right.
Result<> become_nobody() {
  if (::geteuid() != 0) return {};
  if (::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
      ::setresuid(nobody, nobody, nobody) == 0 && ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::setuid(0) != 0)
    return {};
  return base::fail(Fault::usage, fmt::format("cannot become the user nobody: {}", std::strerror(errno)),
                    "start it as another user than root");
}

/// Serves the metrics of the last run under /metrics until SIGTERM, as the user nobody if root starts it.
/// With TLS, with a key of its own, which is made at the first start.
Result<Outcome> health_serve(const HealthServeOptions& options, Io& io) {
  const http::Endpoint endpoint = TRY(endpoint_of(options));
  if (!endpoint.key.empty()) TRY(http::ensure_certificate(endpoint, options.node));
  http::TextServer server = TRY(http::TextServer::open(endpoint));
  TRY(become_nobody());
  io.out(fmt::format("serving {}://{}:{}/metrics\n", endpoint.key.empty() ? "http" : "https",
                     base::in_brackets(endpoint.address), endpoint.port));
  TRY(server.serve("/metrics", read_metrics));
  return Outcome::done;
}

}  // namespace

Command health_serve_command() {
  return CommandRow<HealthServeOptions>{
      .name = "health serve",
      .group = Group::operate,
      .summary = "Serve the metrics of this node's last run under /metrics, until SIGTERM",
      .options =
          [](Line& line, HealthServeOptions& options) {
            line.assets(options.common.assets);
            line.choice<MetricsPlace, MetricsPlace>(
                "--listen", options.listen,
                {{"loopback", MetricsPlace::loopback}, {"node", MetricsPlace::node}},
                "Over HTTP on 127.0.0.1, or over TLS on --address (default loopback)");
            line.value("--address", options.address, "ADDRESS", "Address of this machine");
            line.value("--node", options.node, "NAME",
                       "Name of this machine's Node object, for the certificate");
            add_metrics_port(line, "--port", options.port);
          },
      .examples = {{"gpuadm health serve --port 9440", "on 127.0.0.1, as the service does"}},
      .run = health_serve};
}

}  // namespace commands
