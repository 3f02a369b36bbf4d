#include "commands/workloads/notebook/notebook.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/state.hpp"

namespace commands {

using base::Tree;

void add_notebook(Line& line, NotebookOptions& options) {
  line.argument("NAME", options.name, "Name of the notebook").required();
  add_hosts(line, options.hosts);
  add_namespace(line, options.ns);
  add_connection(line, options.common);
}

std::string selector_of_notebook(const NotebookOptions& options) {
  return workload::selector_of(workload::notebook_kind, options.name);
}

std::string shown_notebook(const NotebookOptions& options) {
  return options.ns + "/" + options.name;
}

std::string command_for(const char* verb, const NotebookOptions& options) {
  return notebook_command(verb, options.name, options.ns, options.hosts, options.common.connection);
}

Result<std::unique_ptr<ReachedCluster>> reach_notebook(const NotebookOptions& options, session::Access access,
                                                       Io& io) {
  TRY(workload::check_name("notebook", options.name));
  TRY(workload::check_namespace(options.ns));
  return ReachedCluster::open(options.hosts, options.common, access, io);
}

NotebookVolumes volumes_of(const std::vector<Tree>& objects) {
  NotebookVolumes volumes;
  if (const Tree* claim = object_of(objects, "PersistentVolumeClaim")) {
    volumes.own = base::printable(text_at(*claim, {"metadata", "name"}), 300);
    volumes.size = base::printable(text_at(*claim, {"spec", "resources", "requests", "storage"}), 50);
  }
  for (const workload::WorkloadRow& row : workload::workload_rows(objects))
    if (row.volume != volumes.own) volumes.foreign = row.volume;
  return volumes;
}

}  // namespace commands
