#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/columns.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/queue.hpp"
#include "gpuadm/workload/service_pod.hpp"
#include "gpuadm/workload/state.hpp"

#include "commands/shared_options.hpp"
#include "commands/workloads/reach.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

struct WorkloadListOptions {
  Common common;
  Hosts hosts;
  std::string ns;    ///< empty: all
  std::string kind;  ///< empty: all
  Format format = Format::text;
};

using workload::WorkloadRow;

std::string to_text(const std::vector<WorkloadRow>& rows, std::size_t width) {
  std::vector<std::vector<std::string>> lines = {
      {"KIND", "NAMESPACE", "NAME", "GPUS", "NODE", "AGE", "STATE"}};
  const base::Time now = base::now();
  for (const WorkloadRow& row : rows)
    lines.push_back({row.kind, row.ns, row.name, row.gpus, row.node, workload::age_of(row, now),
                     row.state + (row.why.empty() ? "" : ": " + row.why)});
  const std::size_t last = lines.front().size() - 1;
  return report::columns(std::move(lines), width, {last});
}

/// Prints one line per workload that gpuadm created.
Result<Outcome> workload_list(const WorkloadListOptions& options, Io& io) {
  if (!options.ns.empty()) TRY(workload::check_namespace(options.ns));
  const auto cluster =
      TRY(ReachedCluster::open(options.hosts, options.common, session::Access::read_only, io));
  const auto objects = TRY(cluster->client().get({.kinds = workload::workload_kinds(),
                                                  .ns = options.ns,
                                                  .selector = workload::selector_of(options.kind)}));
  std::vector<WorkloadRow> rows = workload::workload_rows(objects);
  if (workload::has_queued(objects)) {
    const bool is_limited = cluster->client().is_limited();
    workload::add_places(
        rows, objects,
        workload::queued_jobs(TRY(cluster->client().get({.kinds = workload::place_kinds(),
                                                         .ns = is_limited ? options.ns : std::string(),
                                                         .selector = {}}))));
  }
  if (options.kind.empty()) {
    const facts::ClusterFacts view = TRY(cluster->client().read_nodes_and_pods());
    for (WorkloadRow& row : workload::other_gpu_rows(view, objects))
      if (options.ns.empty() || row.ns == options.ns) rows.push_back(std::move(row));
  }
  if (options.format == Format::json)
    io.out(base::json::write(workload::to_tree(rows)) + "\n");
  else if (rows.empty())
    io.err(
        fmt::format("there are no {}{}\n",
                    options.kind.empty() ? "workloads" : std::string(workload::noun_of(options.kind)) + "s",
                    options.ns.empty() ? "" : " in the namespace " + options.ns));
  else
    io.out(to_text(rows, io.out_style.width));
  return Outcome::done;
}

void add_workload_list(Line& line, WorkloadListOptions& options) {
  add_hosts(line, options.hosts);
  add_access(line, options.common, options.ns,
             "Only this namespace (default: all, with --kubeconfig that of its context)");
  add_format(line, options.format);
  add_connection(line, options.common);
}

}  // namespace

Command workload_list_command() {
  return CommandRow<WorkloadListOptions>{
      .name = "workload list",
      .group = Group::workloads,
      .summary = "List notebooks, served models, training jobs and storage claims that gpuadm created",
      .options = add_workload_list,
      .examples = {{"gpuadm workload list -f cluster.yaml", "what runs where"}},
      .run = workload_list};
}

Command notebook_list_command() {
  return CommandRow<WorkloadListOptions>{
      .name = "notebook list",
      .group = Group::workloads,
      .summary = "List notebooks with their GPUs, node and state",
      .options =
          [](Line& line, WorkloadListOptions& options) {
            options.kind = "notebook";
            add_workload_list(line, options);
          },
      .examples = {{"gpuadm notebook list -f cluster.yaml", "of all namespaces"}},
      .run = workload_list};
}

Command serve_list_command() {
  return CommandRow<WorkloadListOptions>{
      .name = "serve list",
      .group = Group::workloads,
      .summary = "List served models with their GPUs, node and state",
      .options =
          [](Line& line, WorkloadListOptions& options) {
            options.kind = workload::serve_kind;
            add_workload_list(line, options);
          },
      .examples = {{"gpuadm serve list -f cluster.yaml", "of all namespaces"}},
      .run = workload_list};
}

}  // namespace commands
