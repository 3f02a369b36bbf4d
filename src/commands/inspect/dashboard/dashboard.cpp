
#include "gpuadm/base/random.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/http/site.hpp"
#include "gpuadm/report/refusal.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/queue.hpp"
#include "gpuadm/workload/state.hpp"

#include "commands/inspect/dashboard/frozen_page.hpp"
#include "commands/inspect/dashboard/page_data.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

struct DashboardOptions {
  Common common;
  Hosts hosts;
  std::uint16_t port = 0;  ///< on loopback; 0: any that is free
  int interval = 2;        ///< seconds between two samples of the GPUs
  int count = 1;           ///< samples of a page that is written
  Format format = Format::text;
};

constexpr std::size_t token_bytes = 16;

Result<PageFiles> read_files(const assets::Store& assets) {
  PageFiles files;
  files.page = TRY(assets.read("templates/dashboard/page.html"));
  files.style = TRY(assets.read("templates/dashboard/dashboard.css"));
  files.script = TRY(assets.read("templates/dashboard/dashboard.js"));
  return files;
}

http::Site site_of(base::Secret token, const PageFiles& files, PageData& data) {
  http::Site site(std::move(token));
  site.add("", "text/html; charset=utf-8", [&files] { return files.page; });
  site.add("dashboard.css", "text/css; charset=utf-8", [&files] { return files.style; });
  site.add("dashboard.js", "text/javascript; charset=utf-8", [&files] { return files.script; });
  site.add("live.json", "application/json", [&data] { return data.live(); });
  site.add("cluster.json", "application/json", [&data] { return data.cluster(); });
  return site;
}

/// Every host in parallel, unless the operator limits it: one that hangs must not delay others.
spec::Cluster without_window(spec::Cluster cluster, const session::Connection& connection) {
  if (!connection.window)
    cluster.ssh.window = std::max(cluster.ssh.window, static_cast<int>(cluster.hosts.size()));
  return cluster;
}

/// Samples until Ctrl-C, while the page is served.
Result<Outcome> serve_page(const DashboardOptions& options, const assets::Store& assets,
                           const PageFiles& files, PageData& data, session::ClusterReadings& readings,
                           transport::Fleet& fleet, Io& io) {
  const http::Site site = site_of(TRY(base::random_secret(token_bytes)), files, data);
  http::Server server =
      TRY(http::Server::open({"127.0.0.1", options.port, {}, {}},
                             [&site](const http::Request& request) { return site.answer(request); }));
  fleet.attend({.interests = [&server](std::vector<pollfd>& into) { server.interests(into); },
                .wake = [&server] { return server.wake(); },
                .advance = [&server] { server.advance(); }});
  io.out(site.address(server.port()) + "\n");
  if (io.err_style.verbosity != report::Verbosity::quiet)
    io.err("open this address in a browser on this machine; Ctrl-C to stop\n");
  const auto show = [&data](const session::GpuSamples& samples, session::SampleMoment moment) {
    return data.show(samples, moment);
  };
  const auto outcome = session::sample_gpus(
      fleet, assets, {std::chrono::seconds(options.interval), 0, show, readings.others()});
  if (!outcome) return outcome;
  return Outcome::done;
}

/// Samples, and writes the page; also after Ctrl-C if there is a sample.
Result<Outcome> write_page(const DashboardOptions& options, const assets::Store& assets,
                           const PageFiles& files, PageData& data, session::ClusterReadings& readings,
                           transport::Fleet& fleet, Io& io) {
  if (io.err_style.verbosity != report::Verbosity::quiet)
    io.err(fmt::format("sampling {} time{} every {}s; then the page is written\n", options.count,
                       options.count == 1 ? "" : "s", options.interval));
  std::vector<base::Error> errors;
  bool any = false;
  const auto show = [&](const session::GpuSamples& samples, session::SampleMoment moment) {
    any = any || moment == session::SampleMoment::complete;
    errors.clear();
    for (const auto& [name, host] : samples.hosts)
      if (host.error) errors.push_back(*host.error);
    return data.show(samples, moment);
  };
  const Outcome outcome = TRY(session::sample_gpus(
      fleet, assets, {std::chrono::seconds(options.interval), options.count, show, readings.others()}));
  if (!any) return outcome;
  TRY(data.judge());
  io.out(TRY(frozen_page(files, data.live(), data.cluster())));
  if (outcome == Outcome::unreachable)
    for (const base::Error& error : errors) io.err(report::to_text(error, io.err_style));
  return outcome == Outcome::interrupted ? Outcome::done : outcome;
}

/// Prints the address of a page on loopback, below a random token, and serves it until Ctrl-C; it shows what
/// hosts and a control-plane node report, and changes nothing. With HTML, writes the same page after `count`
/// samples instead: Outcome::unreachable if no host answered.
Result<Outcome> dashboard(const DashboardOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const PageFiles files = TRY(read_files(assets));
  const spec::Cluster cluster = without_window(
      TRY(session::read_cluster(options.hosts, options.common.connection)), options.common.connection);
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  fleet->on_interrupt([] {});
  session::ClusterReadings readings =
      TRY(session::ClusterReadings::open(cluster, assets,
                                         {.kinds = workload::workload_kinds(),
                                          .selector = workload::selector_of(""),
                                          .queue_kinds = workload::place_kinds(),
                                          .has_queued = workload::has_queued}));
  StatusJudge judges(assets, io.err_style.complete);
  PageData data(readings, judges, options.interval);
  const auto run = options.format == Format::html ? write_page : serve_page;
  return run(options, assets, files, data, readings, *fleet, io);
}

}  // namespace

Command dashboard_command() {
  return CommandRow<DashboardOptions>{
      .name = "dashboard",
      .group = Group::inspect,
      .summary = "Show hosts, GPUs with plots, workloads and problems as a page in a browser",
      .options =
          [](Line& line, DashboardOptions& options) {
            add_hosts(line, options.hosts);
            const Option port = line.value("--local-port", options.port, "PORT",
                                           "Port on this machine (default: any that is free)")
                                    .range(1, 65535);
            line.value("--interval", options.interval, "SECONDS",
                       "Seconds between two samples of the GPUs (default 2)")
                .range(1, 3600);
            Option count =
                line.value("--count", options.count, "N", "With -o html: number of samples (default 1)")
                    .range(1, 1'000'000);
            count.needs(line.choice<Format, Format>(
                                "-o,--output", options.format, {{"html", Format::html}},
                                "Write the page with its data to standard output instead of serving it")
                            .excludes(port));
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm dashboard -f cluster.yaml", "prints an address; until Ctrl-C"},
                   {"gpuadm dashboard -f cluster.yaml -o html >page.html", "the same page as a file"}},
      .run = dashboard};
}

}  // namespace commands
