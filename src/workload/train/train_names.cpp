#include "workload/train/train_names.hpp"

#include "gpuadm/base/text.hpp"

#include "workload/train/train_pod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

namespace workload {

namespace {

using base::Tree;

constexpr std::size_t most_ports = 16;
constexpr long long lowest_port = 1024, highest_port = 65'535;

bool is_of_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Calls `use` with each part of a text that may be a DNS label.
void for_each_label(std::string_view text, const std::function<void(std::string_view)>& use) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_of_a_name(text[end])) ++end;
    if (end > i) use(text.substr(i, end - i));
    i = end + 1;
  }
}

/// Calls `use` with each word of commands and arguments, and each value of a variable, of all containers.
void for_each_word_of(const Tree& pod, const std::function<void(const Tree&)>& use) {
  for (const char* kind : {"initContainers", "containers"}) {
    const Tree* containers = pod.find(kind);
    if (!containers) continue;
    for (const Tree& container : containers->items()) {
      for (const char* key : {"command", "args"})
        if (const Tree* words = container.find(key))
          for (const Tree& word : words->items()) use(word);
      if (const Tree* variables = container.find("env"))
        for (const Tree& one : variables->items())
          if (const Tree* value = one.find("value")) use(*value);
    }
  }
}

void for_each_word(const TrainJob& job, const std::function<void(const Tree&)>& use) {
  for (const Role& role : job.roles) for_each_word_of(role.pod, use);
}

/// The same, and each value of the ConfigMaps that are created with the job: they may be its scripts.
void for_each_text(const TrainJob& job, const std::function<void(const Tree&)>& use) {
  for_each_word(job, use);
  for (const Tree& one : job.companions)
    if (const Tree* data = text_of(one, "kind") == "ConfigMap" ? one.find("data") : nullptr)
      for (const auto& [name, value] : data->entries()) use(value);
}

/// The name without the number at its end: "mnist-worker-" of "mnist-worker-12".
std::string_view without_number(std::string_view name) {
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  return name;
}

/// The numbers in a word that may be ports: behind ':' or '='; the whole word if `is_port`.
void add_ports(std::string_view word, bool is_port, std::vector<int>& ports) {
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool begins = i == 0 ? is_port : word[i - 1] == ':' || word[i - 1] == '=';
    if (!begins || !is_digit(word[i])) continue;
    std::size_t end = i;
    while (end < word.size() && is_digit(word[end])) ++end;
    const auto number = base::to_int(word.substr(i, end - i));
    const bool ends = end == word.size() || std::string_view(" \t\n\"',;\\/").contains(word[end]);
    if (ends && number && *number >= lowest_port && *number <= highest_port && ports.size() < most_ports &&
        std::ranges::find(ports, static_cast<int>(*number)) == ports.end())
      ports.push_back(static_cast<int>(*number));
    i = end;
  }
}

/// The forms of the name of a rank: of the pod, of its operator's Services, of cluster DNS.
std::vector<std::string> host_forms(const TrainJob& job, int rank) {
  const std::string& host = job.hosts.at(static_cast<std::size_t>(rank));
  std::vector<std::string> forms = {host, fmt::format("{}.{}-worker", host, job.name)};
  for (const std::string& domain : {std::string(), "." + job.name}) {
    if (!domain.empty()) forms.push_back(host + domain);
    for (const char* rest : {"", ".svc", ".svc.cluster.local"})
      forms.push_back(fmt::format("{}{}.{}{}", host, domain, job.ns, rest));
  }
  return forms;
}

}  // namespace

std::set<std::string> expanded_variables(const TrainJob& job) {
  std::set<std::string> names;
  for_each_word(job, [&](const Tree& text) {
    const std::string word = text.text();
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
      if (word[i] != '$') continue;
      // "$$" is a dollar sign.
      if (word[i + 1] == '$') {
        ++i;
        continue;
      }
      const std::size_t end = word.find(')', i);
      if (word[i + 1] == '(' && end != std::string::npos) names.insert(word.substr(i + 2, end - i - 2));
    }
  });
  return names;
}

std::set<int> named_ranks(const TrainJob& job) {
  std::set<int> ranks;
  if (job.hosts.empty()) return ranks;
  std::map<std::string, int, std::less<>> known;
  for (std::size_t i = 0; i < job.hosts.size(); ++i) known.emplace(job.hosts[i], static_cast<int>(i));
  for_each_text(job, [&](const Tree& word) {
    for_each_label(word.text(), [&](std::string_view label) {
      if (const auto found = known.find(label); found != known.end()) ranks.insert(found->second);
    });
  });
  return ranks;
}

bool uses_hosts(const TrainJob& job) {
  return job.ranks() > 1 && !job.hosts.empty() &&
         (job.framework == Framework::mpi || !named_ranks(job).empty());
}

std::optional<UnknownHost> unknown_host(const TrainJob& job) {
  std::set<std::string, std::less<>> known(job.hosts.begin(), job.hosts.end()), prefixes;
  for (const std::string& host : job.hosts)
    if (is_digit(host.back())) prefixes.emplace(without_number(host));
  std::optional<UnknownHost> unknown;
  for_each_word(job, [&](const Tree& word) {
    for_each_label(word.text(), [&](std::string_view label) {
      if (is_digit(label.back()) && prefixes.contains(without_number(label)) && !known.contains(label))
        unknown = {std::string(label), &word};
    });
  });
  return unknown;
}

std::vector<int> ports_of(const TrainJob& job) {
  std::vector<int> ports = {job.framework == Framework::mpi ? ssh_port_of(job, 0) : job.port};
  bool is_port = false;
  for_each_text(job, [&](const Tree& text) {
    const std::string word = text.text();
    add_ports(word, is_port, ports);
    is_port = word.starts_with("-") && (word.contains("port") || word.contains("endpoint"));
  });
  return ports;
}

std::vector<TrainService> services_of(const TrainJob& job) {
  std::vector<TrainService> services;
  if (job.ranks() == 1) return services;
  if (uses_hosts(job)) {
    services.push_back({job.name, std::nullopt});
    std::set<int> ranks = named_ranks(job);
    ranks.insert(0);
    if (job.framework == Framework::tensorflow)
      for (int rank = 0; rank < job.ranks(); ++rank) ranks.insert(rank);
    for (const int rank : ranks) services.push_back({job.hosts.at(static_cast<std::size_t>(rank)), rank});
  } else if (job.framework == Framework::tensorflow) {
    for (int rank = 0; rank < job.ranks(); ++rank)
      services.push_back({fmt::format("{}-{}", job.name, rank), rank});
  } else {
    services.push_back({job.name, 0});
  }
  return services;
}

Tree host_aliases(const TrainJob& job, int rank, const TrainContext& context) {
  Tree aliases = Tree::list();
  for (const int named : named_ranks(job)) {
    const auto address = context.addresses.find(job.hosts.at(static_cast<std::size_t>(named)));
    if (named != rank && address == context.addresses.end()) continue;
    Tree names = Tree::list();
    for (const std::string& form : host_forms(job, named))
      // The kubelet itself adds the name of a pod, with its address.
      if (named != rank || form != job.hosts.at(static_cast<std::size_t>(named))) names.push(form);
    aliases.push(Tree::map_of(
        {{"ip", named == rank ? "127.0.0.1" : address->second}, {"hostnames", std::move(names)}}));
  }
  return aliases;
}

}  // namespace workload
