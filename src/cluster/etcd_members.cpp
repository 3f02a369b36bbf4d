#include "gpuadm/cluster/etcd_members.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

namespace cluster {

using base::Fault;

namespace {

struct Source {
  std::string_view name;
  const char* message;
};
/// In the order of MembersFrom.
constexpr std::array sources{
    Source{"etcd", "as etcd lists them"}, Source{"data", "according to the data of etcd"},
    Source{"nodes", "according to the control-plane nodes of the API server and etcd's manifest"},
    Source{"manifest", "according to etcd's manifest"}};

/// The answer of an etcd with a quorum, or else all answers together, as the best of them names it.
EtcdMembers merged(const std::vector<EtcdMembers>& known) {
  EtcdMembers merged;
  for (const EtcdMembers& one : known) {
    if (one.from == MembersFrom::etcd) return one;
    merged.from = std::min(merged.from, one.from);
    for (const Known& member : one.all)
      if (std::ranges::find(merged.all, member.name, &Known::name) == merged.all.end())
        merged.all.push_back(member);
  }
  return merged;
}

bool is_lost(const Known& member, const RestoreHosts& restore) {
  return std::ranges::any_of(restore.lost, [&](const spec::Host& host) { return is_known_as(member, host); });
}

std::string shown(const Known& member) {
  if (member.name != "-" || member.addresses.empty()) return base::printable(member.name, 100);
  return base::printable(member.addresses.front(), 100);
}

constexpr const char* fix =
    "specify all control-plane nodes, or a cluster file; for one that is permanently lost: --lost HOST, or, "
    "while etcd has a quorum, gpuadm remove HOST --force";

/// Without etcd and its data, a cluster file must list the control planes, unless the API server does.
Result<> agrees_with_file(const RestoreHosts& restore) {
  if (restore.file.empty())
    return base::fail(
        Fault::blocked,
        "etcd does not answer and its data is lost, so other members of etcd are unknown; they would "
        "form a second cluster",
        "use a cluster file with all control-plane nodes: -f cluster.yaml");
  std::vector<std::string> others;
  for (const std::string& host : restore.in_file)
    if (std::ranges::find(restore.hosts, host) == restore.hosts.end() &&
        std::ranges::find(restore.lost, host, &spec::Host::name) == restore.lost.end())
      others.push_back(host);
  if (others.empty()) return {};
  return base::fail(
      Fault::blocked,
      fmt::format("etcd does not answer and its data is lost, and {} has control-plane nodes that are "
                  "not restored: {}",
                  restore.file, base::join(others, ", ")),
      fix);
}

}  // namespace

Result<EtcdMembers> read_etcd_members(std::string_view output) {
  EtcdMembers members;
  const auto lines = base::lines(output);
  const auto* source = std::ranges::find(sources, lines.empty() ? "" : lines.front(), &Source::name);
  if (source == sources.end())
    return base::fail(Fault::parse, "the members of etcd cannot be read", "gpuadm doctor --stage cluster");
  members.from = static_cast<MembersFrom>(source - sources.begin());
  for (const std::string_view line : lines | std::views::drop(1)) {
    const auto words = base::words(line);
    if (words.empty()) continue;
    members.all.push_back({std::string(words.front()), "", {words.begin() + 1, words.end()}});
  }
  return members;
}

Result<> may_restore(const std::vector<EtcdMembers>& known, const RestoreHosts& restore) {
  const EtcdMembers members = merged(known);
  std::vector<std::string> others, lost;
  for (const Known& member : members.all) {
    if (restore.members.contains(member.name)) continue;
    (is_lost(member, restore) ? lost : others).push_back(shown(member));
  }
  const char* message = sources.at(static_cast<std::size_t>(members.from)).message;
  if (!others.empty())
    return base::fail(Fault::blocked,
                      fmt::format("etcd has {} members ({}), but these are not among the hosts: {}",
                                  members.all.size(), message, base::join(others, ", ")),
                      fix);
  if (members.from == MembersFrom::etcd && !lost.empty())
    return base::fail(Fault::blocked,
                      fmt::format("etcd has a quorum, and {} can be removed from it", base::join(lost, ", ")),
                      "gpuadm remove HOST --force, then run again without --lost");
  if (members.from == MembersFrom::manifest) return agrees_with_file(restore);
  return {};
}

}  // namespace cluster
