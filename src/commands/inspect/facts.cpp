#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/report/refusal.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_folder.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {
namespace {

struct FactsOptions {
  Common common;
  Hosts hosts;
  Format format = Format::text;
};

std::string in_form(const session::Survey& survey, const std::string& json, Format format) {
  if (format == Format::json) return json;
  if (format == Format::text)
    return base::printable(base::yaml::write(session::to_tree(survey.census)), std::string::npos);
  return survey.probes.empty() ? std::string() : survey.probes.begin()->second;
}

Result<Outcome> facts(const FactsOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  if (options.format == Format::probe && cluster.hosts.size() != 1)
    return base::fail(base::Fault::usage, "-o probe requires exactly one host", "specify one host");
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  const session::Survey survey = TRY(
      session::take_census(*fleet, assets, session::Afterwards::close_connection,
                           options.format == Format::probe ? session::Texts::kept : session::Texts::dropped));

  const session::RunFolder folder = TRY(session::RunFolder::make(cluster.name));
  TRY(folder.save("cluster.yaml", spec::to_tree(cluster)));
  const std::string json = session::to_json(survey.census);
  TRY(folder.save_text("facts.json", json));

  io.out(in_form(survey, json, options.format));
  Outcome outcome = Outcome::done;
  for (const auto& [host, facts] : survey.census) {
    if (facts) continue;
    const base::Error& error = facts.error();
    io.err(report::to_text(error, io.err_style));
    if (outcome != Outcome::failed)
      outcome = session::is_unreachable(error.fault) ? Outcome::unreachable : Outcome::failed;
  }
  return outcome;
}

}  // namespace

Command facts_command() {
  return CommandRow<FactsOptions>{
      .name = "facts",
      .group = Group::inspect,
      .summary = "Show hardware, software and configuration of hosts",
      .options =
          [](Line& line, FactsOptions& options) {
            add_hosts(line, options.hosts);
            add_connection(line, options.common);
            add_format(line, options.format,
                       {{"json", Format::json}, {"probe", Format::probe}, {"text", Format::text}});
          },
      .examples = {{"gpuadm facts", "this machine"},
                   {"gpuadm facts -f cluster.yaml -o json", "for another program"}},
      .run = facts};
}

}  // namespace commands
