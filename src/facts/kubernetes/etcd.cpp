#include "facts/kubernetes/etcd.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include <algorithm>

namespace facts {

namespace {

using base::Tree;

/// A program's output as JSON, or null.
Tree answer_in(const Sections& sections, const std::string& name) {
  const Section* section = sections.find(name);
  if (!section || section->status != 0) return {};
  auto tree = base::json::read(section->text(), name);
  return tree ? std::move(*tree) : Tree();
}

/// 64-bit numbers are strings, and those that are 0 are omitted.
EtcdMember read_member(const Tree& listed, const Sections& sections) {
  EtcdMember member;
  member.name = text_of(listed, "name");
  if (const Tree* urls = listed.find("clientURLs"); urls && !urls->items().empty())
    member.url = urls->items().front().text();
  const Tree status = answer_in(sections, "etcd-status/" + member.url);
  member.answers = status.is_map();
  member.version = text_of(status, "version");
  const std::string leader = text_of(status, "leader");
  member.has_leader = !leader.empty() && leader != "0";
  member.leads = member.has_leader && leader == text_of(listed, "ID");
  member.bytes = base::to_int(text_of(status, "dbSize")).value_or(0);
  if (const Tree* errors = status.find("errors"))
    for (const Tree& error : errors->items()) member.errors.push_back(error.text());
  return member;
}

/// The 99th percentile: `name_bucket{le="0.008"} 1234`, with cumulative counts.
std::optional<double> slowest(const Section& metrics, std::string_view name) {
  std::vector<std::pair<double, double>> buckets;
  double all = 0;
  for (const std::string_view line : metrics.lines) {
    if (!line.starts_with(name)) continue;
    const auto words = base::words(line);
    const double times = words.size() == 2 ? base::to_real(words[1]).value_or(-1) : -1;
    const std::size_t le = line.find("le=\"");
    if (times < 0) continue;
    const bool bounded = le != std::string_view::npos && line.find("+Inf") == std::string_view::npos;
    if (le == std::string_view::npos) all = times;
    if (!bounded) continue;
    if (const auto bound = base::to_real(line.substr(le + 4, line.find('"', le + 4) - le - 4)))
      buckets.emplace_back(*bound, times);
  }
  // A few writes are not significant.
  if (all < 100) return std::nullopt;
  std::sort(buckets.begin(), buckets.end());
  double lower = 0, before = 0;
  for (const auto& [bound, below] : buckets) {
    // Values are assumed to be evenly distributed within a bucket, as in Prometheus.
    if (below >= all * 0.99)
      return lower + (bound - lower) * (all * 0.99 - before) / std::max(1.0, below - before);
    lower = bound, before = below;
  }
  return buckets.empty() ? std::nullopt : std::optional(lower);
}

}  // namespace

std::optional<std::vector<EtcdMember>> read_etcd_members(const Sections& sections) {
  const Tree answer = answer_in(sections, "etcd-members");
  const Tree* listed = answer.find("members");
  if (!listed) return std::nullopt;
  std::vector<EtcdMember> members;
  for (const Tree& one : listed->items()) members.push_back(read_member(one, sections));
  return members;
}

void read_etcd_times(const Sections& sections, Kubernetes& kubernetes) {
  const Section* metrics = sections.find("etcd-metrics");
  if (!metrics || metrics->status != 0) return;
  kubernetes.etcd_fsync = slowest(*metrics, "etcd_disk_wal_fsync_duration_seconds_");
  kubernetes.etcd_commit = slowest(*metrics, "etcd_disk_backend_commit_duration_seconds_");
}

}  // namespace facts
