#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/refusal.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace commands {

namespace {

struct CertsOptions {
  Common common;
  Hosts hosts;
  int within = 30;   ///< renew: days; satisfied if nothing expires within them
  bool all = false;  ///< renew: regardless of expiration dates
  Consent consent = Consent::ask;
  Format format = Format::text;
};

using base::Tree;

struct Row {
  std::string host;
  facts::Certificate certificate;
  double left = 0;  ///< seconds, by the host's own clock
};

std::vector<Row> rows_of(const spec::Cluster& cluster, const facts::Census& census) {
  std::vector<Row> rows;
  for (const spec::Host& host : cluster.hosts) {
    const auto& facts = census.at(host.name);
    if (!facts || !facts->kubernetes.certificates || !facts->clock.probe_begin) continue;
    for (const facts::Certificate& certificate : *facts->kubernetes.certificates)
      rows.push_back({host.name, certificate, certificate.ends - *facts->clock.probe_begin});
  }
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return row.certificate.ends; });
  return rows;
}

/// Not base::Time, whose nanoseconds end in 2262: certificates without expiration have the year 9999.
std::string utc(double seconds) {
  const std::chrono::sys_seconds time(
      std::chrono::seconds(static_cast<std::int64_t>(std::clamp(seconds, 0.0, 253402300799.0))));
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string left_of(const Row& row) {
  if (row.left < 0) return "expired";
  const double days = std::floor(row.left / 86400);
  return days >= 1 ? fmt::format("{:.0f} d", days) : fmt::format("{:.0f} h", row.left / 3600);
}

std::string to_text(const std::vector<Row>& rows) {
  std::vector<std::array<std::string, 4>> lines = {{"HOST", "LEFT", "ENDS", "CERTIFICATE"}};
  for (const Row& row : rows)
    lines.push_back({base::printable(row.host, 100), left_of(row), utc(row.certificate.ends).substr(0, 10),
                     base::printable(row.certificate.path, 200)});
  std::size_t host = 0;
  std::string text;
  for (const auto& line : lines) host = std::max(host, line[0].size());
  for (const auto& line : lines)
    text += fmt::format("{:<{}}  {:>7}  {:<10}  {}\n", line[0], host, line[1], line[2], line[3]);
  return text;
}

Tree to_tree(const std::vector<Row>& rows) {
  Tree list = Tree::list();
  for (const Row& row : rows)
    list.push(Tree::map_of({{"host", row.host},
                            {"certificate", row.certificate.path},
                            {"ends", utc(row.certificate.ends)},
                            {"days", static_cast<std::int64_t>(std::floor(row.left / 86400))}}));
  return Tree::map_of({{"certificates", list}});
}

/// Hosts whose certificates are unknown.
Outcome report_unanswered(const facts::Census& census, Io& io) {
  Outcome outcome = Outcome::done;
  for (const auto& [host, facts] : census) {
    if (!facts) {
      io.err(report::to_text(facts.error(), io.err_style));
      outcome = Outcome::unreachable;
    } else if (!facts->kubernetes.certificates || facts->kubernetes.certificates->empty()) {
      io.err(fmt::format("{}: no cluster certificates could be read\n", base::printable(host)));
    }
  }
  return outcome;
}

/// Prints the expiration dates of all certificates of control planes and kubelets, and of the certificate
/// that each API server uses. Changes nothing.
Result<Outcome> certs_status(const CertsOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  const session::Survey survey = TRY(
      session::take_census(*fleet, assets, session::Afterwards::close_connection, session::Texts::dropped));
  const std::vector<Row> rows = rows_of(cluster, survey.census);
  if (options.format == Format::json)
    io.out(base::json::write(to_tree(rows)) + "\n");
  else if (!rows.empty())
    io.out(to_text(rows));
  return report_unanswered(survey.census, io);
}

/// Renews what kubeadm renews, and restarts the control plane: playbooks/certs.yaml, one control-plane node
/// after the other.
Result<Outcome> certs_renew(const CertsOptions& options, Io& io) {
  const base::Variables given = {{"within_days", std::to_string(options.within)},
                                 {"renew_all", options.all ? "yes" : "no"}};
  return session::on_control_planes(
      {options.common, options.hosts, options.consent, session::AbsentWorkers::left_out}, "certs", io,
      [&](const session::ControlPlaneContext& context) {
        return session::with_reporter(
            context.session.folder, options.format, io, [&](report::Reporter& reporter) {
              return session::run_one_by_one(context, {context.hosts, {{}, {}, {}, given}, options.consent},
                                             reporter, io);
            });
      });
}

/// Rotates the encryption key of the Secrets of a cluster with security.profile hardened:
/// playbooks/rotate-encryption-key.yaml, on all control-plane nodes.
Result<Outcome> certs_rotate_encryption_key(const CertsOptions& options, Io& io) {
  return session::on_control_planes(
      {options.common, options.hosts, options.consent}, "rotate-encryption-key", io,
      [&](const session::ControlPlaneContext& context) {
        return session::with_reporter(
            context.session.folder, options.format, io, [&](report::Reporter& reporter) {
              return session::run_together(context, {context.hosts, {}, options.consent}, reporter, io);
            });
      });
}

}  // namespace

Command certs_status_command() {
  return CommandRow<CertsOptions>{.name = "certs status",
                                  .group = Group::operate,
                                  .summary = "Show expiration dates, soonest first",
                                  .options =
                                      [](Line& line, CertsOptions& options) {
                                        add_hosts(line, options.hosts);
                                        add_format(line, options.format);
                                        add_connection(line, options.common);
                                      },
                                  .examples = {{"gpuadm certs status -f cluster.yaml", "expiration dates"}},
                                  .run = certs_status};
}

Command certs_renew_command() {
  return CommandRow<CertsOptions>{
      .name = "certs renew",
      .group = Group::operate,
      .summary = "Renew certificates of control-plane nodes and restart their components, one node at a time",
      .options =
          [](Line& line, CertsOptions& options) {
            const Option all = line.flag("--all", options.all, "Renew all, whatever their expiration date");
            line.value("--within", options.within, "DAYS",
                       "Renew if one expires within this many days (default 30)")
                .range(0, 300)
                .excludes(all);
            add_change(line, options);
          },
      .examples = {{"gpuadm certs renew -f cluster.yaml --within 60", "what expires within two months"}},
      .run = certs_renew};
}

Command certs_rotate_encryption_key_command() {
  return CommandRow<CertsOptions>{
      .name = "certs rotate-encryption-key",
      .group = Group::operate,
      .summary = "Encrypt the Secrets of a hardened cluster with a new key",
      .options = add_change<CertsOptions>,
      .examples = {{"gpuadm certs rotate-encryption-key -f cluster.yaml", "on all control-plane nodes"}},
      .run = certs_rotate_encryption_key};
}

}  // namespace commands
