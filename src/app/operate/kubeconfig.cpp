#include "gpuadm/app/kubeconfig.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/admin_conf.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace app {

namespace {

namespace fs = std::filesystem;
using base::Fault;

/// The first file of $KUBECONFIG, else ~/.kube/config; behind links, which stay.
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

/// A name as Kubernetes' tools take it, from a cluster's.
Result<std::string> context_of(const KubeconfigOptions& options, const spec::Cluster& cluster) {
  if (options.context.empty())
    return options.hosts.file.empty() && !options.hosts.targets.empty() ? cluster.hosts.front().name
                                                                        : cluster.name;
  const bool plain = options.context.find_first_of(" \t\n/:") == std::string::npos;
  if (options.context.size() > 200 || !plain || options.context != base::printable(options.context))
    return base::fail(
        Fault::usage,
        fmt::format("--context '{}': no name for a context", base::printable(options.context, 50)),
        "letters, digits, dots and dashes, for example: --context lab");
  return options.context;
}

bool is_private(const fs::path& file) {
  std::error_code error;
  return (fs::status(file, error).permissions() & fs::perms::all) ==
         (fs::perms::owner_read | fs::perms::owner_write);
}

/// What the file holds, beside it. The name has the time: a later run does not write over it.
Result<fs::path> keep(const fs::path& file, const std::string& text) {
  std::error_code error;
  const std::string name = file.string() + ".before-" + base::stamp(base::now());
  fs::path kept = name;
  for (int i = 2; fs::exists(kept, error); ++i) kept = fmt::format("{}-{}", name, i);
  TRY(base::write_file(kept, text, 0600));
  return kept;
}

}  // namespace

Result<Outcome> kubeconfig(const KubeconfigOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const std::string name = TRY(context_of(options, cluster));
  const fs::path file = target_of(options);
  // A file that cannot be read is found before any host is asked. Of a file of its own nothing is kept.
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
  const auto made = TRY(session::with_context(
      now, admin, name, options.keep_context ? session::Current::stays : session::Current::becomes));
  const std::string after = base::yaml::write(made);
  const bool same = options.output.empty() ? there && made == now : before == after;
  const std::string shown = base::printable(file.string());
  if (same && is_private(file)) {
    io.out(fmt::format("{}: the context {} is as it should be\n", shown, base::printable(name)));
    return Outcome::done;
  }
  if (!same && there) {
    const fs::path kept = TRY(keep(file, before));
    io.err(fmt::format("the former file is kept as {}\n", base::printable(kept.string())));
  }
  TRY(base::write_file(file, same ? before : after, 0600));
  io.out(fmt::format("{}: the context {} is written{}\n", shown, base::printable(name),
                     options.keep_context ? "" : ", and is the current one"));
  return Outcome::done;
}

}  // namespace app
