#pragma once

#include "gpuadm/workload/notebook.hpp"

#include "commands/app.hpp"

#include <chrono>
#include <cstdint>
#include <string>

/// `gpuadm notebook`, `gpuadm workload`: what people run on a cluster.
namespace commands {

struct NotebookCreateOptions {
  Common common;
  Hosts hosts;
  workload::NotebookRequest request;
  bool yaml = false;     ///< print the objects instead of creating them
  bool offline = false;  ///< with `yaml`: connect to no host
  bool keep = false;     ///< keep the objects if it does not become ready
  bool tunnel = false;   ///< open a tunnel once it is ready
  std::chrono::seconds patience{1800};
};
/// Creates a notebook, waits until its web server responds, and shows how to open it. If it does not become
/// ready, or after Ctrl-C, deletes what was created: Outcome::failed or interrupted. Fault::blocked, with
/// nothing created, if the name is taken or the GPUs are not free.
[[nodiscard]] Result<Outcome> notebook_create(const NotebookCreateOptions& options, Io& io);

/// A notebook that exists.
struct NotebookOptions {
  Common common;
  Hosts hosts;
  std::string name, space = "default";
};

struct NotebookUrlOptions {
  NotebookOptions notebook;
  std::uint16_t port = 0;  ///< of the tunnel on this machine; 0: any that is free
  std::chrono::seconds patience{600};
};
/// Prints its address with the token, and keeps a tunnel to it open until Ctrl-C, unless it is reachable
/// without one. Waits for a notebook that is starting.
[[nodiscard]] Result<Outcome> notebook_url(const NotebookUrlOptions& options, Io& io);

struct NotebookStartOptions {
  NotebookOptions notebook;
  std::chrono::seconds patience{1800};
};
/// Starts a stopped notebook, and waits until it is ready. Outcome::failed, and stopped again, if it does not
/// start.
[[nodiscard]] Result<Outcome> notebook_start(const NotebookStartOptions& options, Io& io);
/// Ends its pod, so that its GPUs are free. The volume is kept.
[[nodiscard]] Result<Outcome> notebook_stop(const NotebookOptions& options, Io& io);

/// The volume of a notebook that is deleted.
enum class VolumeFate { ask, keep, purge };
struct NotebookDeleteOptions {
  NotebookOptions notebook;
  VolumeFate volume = VolumeFate::ask;
};
/// Deletes a notebook. Fault::usage, with nothing deleted, if the volume needs a decision and there is no
/// terminal.
[[nodiscard]] Result<Outcome> notebook_delete(const NotebookDeleteOptions& options, Io& io);

struct WorkloadListOptions {
  Common common;
  Hosts hosts;
  std::string space;  ///< empty: all
  std::string kind;   ///< empty: all
  Format format = Format::text;
};
/// Prints one line per workload that gpuadm created.
[[nodiscard]] Result<Outcome> workload_list(const WorkloadListOptions& options, Io& io);

}  // namespace commands
