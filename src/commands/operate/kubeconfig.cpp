
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"

#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace commands {

namespace {

struct KubeconfigOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path output;  ///< a separate file; empty: the operator's kubeconfig
  bool merge = false;            ///< explicit --merge: the default without `output`
  std::string context;           ///< name of the context; empty: the cluster's name
  bool keep_context = false;     ///< do not change the current context
};

namespace fs = std::filesystem;
using base::Fault;

/// The first file of $KUBECONFIG, otherwise ~/.kube/config; with symbolic links resolved, which are kept.
fs::path target_of(const KubeconfigOptions& options) {
  fs::path path = options.output;
  if (path.empty()) {
    const char* value = std::getenv("KUBECONFIG");
    const std::string list = value ? value : "";
    for (const std::string_view part : base::split(list, ':'))
      if (path.empty() && !part.empty()) path = part;
  }
  if (path.empty()) path = base::home() / ".kube/config";
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

/// Whether Kubernetes' tools accept it as a name.
bool is_plain(const std::string& name) {
  return name.size() <= 200 && name.find_first_of(" \t\n/:") == std::string::npos &&
         name == base::printable(name);
}

/// The name of --context; empty: unset.
Result<std::string> given_name(const KubeconfigOptions& options) {
  if (options.context.empty()) return std::string();
  if (!is_plain(options.context))
    return base::fail(Fault::usage,
                      fmt::format("--context '{}': invalid name", base::printable(options.context, 50)),
                      "use letters, digits, dots and dashes, for example: --context lab");
  return options.context;
}

/// The cluster's name: from the cluster file, otherwise from the cluster's kubeconfig. kubeadm's default is
/// replaced by the host's name.
std::string name_of(const KubeconfigOptions& options, const spec::Cluster& cluster, const base::Tree& admin) {
  if (!options.hosts.file.empty() || options.hosts.targets.empty()) return cluster.name;
  const base::Tree* clusters = admin.find("clusters");
  const base::Tree* name =
      clusters && !clusters->items().empty() ? clusters->items().front().find("name") : nullptr;
  const std::string text = name ? name->text() : "";
  const bool usable = !text.empty() && text != "kubernetes" && is_plain(text);
  return usable ? text : cluster.hosts.front().name;
}

bool is_private(const fs::path& file) {
  std::error_code error;
  return (fs::status(file, error).permissions() & fs::perms::all) ==
         (fs::perms::owner_read | fs::perms::owner_write);
}

/// A backup of the file. The name contains the time, so that a later run does not overwrite it.
Result<fs::path> keep(const fs::path& file, const std::string& text) {
  std::error_code error;
  const std::string name = file.string() + ".before-" + base::stamp(base::now());
  fs::path kept = name;
  for (int i = 2; fs::exists(kept, error); ++i) kept = fmt::format("{}-{}", name, i);
  TRY(base::write_file(kept, text, 0600));
  return kept;
}

/// Fetches admin.conf from the first control-plane node that has it, and writes it into a file of mode 0600
/// as a separate context; the original is kept as a backup. Other contexts are not changed: Fault::usage if
/// one has the same name.
Result<Outcome> kubeconfig(const KubeconfigOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const std::string given = TRY(given_name(options));
  const fs::path file = target_of(options);
  // An unreadable file is reported before hosts are contacted. A separate file needs no backup.
  std::error_code error;
  const bool there = fs::exists(file, error);
  const std::string before = there ? TRY(base::read_file(file, 16u << 20)) : std::string();
  base::Tree now;
  if (options.output.empty() && !base::trim(before).empty())
    now = TRY(base::yaml::read(before, file.string()));

  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  const std::string text = TRY(session::read_admin_conf(cluster, *fleet, assets));
  const base::Tree admin = TRY(base::yaml::read(text, "/etc/kubernetes/admin.conf"));
  const std::string name = given.empty() ? name_of(options, cluster, admin) : given;
  const auto made = TRY(session::with_context(
      now, admin, name, options.keep_context ? session::Current::stays : session::Current::becomes));
  const std::string after = base::yaml::write(made);
  const bool same = options.output.empty() ? there && made == now : before == after;
  const std::string shown = base::printable(file.string());
  if (same && is_private(file)) {
    io.out(fmt::format("{}: the context {} is up to date\n", shown, base::printable(name)));
    return Outcome::done;
  }
  if (!same && there) {
    const fs::path kept = TRY(keep(file, before));
    io.err(fmt::format("the original is {}\n", base::printable(kept.string())));
  }
  TRY(base::write_file(file, same ? before : after, 0600));
  io.out(fmt::format("{}: wrote the context {}{}\n", shown, base::printable(name),
                     options.keep_context ? "" : " and made it the current context"));
  return Outcome::done;
}

}  // namespace

Command kubeconfig_command() {
  return CommandRow<KubeconfigOptions>{
      .name = "kubeconfig",
      .group = Group::operate,
      .summary = "Merge a cluster's credentials into your kubeconfig",
      .options =
          [](Line& line, KubeconfigOptions& options) {
            add_hosts(line, options.hosts);
            const Option output =
                line.value("--output", options.output, "FILE", "Write to this file instead of merging");
            line.flag("--merge", options.merge,
                      "Merge into the first file of $KUBECONFIG, otherwise ~/.kube/config (default)")
                .excludes(output);
            line.value("--context", options.context, "NAME",
                       "Name of the context (default: name of the cluster)");
            line.flag("--keep-context", options.keep_context, "Do not change the current context");
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm kubeconfig -f cluster.yaml", "into ~/.kube/config"},
                   {"gpuadm kubeconfig root@192.0.2.10 --output lab.conf", "to a separate file"}},
      .run = kubeconfig};
}

}  // namespace commands
