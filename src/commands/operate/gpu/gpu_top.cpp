#include "gpuadm/cluster/gpu_top.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/gpu_history.hpp"
#include "gpuadm/report/refusal.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/watch.hpp"

#include "commands/operate/gpu/gpu_idle.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace commands {

namespace {

using cluster::TopSort;

struct GpuTopOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path from;    ///< a record to read instead of sampling hosts
  std::filesystem::path record;  ///< a new file, which gets a line of JSON for each interval
  TopSort sort = TopSort::node;
  int interval = 2;  ///< seconds
  int count = 0;     ///< intervals; 0: until Ctrl-C
  bool idle = false;
  Format format = Format::text;
};

using base::Fault;
using cluster::TopFrame;
using session::SampleMoment;

/// Of one line of a record.
constexpr std::size_t most_line = 32u << 20;

std::string time_of(const TopFrame& frame) {
  return frame.time.substr(0, 19) + "Z";
}

TopFrame frame_of(const session::GpuSamples& samples, const GpuTopOptions& options) {
  TopFrame frame{base::iso8601(base::now()), options.interval, {}, {}};
  for (const auto& [name, host] : samples.hosts)
    cluster::add(frame, {name, host.sample ? &*host.sample : nullptr, host.silent_seconds, host.problem},
                 samples.pods);
  cluster::sort(frame, options.sort);
  return frame;
}

/// Where frames are written to, in the format of the options.
class Output {
 public:
  Output(const GpuTopOptions& options, Io& io)
      : options_(options),
        io_(io),
        page_(io.page && options.format == Format::text && options.from.empty() && options.count != 1) {}

  Result<> open() {
    if (options_.record.empty()) return {};
    TRY(base::is_new(options_.record, "choose another file for --record"));
    TRY(base::write_file(options_.record, ""));
    record_.open(options_.record, std::ios::app | std::ios::binary);
    if (!record_) return cannot_write();
    return {};
  }

  [[nodiscard]] bool has_page() const { return page_; }

  /// Between two intervals: only a page is refreshed.
  void refresh(const TopFrame& frame) {
    const std::string every =
        fmt::format("gpuadm gpu top: every {}s, {}; Ctrl-C to stop\n", options_.interval, time_of(frame));
    io_.page(every + cluster::to_text(frame, io_.out_style.width));
  }

  Result<> add(TopFrame frame) {
    ++frames_;
    std::string line;
    if (record_.is_open() || options_.format == Format::json) line = cluster::to_json_line(frame);
    if (record_.is_open() && !(record_ << line << std::flush)) return cannot_write();
    if (options_.format == Format::html)
      history_.add(frame);
    else if (options_.format == Format::json)
      io_.out(line);
    else if (page_)
      refresh(frame);
    else
      io_.out(time_of(frame) + "\n" + cluster::to_text(frame, io_.out_style.width) + "\n");
    if (page_) last_ = std::move(frame);
    return {};
  }

  /// After the last frame: ends the page and leaves its last state, or writes the HTML. Whether a document is
  /// complete.
  bool end(Outcome outcome) {
    if (page_) {
      io_.end_page();
      if (outcome != Outcome::interrupted && frames_ > 0)
        io_.out(time_of(last_) + "\n" + cluster::to_text(last_, io_.out_style.width));
    }
    if (options_.format != Format::html || history_.empty()) return false;
    io_.out(report::to_html(history_.page()));
    return true;
  }

 private:
  std::unexpected<base::Error> cannot_write() const {
    return base::fail(Fault::usage,
                      fmt::format("cannot write {}: {}", options_.record.string(), std::strerror(errno)),
                      "choose another file for --record");
  }

  const GpuTopOptions& options_;
  Io& io_;
  const bool page_;
  std::ofstream record_;
  cluster::GpuHistory history_;
  TopFrame last_;
  std::size_t frames_ = 0;
};

void announce(const GpuTopOptions& options, Io& io) {
  if (options.format != Format::html || io.err_style.verbosity == report::Verbosity::quiet) return;
  io.err(options.count > 0
             ? fmt::format("sampling {} times every {}s; then the page is written\n", options.count,
                           options.interval)
             : fmt::format("sampling every {}s until Ctrl-C; then the page is written\n", options.interval));
}

/// Every host in parallel, unless the operator limits it: one that hangs must not delay others.
spec::Cluster all_at_once(spec::Cluster cluster, const session::Connection& connection) {
  if (!connection.window)
    cluster.ssh.window = std::max(cluster.ssh.window, static_cast<int>(cluster.hosts.size()));
  return cluster;
}

Result<Outcome> sample(const GpuTopOptions& options, const assets::Store& assets, Io& io) {
  const spec::Cluster cluster = all_at_once(
      TRY(session::read_cluster(options.hosts, options.common.connection)), options.common.connection);
  Output output(options, io);
  TRY(output.open());
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  fleet->on_interrupt([] {});
  announce(options, io);
  std::vector<base::Error> errors;
  const auto show = [&](const session::GpuSamples& samples, SampleMoment moment) -> Result<> {
    if (moment == SampleMoment::waiting) {
      if (output.has_page()) output.refresh(frame_of(samples, options));
      return {};
    }
    errors.clear();
    for (const auto& [name, host] : samples.hosts)
      if (host.error) errors.push_back(*host.error);
    return output.add(frame_of(samples, options));
  };
  const auto outcome =
      session::sample_gpus(*fleet, assets, {std::chrono::seconds(options.interval), options.count, show});
  const bool complete = output.end(outcome.value_or(Outcome::interrupted));
  if (!outcome) return outcome;
  if (*outcome == Outcome::unreachable)
    for (const base::Error& error : errors) io.err(report::to_text(error, io.err_style));
  return *outcome == Outcome::interrupted && complete ? Outcome::done : *outcome;
}

/// A file that is not a record.
std::unexpected<base::Error> no_record(std::string what) {
  return base::fail(Fault::usage, std::move(what), "create a record with gpuadm gpu top --record FILE");
}

/// A record, line by line. The last line may be incomplete if its run was killed.
Result<Outcome> replay(const GpuTopOptions& options, Io& io) {
  const std::string name = options.from.string();
  std::error_code unknown;
  if (std::filesystem::is_directory(options.from, unknown)) return no_record(name + " is a directory");
  std::ifstream file(options.from, std::ios::binary);
  if (!file) return no_record(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
  Output output(options, io);
  std::string line;
  std::size_t number = 0;
  while (std::getline(file, line)) {
    const std::string source = fmt::format("{}:{}", name, ++number);
    if (line.size() > most_line) return no_record(source + ": the line is too long");
    auto frame = cluster::frame_of_json(line, source);
    if (!frame && file.peek() == std::ifstream::traits_type::eof() && number > 1) break;
    if (!frame) return no_record(frame.error().what);
    cluster::sort(*frame, options.sort);
    TRY(output.add(std::move(*frame)));
  }
  if (number == 0) return no_record(name + ": the record is empty");
  output.end(Outcome::done);
  return Outcome::done;
}

/// Shows every GPU of every host with its users, again each interval: on a terminal in place, otherwise a
/// block, with JSON a line. With HTML, writes one page at the end. Outcome::unreachable if no host answered.
Result<Outcome> gpu_top(const GpuTopOptions& options, Io& io) {
  if (options.idle) {
    if (options.format == Format::html)
      return base::fail(Fault::usage, "--idle cannot be combined with -o html", "-o json, or text");
    return show_idle_gpus(options.hosts, options.common, options.format, io);
  }
  if (!options.common.connection.kubeconfig.empty())
    return base::fail(
        Fault::usage, "--kubeconfig reaches no host, whose GPUs would be sampled",
        "add --idle, which needs the API server only; an administrator can sample them over SSH");
  if (options.from.empty()) return sample(options, TRY(assets::Store::open(options.common.assets)), io);
  if (!options.hosts.targets.empty() || !options.hosts.file.empty())
    return base::fail(Fault::usage, "--from cannot be combined with hosts or files");
  if (!options.record.empty()) return base::fail(Fault::usage, "--from cannot be combined with --record");
  return replay(options, io);
}

}  // namespace

Command gpu_top_command() {
  return CommandRow<GpuTopOptions>{
      .name = "gpu top",
      .group = Group::operate,
      .summary = "Show utilization, memory, power and users of all GPUs, continuously",
      .options =
          [](Line& line, GpuTopOptions& options) {
            add_hosts(line, options.hosts);
            const Option idle =
                line.flag("--idle", options.idle,
                          "Once: only pods that hold GPUs and do not use them, and since when, as the health "
                          "checks of the nodes report (gpuadm health enable)");
            add_kubeconfig(line, options.common);
            line.value("--interval", options.interval, "SECONDS", "Seconds between two samples (default 2)")
                .range(1, 3600)
                .excludes(idle);
            line.value("--count", options.count, "N", "Number of samples (default 0: until Ctrl-C)")
                .range(0, 100'000'000)
                .excludes(idle);
            line.choice<TopSort, TopSort>(
                    "--sort", options.sort,
                    {{"node", TopSort::node},
                     {"util", TopSort::utilization},
                     {"mem", TopSort::memory},
                     {"power", TopSort::power},
                     {"temp", TopSort::temperature}},
                    "Order of the GPUs (default node); other orders begin with the highest value")
                .excludes(idle);
            line.value("--record", options.record, "FILE",
                       "Write a line of JSON for each sample to this new file")
                .excludes(idle);
            line.value("--from", options.from, "FILE",
                       "Read a file of --record instead of connecting to hosts")
                .excludes(idle);
            add_format(line, options.format,
                       {{"html", Format::html}, {"json", Format::json}, {"text", Format::text}});
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm gpu top -f cluster.yaml", "until Ctrl-C"},
                   {"gpuadm gpu top -f cluster.yaml --sort util --interval 1", "the busiest first"},
                   {"gpuadm gpu top -f cluster.yaml --count 300 --record day.jsonl",
                    "ten minutes, into a file"},
                   {"gpuadm gpu top -f cluster.yaml --idle", "who holds GPUs and does not use them"},
                   {"gpuadm gpu top --from day.jsonl -o html >day.html", "a page with a plot for each GPU"}},
      .run = gpu_top};
}

}  // namespace commands
