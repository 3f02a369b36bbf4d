#include "gpuadm/base/network.hpp"
#include "gpuadm/base/redact.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/serve.hpp"

#include "commands/workloads/serve/serve.hpp"
#include "commands/workloads/service/verbs.hpp"

#include <fmt/format.h>

#include <optional>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr int most_log_lines = 100'000;
constexpr std::size_t longest_log_line = 4096;

struct ServeLogsOptions {
  NamedService server{.common = {}, .hosts = {}, .name = {}, .kind = workload::serve_kind};
  int lines = 200;
  bool previous = false;  ///< of the container before its last restart
};

Result<std::string> read_log(const std::string& pod, const ServeLogsOptions& options,
                             ReachedCluster& cluster) {
  if (!base::is_dns_name(pod)) return base::fail(Fault::remote, "a pod has an invalid name");
  return cluster.client().raw(fmt::format("/api/v1/namespaces/{}/pods/{}/log?container=server&tailLines={}{}",
                                          options.server.ns, pod, options.lines,
                                          options.previous ? "&previous=true" : ""));
}

/// Prints the last lines of each pod; of several, below the name of the pod.
Result<Outcome> serve_logs(const ServeLogsOptions& options, Io& io) {
  const auto cluster = TRY(reach_service(options.server, session::Access::read_only, io));
  const auto objects = TRY(find_service(*cluster, options.server));
  std::vector<std::string> pods;
  for (const Tree& object : objects)
    if (text_of(object, "kind") == "Pod") pods.push_back(text_at(object, {"metadata", "name"}));
  if (pods.empty())
    return base::fail(Fault::blocked, fmt::format("the {} has no pod", with_noun(options.server)),
                      command_for("start", options.server));
  std::optional<base::Error> failed;
  for (const std::string& pod : pods) {
    auto log = read_log(pod, options, *cluster);
    if (!log && (pods.size() == 1 || log.error().fault == Fault::interrupted))
      return std::unexpected(std::move(log).error());
    if (pods.size() > 1) io.out(fmt::format("{}:\n", base::printable(pod)));
    if (!log) {
      io.err(fmt::format("{}: {}\n", base::printable(pod), base::printable(log.error().what)));
      failed = std::move(log).error();
      continue;
    }
    // An engine may print its settings, and its key with them.
    for (const std::string_view line : base::lines(*log))
      io.out(base::printable(base::text_without_secrets(line), longest_log_line) + "\n");
  }
  return failed ? Outcome::failed : Outcome::done;
}

}  // namespace

Command serve_logs_command() {
  return CommandRow<ServeLogsOptions>{
      .name = "serve logs",
      .group = Group::workloads,
      .summary = "Print the last lines of the engine of a served model",
      .options =
          [](Line& line, ServeLogsOptions& options) {
            add_named(line, options.server);
            line.value("--lines", options.lines, "N", "Lines of each pod (default 200)")
                .range(1, most_log_lines);
            line.flag("--previous", options.previous, "Of the container before its last restart");
          },
      .examples = {{"gpuadm serve logs llama -f cluster.yaml", "what the engine prints"}},
      .run = serve_logs};
}

}  // namespace commands
