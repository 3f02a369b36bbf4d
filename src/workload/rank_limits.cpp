#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/all_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

/// What the processes of a training job may use, as they see it in their pods.
namespace workload {

namespace {

using base::Tree;
using report::Finding;
using report::Severity;
using report::Verdict;
using Process = AllReduce::Process;

/// Docker's and the container runtimes' own size of /dev/shm, if the pod has no volume there.
constexpr long long default_shm = 64LL << 20;
/// A data loader with workers keeps some files open for each batch and worker; the soft limit of systemd is
/// 1024 (systemd.exec(5): LimitNOFILE).
constexpr long long few_files = 4096;

Finding finding_of(const char* id, Verdict verdict, Severity severity, std::string message,
                   const std::string& evidence = "", std::string remedy = "") {
  Finding finding;
  finding.id = id;
  finding.verdict = verdict;
  finding.severity = severity;
  finding.message = std::move(message);
  finding.evidence = base::printable(evidence, 600);
  finding.remedy = std::move(remedy);
  return finding;
}

bool requests_rdma(const TrainJob& job) {
  return std::ranges::any_of(job.roles, [](const Role& role) {
    const Tree* containers = role.pod.find("containers");
    return containers && std::ranges::any_of(containers->items(), [](const Tree& container) {
             const Tree* limits = container.at({"resources", "limits"});
             return limits && std::ranges::any_of(limits->entries(), [](const auto& limit) {
                      return limit.first.starts_with("rdma/");
                    });
           });
  });
}

/// The first process for which it holds.
template <class Holds>
const Process* first_of(const AllReduce& read, Holds holds) {
  const auto found = std::ranges::find_if(read.processes, holds);
  return found == read.processes.end() ? nullptr : &*found;
}

std::string limit_text(long long limit) {
  return limit < 0 ? "unlimited" : base::human_bytes(static_cast<std::uint64_t>(limit));
}

void judge_limits(const TrainJob& job, const AllReduce& read, std::vector<Finding>& findings) {
  const auto add = [&](Verdict verdict, Severity severity, const std::string& message,
                       const std::string& evidence, const std::string& remedy) {
    findings.push_back(finding_of("train.limits", verdict, severity, message, evidence, remedy));
  };
  if (const Process* one = first_of(read, [](const Process& p) { return !p.memlock || !p.nofile || !p.shm; }))
    return add(Verdict::unknown, Severity::note,
               fmt::format("the limits of rank {} could not be read", one->rank), "", "");
  const std::size_t before = findings.size();
  if (const Process* one = first_of(read, [](const Process& p) { return p.memlock && *p.memlock >= 0; });
      one && requests_rdma(job))
    add(Verdict::fail, Severity::warning,
        fmt::format("rank {} may lock {} of memory, and RDMA needs no limit", one->rank,
                    limit_text(*one->memlock)),
        "RLIMIT_MEMLOCK in its container",
        "LimitMEMLOCK=infinity for the container runtime's unit on the nodes, then: systemctl restart "
        "containerd");
  if (const Process* one = first_of(read, [](const Process& p) { return *p.shm <= default_shm; }))
    add(Verdict::fail, Severity::warning,
        fmt::format("/dev/shm of rank {} has {}", one->rank, limit_text(*one->shm)),
        "data loaders with workers fail there with a bus error",
        "--shm 8Gi, or in a manifest an emptyDir with medium: Memory at /dev/shm");
  if (const Process* one =
          first_of(read, [](const Process& p) { return *p.nofile >= 0 && *p.nofile < few_files; }))
    add(Verdict::fail, Severity::note, fmt::format("rank {} may open {} files", one->rank, *one->nofile),
        "RLIMIT_NOFILE in its container",
        "if a data loader reports 'Too many open files': sh -c 'ulimit -n 65536; exec COMMAND'");
  if (findings.size() > before) return;
  const Process& first = read.processes.front();
  add(Verdict::pass, Severity::warning, "the limits of the ranks suffice",
      fmt::format("locked memory {}, {} open files, /dev/shm {}", limit_text(*first.memlock),
                  *first.nofile < 0 ? "unlimited" : std::to_string(*first.nofile), limit_text(*first.shm)),
      "");
}

/// A property that all ranks must have in common.
struct Common {
  const char* id;
  Severity severity;
  const char *unknown, *same, *different;  ///< sentences; {}: the rank, the value
  const char* remedy;
};

/// `value_of`: the value in a process; empty: not read.
template <class ValueOf>
void judge_common(const AllReduce& read, const Common& common, ValueOf value_of,
                  std::vector<Finding>& findings) {
  std::map<std::string, int> ranks;  // by value, the first one with it
  for (const Process& process : read.processes) {
    const std::string value = value_of(process);
    if (value.empty())
      return findings.push_back(finding_of(common.id, Verdict::unknown, Severity::note,
                                           fmt::format(fmt::runtime(common.unknown), process.rank)));
    ranks.emplace(value, process.rank);
  }
  if (ranks.size() == 1)
    return findings.push_back(finding_of(common.id, Verdict::pass, common.severity,
                                         fmt::format(fmt::runtime(common.same), ranks.begin()->first)));
  std::string seen;
  for (const auto& [value, rank] : ranks)
    seen += fmt::format("{}{} in rank {}", seen.empty() ? "" : ", ", value, rank);
  findings.push_back(
      finding_of(common.id, Verdict::fail, common.severity, common.different, seen, common.remedy));
}

}  // namespace

std::vector<Finding> judge_ranks(const TrainJob& job, const AllReduce& read) {
  std::vector<Finding> findings;
  if (read.processes.empty()) return findings;
  judge_limits(job, read, findings);
  judge_common(
      read,
      {"train.mtu", Severity::warning, "the MTU of rank {} could not be read", "the pods have an MTU of {}",
       "the pods of the ranks have different MTUs", "gpuadm doctor --only net on their nodes"},
      [](const Process& process) { return process.mtu ? std::to_string(*process.mtu) : std::string(); },
      findings);
  // Ranks without a GPU use gloo, which the check train.all-reduce says.
  if (std::ranges::all_of(read.processes, [](const Process& process) { return process.backend == "nccl"; }))
    judge_common(
        read,
        {"train.nccl", Severity::blocker, "the version of NCCL in rank {} could not be read",
         "the ranks have NCCL {}", "the ranks have different versions of NCCL",
         "one image for all ranks, by its digest: --image NAME@sha256:..."},
        [](const Process& process) { return process.nccl; }, findings);
  return findings;
}

}  // namespace workload
