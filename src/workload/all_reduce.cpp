#include "gpuadm/workload/all_reduce.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

namespace workload {

namespace {

using base::Tree;
using report::Finding;
using report::Severity;
using report::Verdict;

constexpr std::string_view mark = "gpuadm-all-reduce ", suffix = "-check";
constexpr std::size_t longest = 50;  // of a name
constexpr int rendezvous_port = 29500;

/// gloo copies through TCP on the CPU. Less than a quarter of a link, up to what a slow core copies, is a
/// problem of the network.
constexpr double least_part = 0.25, least_of_a_core = 0.25;  // of the link; GB/s

/// Items of a list for which `keep` is true; without any, no list.
template <class Keep>
void filter(Tree& map, std::string_view key, Keep keep) {
  const Tree* list = map.find(key);
  if (!list) return;
  Tree kept = Tree::list();
  for (const Tree& item : list->items())
    if (keep(item)) kept.push(item);
  if (kept.items().empty())
    map.erase(key);
  else
    map.set(key, std::move(kept));
}

Tree variable_of(const std::string& name, int value) {
  return Tree::map_of({{"name", name}, {"value", std::to_string(value)}});
}

/// The Pythons of a command that are given by their paths, as those of virtual environments are: theirs is
/// the PyTorch of the job. A torchrun has its Python next to it.
std::vector<std::string> pythons_of(const Tree& container) {
  std::vector<std::string> pythons;
  for (const char* key : {"command", "args"}) {
    const Tree* words = container.find(key);
    if (!words || !words->is_list()) continue;
    for (const Tree& word : words->items()) {
      const std::string* text = word.as_string();
      const auto slash = text && text->starts_with('/') ? text->rfind('/') : std::string::npos;
      if (slash == std::string::npos) continue;
      const std::string_view name = std::string_view(*text).substr(slash + 1);
      if (name == "torchrun")
        pythons.push_back(text->substr(0, slash + 1) + "python3");
      else if (name.starts_with("python") &&
               name.find_first_not_of("0123456789.", std::strlen("python")) == std::string_view::npos)
        pythons.push_back(*text);
    }
  }
  return pythons;
}

bool is_companion(const TrainJob& job, std::string_view kind, const std::string& name) {
  return !name.empty() && std::ranges::any_of(job.companions, [&](const Tree& companion) {
    return text_of(companion, "kind") == kind && text_at(companion, {"metadata", "name"}) == name;
  });
}

/// Whether a volume or a variable needs an object that is created with the job, and not before.
bool needs_companion(const Tree& user, const TrainJob& job) {
  const Tree* from = user.find("valueFrom");
  const Tree& source = from ? *from : user;
  if (is_companion(job, "Secret", text_at(source, {"secret", "secretName"}))) return true;
  for (const char* key : {"secret", "secretRef", "secretKeyRef"})
    if (is_companion(job, "Secret", text_at(source, {key, "name"}))) return true;
  for (const char* key : {"configMap", "configMapRef", "configMapKeyRef"})
    if (is_companion(job, "ConfigMap", text_at(source, {key, "name"}))) return true;
  const Tree* parts = source.at({"projected", "sources"});
  return parts &&
         std::ranges::any_of(parts->items(), [&](const Tree& part) { return needs_companion(part, job); });
}

Tree test_pod(const TrainJob& job, const Tree& pod, int processes, int gpus, int meet) {
  Tree test = pod;
  std::set<std::string> absent;
  filter(test, "volumes", [&](const Tree& volume) {
    if (!volume.find("persistentVolumeClaim") && !needs_companion(volume, job)) return true;
    absent.insert(text_at(volume, {"name"}));
    return false;
  });
  test.erase("initContainers");
  Tree container = pod.find("containers")->items().front();
  for (const char* key : {"env", "envFrom"})
    filter(container, key, [&](const Tree& one) { return !needs_companion(one, job); });
  Tree command = Tree::list_of({"/bin/sh", "all-reduce.sh"});
  for (std::string& python : pythons_of(container)) command.push(Tree(std::move(python)));
  for (const char* key :
       {"args", "workingDir", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe"})
    container.erase(key);
  filter(container, "volumeMounts", [&](const Tree& mount) {
    return !absent.contains(text_at(mount, {"name"})) && text_at(mount, {"mountPath"}) != source_folder;
  });
  container.set("command", std::move(command));
  container["env"].push(variable_of("GPUADM_LOCAL", processes));
  container["env"].push(variable_of("GPUADM_GPUS", gpus));
  container["env"].push(variable_of("GPUADM_MEET", meet));
  test.set("containers", Tree(Tree::List{std::move(container)}));
  return test;
}

int int_at(const Tree& tree, std::string_view key) {
  const Tree* value = tree.find(key);
  return value ? static_cast<int>(std::clamp<std::int64_t>(value->as_int().value_or(0), 0, 1'000'000)) : 0;
}

std::optional<long long> number_at(const Tree& tree, std::string_view key) {
  const Tree* value = tree.find(key);
  return value ? value->as_int() : std::nullopt;
}

std::string word_at(const Tree& tree, std::string_view key) {
  const Tree* value = tree.find(key);
  return value && value->is_string() ? base::printable(value->text(), 400) : "";
}

void read_line(const Tree& line, AllReduce& read) {
  if (const Tree* right = line.find("right"); right && !right->as_bool().value_or(true))
    read.is_right = false;
  if (const Tree* torch = line.find("torch"); torch && torch->is_null()) {
    read.has_torch = false;
    read.why_no_torch = word_at(line, "why");
  } else if (torch) {
    read.processes.push_back({.rank = int_at(line, "process"),
                              .gpus = int_at(line, "gpus"),
                              .torch = word_at(line, "torch"),
                              .cuda = word_at(line, "cuda"),
                              .model = word_at(line, "model"),
                              .backend = word_at(line, "backend"),
                              .nccl = word_at(line, "nccl"),
                              .memlock = number_at(line, "memlock"),
                              .nofile = number_at(line, "nofile"),
                              .shm = number_at(line, "shm"),
                              .mtu = number_at(line, "mtu")});
  } else if (line.find("error")) {
    if (!read.failure)
      read.failure = {int_at(line, "process"), word_at(line, "step") == "meet", word_at(line, "error")};
  } else if (line.find("step")) {
    read.has_met = true;
  } else if (const Tree* bytes = line.find("bytes")) {
    const Tree* seconds = line.find("seconds");
    read.result = {int_at(line, "ranks"), bytes->as_int().value_or(0),
                   seconds ? seconds->as_real().value_or(0) : 0, word_at(line, "backend")};
    if (read.result->ranks < 2 || read.result->bytes <= 0 || read.result->seconds <= 0) read.result.reset();
  }
}

class Judge {
 public:
  explicit Judge(const AllReduceInputs& inputs)
      : in_(inputs),
        // Other frameworks do not meet as PyTorch does.
        severity_(in_.job.framework == Framework::plain ? Severity::blocker : Severity::warning) {}

  std::vector<Finding> all() {
    reduced();
    gpus();
    return std::move(findings_);
  }

 private:
  void add(Verdict verdict, Severity severity, const std::string& message, const std::string& evidence = "",
           const std::string& remedy = "") {
    findings_.push_back(all_reduce_finding(verdict, severity, message, evidence, remedy));
  }

  void reduced() {
    if (in_.read.failure) return failed(*in_.read.failure);
    if (in_.timed_out > 0 && !in_.read.result) return late();
    if (!in_.read.is_right)
      return add(Verdict::fail, severity_, "an all-reduce between the ranks had wrong sums", figures(),
                 "gpuadm verify");
    if (!in_.read.result)
      return add(Verdict::fail, severity_, "an all-reduce between the ranks has no result",
                 (in_.ended.empty() ? "rank 0 printed none" : in_.ended) +
                     (in_.read.last_line.empty() ? "" : "; " + in_.read.last_line),
                 "gpuadm verify --only network,dns");
    const AllReduce::Result& result = *in_.read.result;
    const double floor = floor_of(result);
    if (result.bus() >= floor)
      return add(Verdict::pass, floor > 0 ? Severity::warning : Severity::note,
                 fmt::format("an all-reduce of {} ranks over {} has {:.3g} GB/s of bus bandwidth",
                             result.ranks, result.backend, result.bus()),
                 figures());
    add(Verdict::fail, Severity::warning,
        fmt::format("an all-reduce over gloo has {:.3g} GB/s of bus bandwidth, less than {:.3g} GB/s",
                    result.bus(), floor),
        fmt::format("{}; link {} of {}: {} Mbit/s", figures(), base::printable(in_.speed->link, 40),
                    base::printable(in_.speed->host, 80), in_.speed->megabits),
        "gpuadm doctor --only net; gpuadm verify --only network");
  }

  void failed(const AllReduce::Failure& failure) {
    const std::string error = failure.error + backends() + (in_.ended.empty() ? "" : "; " + in_.ended);
    if (!failure.while_meeting)
      return add(Verdict::fail, severity_,
                 fmt::format("rank {} failed in an all-reduce with the others", failure.rank), error,
                 "gpuadm verify --only network,dns; --env NCCL_DEBUG=INFO shows more");
    const bool one_gpu = failure.error.find("Duplicate GPU") != std::string::npos;
    add(Verdict::fail, severity_, "the ranks do not meet", fmt::format("rank {}: {}", failure.rank, error),
        one_gpu ? "NCCL needs a GPU for each rank: without --pack or shares of GPUs, or use gloo"
                : "gpuadm verify --only network,dns");
  }

  void late() {
    if (in_.read.has_met)
      return add(Verdict::fail, severity_,
                 fmt::format("an all-reduce between the ranks has not ended after {}s", in_.timed_out),
                 figures() + backends(), "gpuadm verify --only network,dns");
    add(Verdict::fail, severity_, fmt::format("the ranks have not met after {}s", in_.timed_out),
        figures() + backends(), "gpuadm verify --only network,dns");
  }

  /// Ranks with different backends never meet.
  [[nodiscard]] std::string backends() const {
    std::set<std::string> names;
    for (const auto& process : in_.read.processes) names.insert(process.backend);
    return names.size() < 2 ? "" : "; some ranks use gloo, because PyTorch sees no GPU there";
  }

  /// GB/s; 0: not known. The ranks of gloo on one node do not use the link.
  [[nodiscard]] double floor_of(const AllReduce::Result& result) const {
    if (!in_.speed || result.backend != "gloo" || in_.job.placement != Placement::one_per_node) return 0;
    return std::min(least_of_a_core, least_part * in_.speed->megabits / 8000);
  }

  [[nodiscard]] std::string figures() const {
    std::string text;
    if (in_.read.result)
      text = fmt::format("{} in {:.3g} ms",
                         base::human_bytes(static_cast<std::uint64_t>(in_.read.result->bytes)),
                         in_.read.result->seconds * 1000);
    if (in_.read.processes.empty()) return text;
    const AllReduce::Process& first = in_.read.processes.front();
    text += (text.empty() ? "" : ", ") + fmt::format("PyTorch {}", first.torch);
    if (!first.cuda.empty()) text += " with CUDA " + first.cuda;
    return first.model.empty() ? text : text + ", " + first.model;
  }

  void gpus() {
    const auto blind = std::ranges::find(in_.read.processes, 0, &AllReduce::Process::gpus);
    const bool wanted = std::ranges::any_of(in_.job.roles, [](const Role& role) { return role.gpus.any(); });
    if (!wanted || blind == in_.read.processes.end()) return;
    const std::string built =
        blind->cuda.empty() ? "it was built without CUDA" : "it was built with CUDA " + blind->cuda;
    add(Verdict::fail, Severity::warning, fmt::format("PyTorch sees no GPU in rank {}", blind->rank),
        fmt::format("PyTorch {}; {}", blind->torch, built),
        blind->cuda.empty() ? "an image whose PyTorch has CUDA" : "gpuadm verify");
  }

  const AllReduceInputs& in_;
  Severity severity_;
  std::vector<Finding> findings_;
};

}  // namespace

double AllReduce::Result::bus() const {
  return 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) / seconds / 1e9;
}

bool pulls_with_companion(const TrainJob& job) {
  return std::ranges::any_of(job.roles, [&](const Role& role) {
    const Tree* secrets = role.pod.find("imagePullSecrets");
    return secrets && std::ranges::any_of(secrets->items(), [&](const Tree& one) {
             return is_companion(job, "Secret", text_of(one, "name"));
           });
  });
}

std::optional<TrainJob> all_reduce_job(const TrainJob& job, const AllReduceScripts& scripts, int meet,
                                       int limit) {
  TrainJob test;
  test.name = job.name.substr(0, longest - suffix.size());
  while (test.name.ends_with('-')) test.name.pop_back();
  test.name += suffix;
  test.ns = job.ns;
  test.placement = job.placement;
  test.port = rendezvous_port;
  test.timeout = limit;
  const bool some = std::ranges::any_of(job.roles, [](const Role& role) { return role.gpus.any(); });
  int processes = 0;
  for (const Role& role : job.roles) {
    if (some && !role.gpus.any()) continue;
    const int mine = processes_for(role.gpus);
    processes = processes == 0 ? mine : std::min(processes, mine);
    test.roles.push_back(role);
  }
  if (test.ranks() * processes < 2) return std::nullopt;
  for (Role& role : test.roles)
    role.pod = test_pod(job, role.pod, processes, role.gpus.any() ? std::max(1, role.gpus.count) : 0, meet);
  test.processes = processes;
  test.source = {{"all-reduce.sh", scripts.start}, {"all-reduce.py", scripts.program}};
  return test;
}

AllReduce read_all_reduce(std::string_view log) {
  AllReduce read;
  for (const std::string_view line : base::lines(log)) {
    const std::size_t place = line.find(mark);
    if (place == std::string_view::npos) {
      if (line.size() > 4) read.last_line = base::printable(line, 300);
      continue;
    }
    const auto tree = base::json::read(line.substr(place + mark.size()), "all-reduce");
    if (tree && tree->is_map()) read_line(*tree, read);
  }
  return read;
}

Finding all_reduce_finding(Verdict verdict, Severity severity, const std::string& message,
                           const std::string& evidence, const std::string& remedy) {
  Finding finding;
  finding.id = "train.all-reduce";
  finding.severity = severity;
  finding.verdict = verdict;
  finding.message = message;
  finding.evidence = base::printable(evidence, 600);
  finding.remedy = remedy;
  return finding;
}

std::vector<Finding> judge_all_reduce(const AllReduceInputs& inputs) {
  std::vector<Finding> findings = Judge(inputs).all();
  std::ranges::move(judge_ranks(inputs.job, inputs.read), std::back_inserter(findings));
  return findings;
}

}  // namespace workload
