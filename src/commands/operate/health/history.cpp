#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/health_state.hpp"
#include "gpuadm/session/connections.hpp"

#include "commands/operate/health/health.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace commands {

namespace {

/// Prints what has changed on every node, in the order of time; with Format::html a page with a timeline of
/// every condition and GPU. Changes nothing.
Result<Outcome> health_history(const HealthOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  for (const spec::Host& host : cluster.hosts)
    fleet->submit(host.name, TRY(session::command_of({.label = "read the history",
                                                      .asset = "playbooks/read/health.sh",
                                                      .variables = {{"what", "history"}}},
                                                     assets)));
  std::vector<cluster::HistoryEntry> entries;
  std::map<std::string, std::string> last;
  std::size_t reached = 0;
  while (const auto completion = fleet->next()) {
    if (!completion->result) {
      io.err(base::printable(completion->result.error().what) + "\n");
      continue;
    }
    ++reached;
    auto history = cluster::read_history(completion->host, completion->result->out);
    if (history.damaged > 0)
      io.err(fmt::format("{}: {} damaged lines of the history are ignored\n",
                         base::printable(completion->host), history.damaged));
    last[completion->host] = history.last;
    std::ranges::move(history.entries, std::back_inserter(entries));
  }
  if (fleet->interrupted())
    return base::fail(base::Fault::interrupted, "interrupted while reading the history");
  // Lines of one node keep their order, also where its clock was set back to the same second.
  std::ranges::stable_sort(entries, {}, &cluster::HistoryEntry::at);
  if (options.format == Format::json)
    io.out(base::json::write(cluster::to_tree(entries)) + "\n");
  else if (options.format == Format::html)
    io.out(report::to_html(cluster::health_timeline(entries, last)));
  else if (entries.empty())
    io.out("no history; nodes have one after gpuadm health enable\n");
  else
    io.out(cluster::history_table(entries, io.out_style.width));
  if (reached == 0) return Outcome::unreachable;
  return reached == cluster.hosts.size() ? Outcome::done : Outcome::failed;
}

}  // namespace

Command health_history_command() {
  return CommandRow<HealthOptions>{
      .name = "health history",
      .group = Group::operate,
      .summary = "Show what has changed on every node, and when; with -o html as a page with timelines",
      .options =
          [](Line& line, HealthOptions& options) {
            add_hosts(line, options.hosts);
            add_format(line, options.format,
                       {{"html", Format::html}, {"json", Format::json}, {"text", Format::text}});
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm health history -f cluster.yaml", "what has changed, and when"}},
      .run = health_history};
}

}  // namespace commands
