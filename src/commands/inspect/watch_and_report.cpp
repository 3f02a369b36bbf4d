#include "commands/inspect/watch_and_report.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_folder.hpp"
#include "gpuadm/session/watch.hpp"

#include <fmt/format.h>

#include <deque>

namespace commands {

namespace {

using base::Fault;
using report::Change;
using report::Finding;

constexpr std::size_t remembered = 6;  // changes shown on the page

Result<> goes_with(const DoctorOptions& options) {
  if (!options.from.empty() || options.demo)
    return base::fail(Fault::usage, "--watch cannot be combined with a recording",
                      "omit --from, --demo or --watch");
  if (options.fix)
    return base::fail(Fault::usage, "--watch cannot be combined with --fix",
                      "run gpuadm doctor --fix first, then --watch");
  if (!options.record.empty())
    return base::fail(Fault::usage, "--watch cannot be combined with --record",
                      "gpuadm doctor --record DIR without --watch");
  if (options.format != Format::text && options.format != Format::json)
    return base::fail(Fault::usage, "--watch cannot be combined with this output format",
                      "use -o json, or run gpuadm doctor from a timer");
  return {};
}

/// A page for a terminal: the last changes, then the current state.
class WatchPage {
 public:
  WatchPage(const std::string& cluster, int every, Io& io) : cluster_(cluster), every_(every), io_(io) {}
  ~WatchPage() { io_.end_page(); }
  WatchPage(const WatchPage&) = delete;
  WatchPage& operator=(const WatchPage&) = delete;

  void show(std::span<const Change> changes, const std::vector<Finding>& findings) {
    for (const Change& change : changes) {
      // The findings of the first survey are listed below.
      if (started_) last_.push_front(report::to_text(change, io_.out_style));
      if (last_.size() > remembered) last_.pop_back();
    }
    if (!changes.empty() || !findings.empty()) started_ = true;
    const std::string report =
        started_ ? report::details(findings, io_.out_style) : "waiting for the first result\n";
    // The summary is above lines that may not fit.
    const std::size_t last_line = report.rfind('\n', report.size() - 2) + 1;
    const std::string first = started_ ? report::headline(findings, io_.out_style) + "\n" : "";
    std::string text = fmt::format("gpuadm doctor: {}, every {}s, last {}; Ctrl-C to stop\n{}{}\n",
                                   base::printable(cluster_), every_,
                                   base::iso8601(base::now()).substr(11, 8), first, report.substr(last_line));
    for (const std::string& line : last_) text += line + "\n";
    if (!last_.empty()) text += "\n";
    io_.page(text + report.substr(0, last_line));
  }

 private:
  const std::string& cluster_;
  int every_;
  Io& io_;
  bool started_ = false;
  std::deque<std::string> last_;
};

}  // namespace

Result<Outcome> watch_and_report(const DoctorOptions& options, const assets::Store& assets,
                                 const session::Judge& judge, Io& io) {
  TRY(goes_with(options));
  session::ClusterSurvey recording{
      TRY(session::read_cluster(options.hosts, options.common.connection)), {}, {}};
  const auto connections = TRY(session::Connections::open(recording.cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  std::vector<Finding> last;
  std::optional<WatchPage> page;
  if (io.page && options.format == Format::text) page.emplace(recording.cluster.name, options.watch, io);
  session::Watcher watcher{.every = std::chrono::seconds(options.watch),
                           .view = options.stage == "cluster",
                           .reasons = options.stage.empty() || options.stage == "node"
                                          ? session::Reasons::read
                                          : session::Reasons::skipped,
                           .judge = judge,
                           .notify = {}};
  watcher.notify = [&](std::span<const Change> changes, const std::vector<Finding>& findings) {
    if (!changes.empty()) last = findings;
    if (page) return page->show(changes, findings);
    for (const Change& change : changes)
      io.out((options.format == Format::json ? base::json::write(report::to_tree(change), 0)
                                             : report::to_text(change, io.out_style)) +
             "\n");
  };
  const auto watched = session::watch(recording, *fleet, assets, watcher);
  page.reset();
  TRY(watched);
  const session::RunFolder folder = TRY(session::RunFolder::make(recording.cluster.name));
  TRY(folder.save_results(recording.cluster, recording.survey.census, last));
  return Outcome::interrupted;
}

}  // namespace commands
