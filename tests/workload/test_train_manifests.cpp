#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/train_import.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

/// Manifests as people write them for the operators. `expected.txt` is what gpuadm makes of each, and
/// `operator.yaml` what the operators would make of it (env, command, arguments, volumes, names), as their
/// sources say.
namespace {

namespace fs = std::filesystem;
using base::text_at;
using base::Tree;

/// What the container of a rank gets from the kubelet.
struct RankContainer {
  std::string job, host, subdomain;
  std::vector<std::string> command, arguments, expanded;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> host_ports;
  std::map<std::string, std::string> mounts;  ///< volumes by their directories
  std::map<std::string, std::string> aliases;
  std::map<std::string, std::string> labels;
  bool decides = true;
  [[nodiscard]] const std::string* variable(std::string_view name) const {
    const auto found = std::ranges::find(environment, name, &decltype(environment)::value_type::first);
    return found == environment.end() ? nullptr : &found->second;
  }
};

struct ImportOutcome {
  std::string text;
  std::vector<std::string> hosts;
  std::vector<RankContainer> ranks;
  std::map<std::string, int> services;  ///< ranks
  std::vector<int> ports;
};

/// As the kubelet does (third_party/forked/golang/expansion).
std::string expanded(std::string_view text, const RankContainer& rank) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text.find(')', i);
    if (text.substr(i).starts_with("$$")) {
      result += text[i++];
    } else if (text.substr(i).starts_with("$(") && end != std::string_view::npos) {
      const std::string* value = rank.variable(text.substr(i + 2, end - i - 2));
      result += value ? *value : std::string(text.substr(i, end - i + 1));
      i = end;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::vector<std::string> words_of(const Tree& container, std::string_view key) {
  std::vector<std::string> words;
  if (const Tree* list = container.find(key))
    for (const Tree& word : list->items()) words.push_back(word.text());
  return words;
}

RankContainer container_of(const Tree& job, int number) {
  RankContainer rank;
  rank.job = text_at(job, {"metadata", "name"});
  rank.decides = job.at({"metadata", "annotations", "gpuadm.io/ends-with-job"}) == nullptr;
  if (const Tree* labels = job.at({"metadata", "labels"}))
    for (const auto& [name, value] : labels->entries()) rank.labels[name] = value.text();
  const Tree& pod = *job.at({"spec", "template", "spec"});
  rank.host = text_at(pod, {"hostname"});
  rank.subdomain = text_at(pod, {"subdomain"});
  if (const Tree* aliases = pod.find("hostAliases"))
    for (const Tree& alias : aliases->items())
      for (const Tree& name : alias.find("hostnames")->items())
        rank.aliases[name.text()] = text_at(alias, {"ip"});
  const Tree& container = pod.find("containers")->items().front();
  for (const Tree& one : container.find("env")->items()) {
    const std::string field = text_at(one, {"valueFrom", "fieldRef", "fieldPath"});
    const std::string value = field == "status.podIP" ? "POD_IP"
                              : !field.empty()        ? std::to_string(number)
                                                      : expanded(text_at(one, {"value"}), rank);
    rank.environment.emplace_back(text_at(one, {"name"}), value);
  }
  rank.command = words_of(container, "command");
  // The script of gpuadm, which ends with the command.
  while (rank.command.size() >= 4 && rank.command[3] == "gpuadm")
    rank.command.erase(rank.command.begin(), rank.command.begin() + 4);
  rank.arguments = words_of(container, "args");
  for (const std::string& word : rank.arguments) rank.expanded.push_back(expanded(word, rank));
  if (const Tree* ports = container.find("ports"))
    for (const Tree& port : ports->items())
      if (const Tree* number = port.find("hostPort")) rank.host_ports.push_back(number->text());
  if (const Tree* mounts = container.find("volumeMounts"))
    for (const Tree& mount : mounts->items())
      rank.mounts[text_at(mount, {"mountPath"})] = text_at(mount, {"name"});
  return rank;
}

workload::TrainContext kubelet_context(const workload::TrainJob& job) {
  workload::TrainContext context;
  context.form = workload::form_of(job, base::Version{1, 36, 2});
  context.scripts = {"rank script\n", "mpi script\n"};
  if (job.framework == workload::Framework::mpi) context.keys = workload::MpiKeys{"a", "b", "c", "d"};
  return context;
}

void read_services(const std::vector<Tree>& services, workload::TrainContext& context,
                   ImportOutcome& outcome) {
  for (const Tree& service : services) {
    const Tree& selector = *service.at({"spec", "selector"});
    const std::string name = text_at(service, {"metadata", "name"});
    for (const char* label : {"gpuadm.io/rank", "batch.kubernetes.io/job-completion-index"})
      if (const Tree* number = selector.find(label)) {
        outcome.services[name] = static_cast<int>(*base::to_int(number->text()));
        context.addresses[name] = "10.96.0." + number->text();
      }
    if (const Tree* ports = service.at({"spec", "ports"}))
      for (const Tree& port : ports->items())
        outcome.ports.push_back(static_cast<int>(*base::to_int(text_at(port, {"port"}))));
    outcome.text += fmt::format("Service {}{}\n", name,
                                outcome.services.contains(name)
                                    ? fmt::format(": rank {}, ports {}", outcome.services[name],
                                                  base::json::write(*service.at({"spec", "ports"}), 0))
                                    : ": headless");
  }
}

/// Variables that every job has, or that only gpuadm's scripts read.
bool is_usual(std::string_view name) {
  static constexpr std::string_view usual[] = {
      "LOCAL_RANK",      "LOCAL_WORLD_SIZE",     "NODE_RANK",     "GROUP_RANK",  "GPUADM_POD_IP",
      "PET_MASTER_PORT", "PET_MASTER_ADDR",      "PET_NODE_RANK", "GPUADM_MEET", "GPUADM_KEYS",
      "GPUADM_MPI",      "JOB_COMPLETION_INDEX", "GPUADM_ATTEMPT"};
  return std::ranges::find(usual, name) != std::end(usual) || name.contains("ALLOW_RUN_AS_ROOT");
}

std::string as_text(const RankContainer& rank, int number) {
  std::string text = fmt::format(
      "rank {}: job {}{}{}{}\n", number, rank.job, rank.host.empty() ? "" : ", pod " + rank.host,
      rank.subdomain.empty() ? "" : "." + rank.subdomain, rank.decides ? "" : ", ends with the job");
  if (!rank.command.empty()) text += "  command: " + base::join(rank.command, " ") + "\n";
  if (!rank.expanded.empty()) text += "  arguments: " + base::join(rank.expanded, " ") + "\n";
  for (const auto& [name, value] : rank.environment)
    if (!is_usual(name)) text += fmt::format("  {}={}\n", name, value);
  for (const std::string& port : rank.host_ports) text += fmt::format("  port {} of its node\n", port);
  for (const auto& [directory, volume] : rank.mounts) text += fmt::format("  {} is {}\n", directory, volume);
  for (const auto& [name, address] : rank.aliases) text += fmt::format("  {} is {}\n", name, address);
  return text;
}

void read_objects(const workload::TrainJob& job, ImportOutcome& outcome) {
  workload::TrainContext context = kubelet_context(job);
  auto objects = workload::objects_of(job, context);
  if (!objects) {
    outcome.text += fmt::format("error: {}; {}\n", objects.error().what, objects.error().hint);
    return;
  }
  for (const Tree& one : objects->companions)
    outcome.text += fmt::format("{} {}\n", text_at(one, {"kind"}), text_at(one, {"metadata", "name"}));
  read_services(objects->services, context, outcome);
  objects = workload::objects_of(job, context);
  REQUIRE(objects);
  for (const Tree& object : objects->others) {
    if (text_at(object, {"kind"}) != "Job") continue;
    const auto indexes = base::to_int(text_at(object, {"spec", "completions"}));
    for (long long i = 0; i < indexes.value_or(1); ++i)
      outcome.ranks.push_back(container_of(object, static_cast<int>(outcome.ranks.size())));
  }
  for (std::size_t i = 0; i < outcome.ranks.size(); ++i)
    outcome.text += as_text(outcome.ranks[i], static_cast<int>(i));
  const Tree& first = objects->others.back();
  if (const Tree* list = first.at({"spec", "template", "spec", "initContainers"}))
    for (const Tree& one : list->items())
      outcome.text +=
          fmt::format("initContainers: {} {}\n", text_at(one, {"name"}), text_at(one, {"restartPolicy"}));
  if (const Tree* queue = first.at({"metadata", "labels", "kueue.x-k8s.io/queue-name"}))
    outcome.text +=
        fmt::format("queue: {}{}\n", queue->text(), first.at({"spec", "suspend"}) ? ", suspended" : "");
  if (const Tree* restarts = first.at({"metadata", "annotations", "gpuadm.io/restarts"}))
    outcome.text += "restarts: " + restarts->text() + "\n";
}

ImportOutcome import_outcome(const fs::path& folder) {
  ImportOutcome outcome;
  const auto text = base::read_file(folder / "manifest.yaml");
  REQUIRE(text);
  const auto documents = workload::read_manifests(*text, "manifest.yaml");
  if (!documents) {
    outcome.text = "error: " + documents.error().what + "; " + documents.error().hint + "\n";
    return outcome;
  }
  const auto import = workload::import_train(*documents, "manifest.yaml", {.suffix = "x7k2p"});
  if (!import) {
    outcome.text = "error: " + import.error().what + "; " + import.error().hint + "\n";
    return outcome;
  }
  for (const std::string& problem : import->problems) outcome.text += "problem: " + problem + "\n";
  for (const std::string& note : import->notes) outcome.text += "note: " + note + "\n";
  outcome.hosts = import->job.hosts;
  if (import->problems.empty()) read_objects(import->job, outcome);
  return outcome;
}

/// A value with the ranks that it names, by the name of a pod or by an address.
std::string with_ranks(std::string value, int own, const ImportOutcome& outcome) {
  for (std::size_t i = outcome.hosts.size(); i-- > 0;)
    value = base::replace_all(value, outcome.hosts[i], fmt::format("<rank {}>", i));
  for (const auto& [name, rank] : outcome.services)
    value = base::replace_all(value, "10.96.0." + std::to_string(rank), fmt::format("<rank {}>", rank));
  return base::replace_all(value, "POD_IP", fmt::format("<rank {}>", own));
}

void check_config(const Tree& wanted, const RankContainer& rank, int number, const ImportOutcome& outcome) {
  const std::string* text = rank.variable("TF_CONFIG");
  REQUIRE(text);
  const auto config = base::json::read(*text, "TF_CONFIG");
  REQUIRE(config);
  CHECK(*config->find("task") == *wanted.find("task"));
  if (const Tree* cluster = wanted.find("cluster"))
    for (const auto& [role, hosts] : cluster->entries()) {
      const Tree* ours = config->at({"cluster", role});
      REQUIRE(ours);
      REQUIRE(ours->items().size() == hosts.items().size());
      for (std::size_t i = 0; i < hosts.items().size(); ++i)
        CHECK(with_ranks(ours->items()[i].text(), number, outcome) ==
              with_ranks(hosts.items()[i].text() + ":2222", number, outcome));
    }
}

/// What is known of a rank in operator.yaml; another key would not be compared.
constexpr std::array rank_fields = {"pod", "subdomain", "decides", "command", "args",     "expanded",
                                    "env", "without",   "mounts",  "config",  "resolves", "labels"};

void check_rank(const Tree& wanted, const RankContainer& rank, int number, const ImportOutcome& outcome) {
  CAPTURE(number);
  for (const auto& [key, value] : wanted.entries()) {
    CAPTURE(key);
    CHECK(std::ranges::find(rank_fields, key) != rank_fields.end());
    if (key == "pod") CHECK(outcome.hosts.at(static_cast<std::size_t>(number)) == value.text());
    if (key == "subdomain") CHECK(rank.subdomain == value.text());
    if (key == "decides") CHECK(rank.decides == *value.as_bool());
    if (key == "command") CHECK(rank.command == words_of(wanted, key));
    if (key == "args") CHECK(rank.arguments == words_of(wanted, key));
    if (key == "expanded")
      for (std::size_t i = 0; i < value.items().size(); ++i)
        CHECK(with_ranks(rank.expanded.at(i), number, outcome) ==
              with_ranks(value.items()[i].text(), number, outcome));
    if (key == "env")
      for (const auto& [name, set] : value.entries()) {
        CAPTURE(name);
        const std::string* ours = rank.variable(name);
        REQUIRE(ours);
        if (name.starts_with("GPUADM_"))
          CHECK(*ours == set.text());
        else
          CHECK(with_ranks(*ours, number, outcome) == with_ranks(set.text(), number, outcome));
      }
    if (key == "without")
      for (const Tree& name : value.items()) CHECK_MESSAGE(!rank.variable(name.text()), name.text());
    if (key == "mounts")
      for (const auto& [directory, volume] : value.entries()) {
        REQUIRE(rank.mounts.contains(directory));
        CHECK(rank.mounts.at(directory) == volume.text());
      }
    if (key == "labels")
      for (const auto& [name, label] : value.entries()) CHECK(rank.labels.at(name) == label.text());
    if (key == "resolves")
      for (const Tree& name : value.items())
        CHECK_MESSAGE((rank.aliases.contains(name.text()) || rank.host == name.text()), name.text());
    if (key == "config") check_config(value, rank, number, outcome);
  }
}

void compare_with_operator(const fs::path& file, const ImportOutcome& outcome) {
  const auto text = base::read_file(file);
  REQUIRE(text);
  const auto wanted = base::yaml::read(*text, "operator.yaml");
  REQUIRE_MESSAGE(wanted, wanted.error().what);
  const Tree& ranks = *wanted->find("ranks");
  REQUIRE(outcome.ranks.size() == ranks.items().size());
  for (std::size_t i = 0; i < ranks.items().size(); ++i)
    check_rank(ranks.items()[i], outcome.ranks[i], static_cast<int>(i), outcome);
  if (const Tree* ports = wanted->find("ports"))
    for (const Tree& port : ports->items())
      CHECK(std::ranges::find(outcome.ports, static_cast<int>(*port.as_int())) != outcome.ports.end());
}

}  // namespace

TEST_CASE("foreign manifests run as with their operators, or are refused with the place and what to type") {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(GPUADM_TESTS_DIR "/cases/train-manifests"))
    folders.push_back(entry.path());
  std::ranges::sort(folders);
  REQUIRE(folders.size() >= 30);
  for (const fs::path& folder : folders) {
    CAPTURE(folder.filename().string());
    const ImportOutcome outcome = import_outcome(folder);
    if (std::getenv("GPUADM_REWRITE_CASES"))
      REQUIRE(base::write_file(folder / "expected.txt", outcome.text, 0644));
    const auto wanted = base::read_file(folder / "expected.txt");
    REQUIRE(wanted);
    CHECK(outcome.text == *wanted);
    if (fs::exists(folder / "operator.yaml")) compare_with_operator(folder / "operator.yaml", outcome);
  }
}
