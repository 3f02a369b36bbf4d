#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/serve.hpp"
#include "gpuadm/workload/state.hpp"

#include "commands/workloads/serve/key_file.hpp"
#include "commands/workloads/serve/serve.hpp"
#include "commands/workloads/service/open.hpp"
#include "commands/workloads/service/verbs.hpp"

#include <fmt/format.h>

#include <system_error>

namespace commands {

namespace {

using base::Tree;

struct ServeOptions {
  NamedService server{.common = {}, .hosts = {}, .name = {}, .kind = workload::serve_kind};
  Format format = Format::text;
  std::uint16_t port = 0;  ///< of the tunnel on this machine; 0: any that is free
  std::chrono::seconds timeout{7200};
};

struct ServeDeleteOptions : ServiceDeleteOptions {
  ServeDeleteOptions() { service.kind = workload::serve_kind; }
};

std::string kept_of_model(const ServiceVolumes& volumes) {
  return volumes.own.empty() ? "its key is kept"
                             : fmt::format("its key, and its cache on the volume {}, are kept", volumes.own);
}

Result<Outcome> serve_stop(const ServeOptions& options, Io& io) {
  return stop_service(options.server, kept_of_model, io);
}

Result<Outcome> serve_start(const ServeOptions& options, Io& io) {
  const NamedService& service = options.server;
  const auto cluster = TRY(reach_service(service, session::Access::full, io));
  const std::string node = TRY(start_service(service, options.timeout, *cluster, io));
  io.out(fmt::format("the {} is ready on {}\n  {}\n", with_noun(service), base::printable(node),
                     command_for("url", service)));
  return Outcome::done;
}

Result<Outcome> serve_url(const ServeOptions& options, Io& io) {
  const auto cluster = TRY(reach_service(options.server, session::Access::read_only, io));
  TRY(await_service(options.server, options.timeout, *cluster, io));
  return open_model(*cluster, options.server, options.port, io);
}

Result<Outcome> serve_delete(const ServeDeleteOptions& options, Io& io) {
  const Outcome outcome = TRY(delete_service(options, io));
  const spec::Cluster cluster =
      TRY(session::read_cluster(options.service.hosts, options.service.common.connection));
  std::error_code error;
  std::filesystem::remove(key_file_of(options.service, cluster.name), error);
  return outcome;
}

Tree tree_of(const workload::WorkloadRow& row, const ServedModel& served, const std::string& digests,
             const ServiceEndpoint& endpoint) {
  return Tree::map_of({{"name", row.name},
                       {"namespace", row.ns},
                       {"state", row.state},
                       {"why", row.why},
                       {"model", served.model},
                       {"commit", served.commit},
                       {"modelSha256", served.digest},
                       {"engine", served.engine},
                       {"api", served.api.api},
                       {"key", served.api.no_key.empty() ? "" : "none: " + served.api.no_key},
                       {"metrics", served.metrics},
                       {"image", served.image},
                       {"imageDigest", digests},
                       {"gpus", served.gpus},
                       {"replicas", served.replicas > 0 ? static_cast<int>(served.replicas) : 1},
                       {"node", row.node},
                       {"volume", row.volume},
                       {"address", with_port(endpoint.address, endpoint.port)},
                       {"nodePort", int{endpoint.node_port}}});
}

/// Prints what is served, by what, and how it is reached.
Result<Outcome> serve_show(const ServeOptions& options, Io& io) {
  const NamedService& service = options.server;
  const auto cluster = TRY(reach_service(service, session::Access::read_only, io));
  const auto objects = TRY(find_service(*cluster, service));
  const ServedModel served = served_model(*TRY(deployment_of(objects, service)));
  const ServiceEndpoint endpoint = TRY(endpoint_of(objects, service));
  workload::WorkloadRow row;
  for (workload::WorkloadRow& one : workload::workload_rows(objects)) row = std::move(one);
  const Tree tree = tree_of(row, served, image_digests(objects), endpoint);
  if (options.format == Format::json) {
    io.out(base::json::write(tree) + "\n");
    return Outcome::done;
  }
  std::size_t width = 0;
  for (const auto& [name, value] : tree.entries()) width = std::max(width, name.size());
  for (const auto& [name, value] : tree.entries())
    if (const std::string text = value.text(); !text.empty())
      io.out(fmt::format("{:<{}}  {}\n", name, width, text));
  return Outcome::done;
}

void add_serve(Line& line, ServeOptions& options) {
  add_named(line, options.server);
}

}  // namespace

Command serve_show_command() {
  return CommandRow<ServeOptions>{
      .name = "serve show",
      .group = Group::workloads,
      .summary = "Show what is served: model, engine, digests, GPUs, node, address and state",
      .options =
          [](Line& line, ServeOptions& options) {
            add_serve(line, options);
            add_format(line, options.format);
          },
      .examples = {{"gpuadm serve show llama -f cluster.yaml", "one line for each property"}},
      .run = serve_show};
}

Command serve_url_command() {
  return CommandRow<ServeOptions>{
      .name = "serve url",
      .group = Group::workloads,
      .summary =
          "Print the address and the key file of a served model, and keep a tunnel to it open until "
          "Ctrl-C",
      .options =
          [](Line& line, ServeOptions& options) {
            add_serve(line, options);
            line.value("--local-port", options.port, "PORT",
                       "Port on this machine (default: any that is free)")
                .range(1, 65535);
            add_wait_timeout(line, options.timeout,
                             "Time limit until it is ready, if it is starting (default 7200)");
          },
      .examples = {{"gpuadm serve url llama -f cluster.yaml", "until Ctrl-C"}},
      .run = serve_url};
}

Command serve_stop_command() {
  return CommandRow<ServeOptions>{
      .name = "serve stop",
      .group = Group::workloads,
      .summary = "Stop a served model: its GPUs are free, its cache and its key are kept",
      .options = add_serve,
      .examples = {{"gpuadm serve stop llama -f cluster.yaml", "frees its GPUs"}},
      .run = serve_stop};
}

Command serve_start_command() {
  return CommandRow<ServeOptions>{
      .name = "serve start",
      .group = Group::workloads,
      .summary = "Start a stopped served model",
      .options =
          [](Line& line, ServeOptions& options) {
            add_serve(line, options);
            add_wait_timeout(line, options.timeout, "Time limit until it is ready (default 7200)");
          },
      .examples = {{"gpuadm serve start llama -f cluster.yaml", "with the same key"}},
      .run = serve_start};
}

Command serve_delete_command() {
  return CommandRow<ServeDeleteOptions>{
      .name = "serve delete",
      .group = Group::workloads,
      .summary = "Delete a served model with its key, and its volume if you confirm it",
      .options = [](Line& line, ServeDeleteOptions& options) { add_service_delete(line, options); },
      .examples = {{"gpuadm serve delete llama -f cluster.yaml", "asks before it deletes the volume"},
                   {"gpuadm serve delete llama -f cluster.yaml --keep-volume", "never deletes the volume"}},
      .run = serve_delete};
}

}  // namespace commands
