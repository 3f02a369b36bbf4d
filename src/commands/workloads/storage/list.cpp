#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/columns.hpp"
#include "gpuadm/spec/storage.hpp"

#include "commands/shared_options.hpp"
#include "commands/workloads/storage/common.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

struct StorageListOptions {
  Common common;
  Hosts hosts;
  Format format = Format::text;
};

using base::Tree;
using spec::Storage;

/// What a host reports about a storage.
struct OnHost {
  std::string host, state;
  std::string why;  ///< of "unsafe"
  std::optional<long long> total, used, free;
};
using States = std::map<std::string, std::vector<OnHost>>;  ///< by storage

constexpr const char* states[] = {"mounted", "not mounted", "no answer", "read-only", "not set up", "unsafe"};

/// Lines of playbooks/read/storage.sh.
void read_states(const std::string& host, std::string_view output, States& into) {
  for (const std::string_view line : base::lines(output)) {
    const auto fields = base::split(line, '\t');
    if (fields.size() != 6 || std::ranges::find(states, fields[1]) == std::end(states)) continue;
    const auto found = into.find(std::string(fields[0]));
    if (found == into.end()) continue;
    for (OnHost& on : found->second)
      if (on.host == host)
        on = {host,
              std::string(fields[1]),
              base::printable(base::trim(fields[5]), 500),
              base::to_int(fields[2]),
              base::to_int(fields[3]),
              base::to_int(fields[4])};
  }
}

std::string asked_of(const spec::Cluster& cluster, const spec::Host& host) {
  std::string lines;
  for (const Storage& storage : cluster.storage)
    if (spec::is_on(storage, host))
      lines +=
          fmt::format("{}\t{}\t{}\n", storage.name, spec::row_of(storage.kind).name, spec::place_of(storage));
  return lines;
}

/// Every host at the same time; one that is unreachable has the state "unreachable".
Result<States> read_hosts(const spec::Cluster& cluster, transport::Fleet& fleet, const assets::Store& assets,
                          Io& io) {
  States all;
  for (const Storage& storage : cluster.storage)
    for (const spec::Host& host : cluster.hosts)
      if (spec::is_on(storage, host)) all[storage.name].push_back({host.name, "unknown", {}, {}, {}, {}});
  for (const spec::Host& host : cluster.hosts)
    if (const std::string lines = asked_of(cluster, host); !lines.empty())
      fleet.submit(host.name, TRY(session::command_of({.label = "read the state of storage",
                                                       .asset = "playbooks/read/storage.sh",
                                                       .variables = {{"storages", lines}}},
                                                      assets)));
  while (const auto completion = fleet.next()) {
    if (completion->result) {
      read_states(completion->host, completion->result->out, all);
      continue;
    }
    io.err(fmt::format("{}\n", base::printable(completion->result.error().what)));
    for (auto& [name, hosts] : all)
      for (OnHost& on : hosts)
        if (on.host == completion->host) on.state = "unreachable";
  }
  if (fleet.interrupted()) return base::fail(base::Fault::interrupted, "interrupted while reading storage");
  return all;
}

/// The space as the first host sees it that has it mounted.
const OnHost* with_ns(const std::vector<OnHost>& hosts) {
  const auto found = std::ranges::find_if(hosts, [](const OnHost& on) { return on.total.has_value(); });
  return found == hosts.end() ? nullptr : &*found;
}

std::string bytes(const std::optional<long long>& number) {
  return number && *number >= 0 ? base::human_bytes(static_cast<unsigned long long>(*number)) : "unknown";
}

using Claims = std::optional<std::vector<workload::ClaimOnStorage>>;

std::vector<std::string> claims_on(const Claims& claims, const std::string& storage) {
  std::vector<std::string> names;
  for (const auto& claim : *claims)
    if (claim.storage == storage) names.push_back(claim.full());
  return names;
}

Tree tree_of(const spec::Cluster& cluster, const States& all, const Claims& claims) {
  Tree list = Tree::list();
  for (const Storage& storage : cluster.storage) {
    const auto& hosts = all.at(storage.name);
    Tree on_hosts = Tree::list();
    for (const OnHost& on : hosts) {
      Tree one = Tree::map_of({{"host", on.host}, {"state", on.state}});
      if (!on.why.empty()) one.set("reason", on.why);
      on_hosts.push(std::move(one));
    }
    Tree tree = Tree::map_of({{"name", storage.name},
                              {"kind", spec::row_of(storage.kind).name},
                              {"source", spec::source_of(storage)},
                              {"folder", spec::place_of(storage)},
                              {"hosts", std::move(on_hosts)}});
    if (claims) tree.set("claims", Tree::list_of(claims_on(claims, storage.name)));
    if (const OnHost* on = with_ns(hosts)) {
      tree.set("totalBytes", std::int64_t{*on->total});
      if (on->used) tree.set("usedBytes", std::int64_t{*on->used});
      if (on->free) tree.set("freeBytes", std::int64_t{*on->free});
    }
    list.push(std::move(tree));
  }
  return Tree::map_of({{"storage", std::move(list)}});
}

std::string text_of(const spec::Cluster& cluster, const States& all, const Claims& claims,
                    std::size_t width) {
  std::vector<std::vector<std::string>> lines = {
      {"NAME", "KIND", "SOURCE", "MOUNTED", "CLAIMS", "USED", "FREE"}};
  std::string problems;
  for (const Storage& storage : cluster.storage) {
    const auto& hosts = all.at(storage.name);
    const auto mounted = std::ranges::count(hosts, std::string("mounted"), &OnHost::state);
    const OnHost* on = with_ns(hosts);
    lines.push_back({storage.name, spec::row_of(storage.kind).name, spec::source_of(storage),
                     fmt::format("{}/{}", mounted, hosts.size()),
                     claims ? std::to_string(claims_on(claims, storage.name).size()) : "unknown",
                     bytes(on ? on->used : std::nullopt), bytes(on ? on->free : std::nullopt)});
    for (const OnHost& one : hosts)
      if (one.state != "mounted")
        problems += fmt::format("{} on {}: {}{}\n", storage.name, base::printable(one.host), one.state,
                                one.why.empty() ? "" : ": " + one.why);
  }
  return report::columns(std::move(lines), width, {2}) + (problems.empty() ? "" : "\n" + problems);
}

/// Local storage of hosts that are not among those of the command line has no host to ask.
void complete(const spec::Cluster& cluster, States& all) {
  for (const Storage& storage : cluster.storage)
    if (all[storage.name].empty()) all[storage.name].push_back({storage.host, "unknown", {}, {}, {}, {}});
}

/// Prints every storage with its hosts, claims and space. Changes nothing.
Result<Outcome> storage_list(const StorageListOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster hosts = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(hosts, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  session::ClusterClient client = TRY(session::ClusterClient::open(hosts, *fleet, assets));
  const spec::Cluster cluster =
      TRY(read_storages(options.hosts, hosts, client.host(), *fleet, assets)).cluster;
  const auto found = read_claims(client);
  if (!found && found.error().fault == base::Fault::interrupted) return std::unexpected(found.error());
  if (!found) io.err(fmt::format("{}\n", base::printable(found.error().what)));
  const Claims claims = found ? Claims(*found) : std::nullopt;
  States all = TRY(read_hosts(cluster, *fleet, assets, io));
  complete(cluster, all);
  if (options.format == Format::json)
    io.out(base::json::write(tree_of(cluster, all, claims)) + "\n");
  else if (cluster.storage.empty())
    io.out("the cluster has no storage; add one: gpuadm storage add NAME local|path|nfs|cephfs\n");
  else
    io.out(text_of(cluster, all, claims, io.out_style.width));
  const bool whole = std::ranges::all_of(all, [](const auto& one) {
    return std::ranges::all_of(one.second, [](const OnHost& on) { return on.state == "mounted"; });
  });
  return whole ? Outcome::done : Outcome::failed;
}

}  // namespace

Command storage_list_command() {
  return CommandRow<StorageListOptions>{
      .name = "storage list",
      .group = Group::workloads,
      .summary = "List storages with hosts, claims and space",
      .options =
          [](Line& line, StorageListOptions& options) {
            add_hosts(line, options.hosts);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm storage list -f cluster.yaml", "hosts, claims, space"}},
      .run = storage_list};
}

}  // namespace commands
