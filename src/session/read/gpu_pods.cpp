#include "session/read/gpu_pods.hpp"

#include <algorithm>

namespace session {

namespace {

/// The pause between two queries of the control plane, which doubles for a pod that it does not list.
constexpr std::chrono::seconds pause{10};
constexpr int most_doublings = 5;
/// Pods of one query, and pods that are remembered.
constexpr std::size_t most_at_once = 200, most_known = 20000;

base::Instant next(base::Instant now, int times) {
  return now + pause * (1 << std::min(times, most_doublings));
}

}  // namespace

void PodNaming::note(const std::string& host, const facts::GpuSample& sample) {
  const auto note_uid = [&](const std::string& uid) {
    if (!uid.empty() && asked_.size() < most_known) asked_.try_emplace(uid).first->second.host = host;
  };
  for (const facts::GpuReading& gpu : sample.gpus) {
    for (const facts::GpuProgram& program : gpu.programs) note_uid(program.pod_uid);
    for (const std::string& uid : gpu.reserved) note_uid(uid);
  }
}

std::vector<std::string> PodNaming::for_node(const std::string& host, base::Instant now) const {
  std::vector<std::string> uids;
  for (const auto& [uid, asked] : asked_)
    if (asked.host == host && !pods_.contains(uid) && asked.node_due <= now && uids.size() < most_at_once)
      uids.push_back(uid);
  return uids;
}

std::vector<std::string> PodNaming::for_cluster(base::Instant now) const {
  std::vector<std::string> uids;
  for (const auto& [uid, asked] : asked_)
    if (!asked.described && asked.cluster_due <= now && uids.size() < most_at_once) uids.push_back(uid);
  return uids;
}

void PodNaming::asked_node(const std::vector<std::string>& uids, base::Instant now) {
  for (const std::string& uid : uids) {
    Asked& asked = asked_[uid];
    asked.node_due = next(now, asked.node_times++);
  }
}

void PodNaming::asked_cluster(const std::vector<std::string>& uids, base::Instant now) {
  for (const std::string& uid : uids) {
    Asked& asked = asked_[uid];
    asked.cluster_due = next(now, asked.cluster_times++);
  }
}

void PodNaming::answered_node(const facts::PodNames& names) {
  for (const auto& [uid, name] : names.pods)
    if (asked_.contains(uid)) pods_.try_emplace(uid, name);
}

void PodNaming::answered_cluster(const facts::PodNames& names) {
  for (const auto& [uid, name] : names.pods) {
    const auto asked = asked_.find(uid);
    if (asked == asked_.end()) continue;
    asked->second.described = true;
    pods_.insert_or_assign(uid, name);
  }
}

}  // namespace session
