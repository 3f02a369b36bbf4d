#include "gpuadm/base/file_kind.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/shared_options.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

struct CopyOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path file;
  std::string to;  ///< a path on the hosts; with a '/' at its end, the directory for the file
  Consent consent = Consent::given;
  Format format = Format::text;
};

namespace fs = std::filesystem;
using base::Fault;

/// Source and destination.
struct Freight {
  fs::path file;
  std::string path, mode, sum;
};

Result<Freight> freight_of(const CopyOptions& options) {
  if (const std::string why = base::why_no_file(options.file); !why.empty())
    return base::fail(Fault::usage, fmt::format("{}: {}", base::printable(options.file.string()), why),
                      "gpuadm cp FILE --to PATH [HOST…]: FILE is a local file");
  Freight freight{options.file, options.to, {}, {}};
  if (freight.path.ends_with('/')) freight.path += options.file.filename().string();
  const bool plain = freight.path.find_first_of("\t\n") == std::string::npos;
  if (!freight.path.starts_with('/') || !plain)
    return base::fail(Fault::usage,
                      fmt::format("--to '{}': not an absolute path", base::printable(options.to, 200)),
                      "for example: --to /etc/motd, or --to /opt/tools/");
  std::error_code error;
  freight.mode =
      fmt::format("{:o}", static_cast<unsigned>(fs::status(options.file, error).permissions()) & 0777U);
  freight.sum = TRY(base::sha256_of_file(options.file));
  return freight;
}

plan::Plan plan_of(const Freight& freight, const std::vector<spec::Host>& hosts, std::string prelude,
                   std::string depot) {
  plan::Action action;
  action.id = "cp";
  action.title = fmt::format("the local file {} is {}", freight.path, freight.file.filename().string());
  action.kind = plan::Kind::upload;
  action.variables = {{"path", freight.path}, {"mode", freight.mode}, {"bundle_sha256", freight.sum}};
  action.check = "cp_check";
  action.apply = "cp_apply";
  action.timeout = std::chrono::seconds(600);
  action.input = freight.file;
  plan::Stage stage{"cp", "Copy the file", false, {}};
  for (const spec::Host& host : hosts) stage.walks.push_back({host.name, {action}});
  plan::Plan plan;
  plan.playbook = "cp";
  plan.prelude = std::move(prelude);
  plan.depot = std::move(depot);
  plan.stages.push_back(std::move(stage));
  return plan;
}

/// Copies a file to every host: streamed, verified, journaled, renamed into place atomically, with its local
/// mode. Hosts that already have it are not changed. Writes nothing if a host is unreachable.
Result<Outcome> copy(const CopyOptions& options, Io& io) {
  const Freight freight = TRY(freight_of(options));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const std::string prelude =
      TRY(assets.read("playbooks/prelude.sh")) + "\n" + TRY(assets.read("playbooks/cp.sh"));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));
  const std::string depot = TRY(assets.read("playbooks/depot.sh"));
  session::Execution execution{
      assets, plan_of(freight, cluster.hosts, prelude, depot), {}, options.consent, {}};
  for (const spec::Host& host : cluster.hosts) execution.hosts.push_back(host.name);
  return session::with_reporter(session.folder, options.format, io, [&](report::Reporter& reporter) {
    return session::execute(execution, session, reporter, io);
  });
}

}  // namespace

Command copy_command() {
  return CommandRow<CopyOptions>{
      .name = "cp",
      .group = Group::operate,
      .summary = "Copy a file to hosts: gpuadm cp FILE --to PATH [HOST...]",
      .options =
          [](Line& line, CopyOptions& options) {
            line.argument("FILE", options.file, "Local file; its mode is kept").required();
            add_hosts(line, options.hosts);
            line.value("--to", options.to, "PATH", "Destination path; PATH/ is a directory").required();
            add_dry_run(line, options.consent);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm cp hosts.toml --to /etc/containerd/ -f cluster.yaml", "to all hosts"}},
      .run = copy};
}

}  // namespace commands
