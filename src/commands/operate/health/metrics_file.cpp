#include "commands/operate/health/metrics_file.hpp"

#include "gpuadm/base/files.hpp"

#include "commands/operate/health/node_facts.hpp"

#include <sys/stat.h>

namespace commands {

namespace {

// The folder has nothing else: node-exporter reads all files in it.
constexpr const char *metrics_folder = "/run/gpuadm-health", *metrics_file = "/run/gpuadm-health/node.prom";
constexpr std::size_t most_metrics = 4u << 20;

}  // namespace

base::Result<> write_metrics(const cluster::HealthState& state, const facts::Nvidia* nvidia, bool has_log,
                             std::vector<report::Finding> findings) {
  std::vector<cluster::GpuUser> users;
  if (nvidia) users = gpu_users(*nvidia, "/");
  // The unit's umask would hide it from the service that serves it, which is not root then.
  if (::mkdir(metrics_folder, 0755) == 0) ::chmod(metrics_folder, 0755);
  for (report::Finding& finding : findings) finding.host = state.node;
  return base::write_file(metrics_file, cluster::to_prometheus({state, nvidia, has_log, findings, users}),
                          0644);
}

base::Result<std::string> read_metrics() {
  return base::read_file(metrics_file, most_metrics);
}

}  // namespace commands
