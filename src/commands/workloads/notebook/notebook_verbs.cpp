#include "gpuadm/base/text.hpp"

#include "commands/workloads/notebook/notebook.hpp"
#include "commands/workloads/service/open.hpp"
#include "commands/workloads/service/verbs.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

std::string kept(const ServiceVolumes& volumes) {
  const std::string& volume = volumes.own.empty() ? volumes.foreign : volumes.own;
  return volume.empty() ? "it had no volume for files" : "its files are kept on the volume " + volume;
}

Result<Outcome> notebook_stop(const NamedService& notebook, Io& io) {
  return stop_service(notebook, kept, io);
}

}  // namespace

Result<Outcome> open_notebook(ReachedCluster& cluster, const NamedService& notebook, std::uint16_t port,
                              Io& io) {
  const base::Secret token = TRY(read_key(cluster, notebook, "token"));
  // "/" leads to the start page of the image: /lab, or /tree of older versions.
  const auto show = [&](const std::string& address) {
    return fmt::format("http://{}/?token={}\n", address, token.reveal());
  };
  return open_service(cluster, notebook, {.port = port, .health = "/api", .show = show}, io);
}

Result<Outcome> notebook_url(const NotebookUrlOptions& options, Io& io) {
  const auto cluster = TRY(reach_service(options.notebook, session::Access::read_only, io));
  TRY(await_service(options.notebook, options.timeout, *cluster, io));
  return open_notebook(*cluster, options.notebook, options.port, io);
}

Result<Outcome> notebook_start(const NotebookStartOptions& options, Io& io) {
  const auto cluster = TRY(reach_service(options.notebook, session::Access::full, io));
  const std::string node = TRY(start_service(options.notebook, options.timeout, *cluster, io));
  io.out(fmt::format("the {} is ready on {}\n  {}\n", with_noun(options.notebook), base::printable(node),
                     command_for("url", options.notebook)));
  return Outcome::done;
}

Command notebook_url_command() {
  return CommandRow<NotebookUrlOptions>{
      .name = "notebook url",
      .group = Group::workloads,
      .summary = "Print the address of a notebook with its token, and keep a tunnel to it open until Ctrl-C",
      .options =
          [](Line& line, NotebookUrlOptions& options) {
            add_named(line, options.notebook);
            line.value("--local-port", options.port, "PORT",
                       "Port on this machine (default: any that is free)")
                .range(1, 65535);
            add_wait_timeout(line, options.timeout,
                             "Time limit until it is ready, if it is starting (default 600)");
          },
      .examples = {{"gpuadm notebook url anna -f cluster.yaml", "until Ctrl-C"}},
      .run = notebook_url};
}

Command notebook_stop_command() {
  return CommandRow<NamedService>{
      .name = "notebook stop",
      .group = Group::workloads,
      .summary = "Stop a notebook: its GPUs are free, its volume is kept",
      .options = add_named,
      .examples = {{"gpuadm notebook stop anna -f cluster.yaml", "frees its GPUs"}},
      .run = notebook_stop};
}

Command notebook_start_command() {
  return CommandRow<NotebookStartOptions>{
      .name = "notebook start",
      .group = Group::workloads,
      .summary = "Start a stopped notebook",
      .options =
          [](Line& line, NotebookStartOptions& options) {
            add_named(line, options.notebook);
            add_wait_timeout(line, options.timeout, "Time limit until it is ready (default 1800)");
          },
      .examples = {{"gpuadm notebook start anna -f cluster.yaml", "with the same files"}},
      .run = notebook_start};
}

Command notebook_delete_command() {
  return CommandRow<ServiceDeleteOptions>{
      .name = "notebook delete",
      .group = Group::workloads,
      .summary = "Delete a notebook, and its volume if you confirm it",
      .options = add_service_delete,
      .examples = {{"gpuadm notebook delete anna -f cluster.yaml", "asks before it deletes the volume"},
                   {"gpuadm notebook delete anna -f cluster.yaml --keep-volume", "never deletes the volume"}},
      .run = delete_service};
}

}  // namespace commands
