#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/serve.hpp"

#include "commands/workloads/serve/load.hpp"
#include "commands/workloads/serve/serve.hpp"
#include "commands/workloads/service/open.hpp"
#include "commands/workloads/service/verbs.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

constexpr int most_clients = 256, most_seconds = 3600, most_tokens = 4096;

struct ServeBenchOptions {
  NamedService server{.common = {}, .hosts = {}, .name = {}, .kind = workload::serve_kind};
  int clients = 4, seconds = 30, tokens = 64;
  Format format = Format::text;
  std::chrono::seconds timeout{600};
};

/// Sends completions, and prints what clients see.
Result<Outcome> serve_bench(const ServeBenchOptions& options, Io& io) {
  const NamedService& service = options.server;
  const auto cluster = TRY(reach_service(service, session::Access::read_only, io));
  TRY(await_service(service, options.timeout, *cluster, io));
  const auto objects = TRY(find_service(*cluster, service));
  const ServedModel served = served_model(*TRY(deployment_of(objects, service)));
  const base::Secret key = TRY(read_api_key(*cluster, service, served.api));
  const OpenService open =
      TRY(reach_endpoint(*cluster, TRY(endpoint_of(objects, service)), 0, served.health));
  if (io.err_style.verbosity != report::Verbosity::quiet)
    io.err(fmt::format("sending completions for {}s\n", options.seconds));
  const Load load = TRY(measure_load({open.address, open.port, service.name, key}, options.clients,
                                     std::chrono::seconds(options.seconds), options.tokens,
                                     cluster->connections().interrupt()));
  io.out(options.format == Format::json ? base::json::write(to_tree(load)) + "\n" : to_text(load));
  return load.requests > 0 && load.errors == 0 ? Outcome::done : Outcome::failed;
}

}  // namespace

Command serve_bench_command() {
  return CommandRow<ServeBenchOptions>{
      .name = "serve bench",
      .group = Group::workloads,
      .summary =
          "Send completions to a served model, and measure tokens a second and times to the first token",
      .options =
          [](Line& line, ServeBenchOptions& options) {
            add_named(line, options.server);
            line.value("--clients", options.clients, "N",
                       "Clients, each with one request at a time (default 4)")
                .range(1, most_clients);
            line.value("--seconds", options.seconds, "SECONDS", "Duration (default 30)")
                .range(1, most_seconds);
            line.value("--tokens", options.tokens, "TOKENS", "Tokens of each answer (default 64)")
                .range(1, most_tokens);
            add_format(line, options.format);
            add_wait_timeout(line, options.timeout,
                             "Time limit until it is ready, if it is starting (default 600)");
          },
      .examples = {{"gpuadm serve bench llama --clients 16 --seconds 60 -f cluster.yaml",
                    "16 requests at a time for one minute"}},
      .run = serve_bench};
}

}  // namespace commands
