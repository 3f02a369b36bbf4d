#include "gpuadm/base/json.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/shared_options.hpp"

namespace commands {

namespace {

struct ExplainPodOptions {
  Common common;
  Hosts hosts;
  std::string pod;  ///< "[NAMESPACE/]NAME" of a pod, notebook, training job or controller
  Format format = Format::text;
};

/// Prints the first broken link between the creation of a pod and its work (docs/howto/pod-does-not-run.md).
/// Changes nothing. Outcome::failed if the pod neither runs nor has completed. Fault::usage if nothing has
/// the name, with the nearest, or if no host is a control-plane node.
Result<Outcome> explain_named_pod(const ExplainPodOptions& options, Io& io) {
  const kube::PodName name = TRY(kube::parse_pod_name(options.pod));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  // Without kubectl there is no answer to parse.
  if (!options.common.connection.kubeconfig.empty())
    TRY(session::ClusterClient::open(cluster, *fleet, assets));
  kube::PodExplanation explanation = TRY(explain_pod(cluster, name, *fleet, assets));
  // Suggested commands get the arguments that select the same hosts.
  const std::string rest = session::typed({options.hosts.file, {}}, options.common.connection);
  for (kube::PodLink& link : explanation.links)
    if (link.fix.starts_with("gpuadm ") && link.fix.find_first_of(",;") == std::string::npos &&
        link.fix.find(" -f ") == std::string::npos)
      link.fix += rest;
  io.out(options.format == Format::json ? base::json::write(to_tree(explanation)) + "\n"
                                        : to_text(explanation, io.out_style.width));
  return explanation.is_well() ? Outcome::done : Outcome::failed;
}

}  // namespace

Command explain_pod_command() {
  return CommandRow<ExplainPodOptions>{
      .name = "explain pod",
      .group = Group::inspect,
      .summary = "Explain why a pod, notebook or training job does not run",
      .options =
          [](Line& line, ExplainPodOptions& options) {
            line.argument("POD", options.pod, "Name of a pod, notebook, training job or controller")
                .required();
            add_hosts(line, options.hosts);
            add_kubeconfig(line, options.common);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm explain pod team/trainer-0 -f cluster.yaml", "one pod"},
                   {"gpuadm explain pod anna -f cluster.yaml -o json", "a notebook, for another program"}},
      .run = explain_named_pod};
}

}  // namespace commands
