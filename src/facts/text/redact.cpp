#include "gpuadm/facts/redact.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "facts/text/redact_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

/// Names of hosts, domains and people; and the whole text.
namespace facts {

namespace {

/// Common words that may be host names and have other meanings in the text.
constexpr std::array common = std::to_array<std::string_view>(
    {"localhost",  "localdomain", "root",   "nvidia",        "gpu",    "node",  "host",    "kubelet",
     "kubernetes", "containerd",  "docker", "debian",        "ubuntu", "linux", "default", "none",
     "system",     "local",       "master", "control-plane", "worker", "admin"});

/// Texts of playbooks/cluster.sh about nodes; Kubernetes names are lower case, unlike kinds.
bool is_table(std::string_view section) {
  return section == "nodes" || section == "leases" || section == "pods" || section == "events" ||
         section == "resourceslices" || section == "resourceclaims" || section == "devicetaintrules";
}

bool is_ambiguous(std::string_view name) {
  return name.size() < 3 || std::ranges::find(common, name) != common.end();
}

}  // namespace

void Redactor::learn(std::string_view name, std::string_view kind) {
  const std::string key = base::lower(name);
  if (key.empty() || key == "localhost" || base::Cidr::parse(key) || names_.contains(key)) return;
  names_.emplace(key, fmt::format("{}{}", kind, ++counts_[std::string(kind)]));
}

void Redactor::learn_host(std::string_view name) {
  if (base::Cidr::parse(name)) return;
  learn(name.substr(0, name.find('.')), "host");
  if (const auto dot = name.find('.'); dot != name.npos) learn(name.substr(dot + 1), "domain");
}

void Redactor::learn_people(std::string_view text) {
  constexpr std::string_view homes = "/home/";
  for (auto at = text.find(homes); at != text.npos; at = text.find(homes, at + homes.size()))
    learn(run(text, at + homes.size(), is_name), "user");
}

void Redactor::learn_from(std::string_view probe) {
  std::string section;
  for (const std::string_view line : base::lines(probe)) {
    if (line.starts_with("=== ")) section = line.substr(4);
    if (!line.starts_with("| ")) continue;
    const std::string_view text = line.substr(2);
    if (section == "/proc/sys/kernel/hostname") learn_host(text);
    if (section == "people") learn(text, "user");
    if (section == "nodes") learn_host(text.substr(0, text.find('\t')));
    if (section.ends_with("resolv.conf") && (text.starts_with("search ") || text.starts_with("domain "))) {
      const auto words = base::words(text);
      for (const std::string_view word : std::span(words).subspan(1)) learn(word, "domain");
    }
    learn_people(text);
  }
}

std::string Redactor::name(std::string_view name) {
  if (base::Cidr::parse(name)) return address(name);
  const auto known = names_.find(base::lower(name));
  return known == names_.end() ? std::string(name) : known->second;
}

std::string_view Redactor::secret() {
  ++secrets_;
  return "***";
}

bool Redactor::take_word(Place& place) {
  const std::string_view word = run(place.text, place.at, is_name);
  if (word.empty()) return false;
  // "NVIDIA H200" is a model, even if a host has the name h200.
  const bool model = place.text.substr(0, place.at).ends_with("NVIDIA ");
  // The longest learned name that ends at the end of a component of the word.
  for (std::size_t end = word.size(); end > 0; --end) {
    if (end < word.size() && word[end] != '.' && word[end] != '-') continue;
    const auto known = names_.find(base::lower(word.substr(0, end)));
    if (known == names_.end()) continue;
    if ((model || is_ambiguous(known->first)) && !place.names &&
        !(place.cells && place.is_cell(known->first)))
      continue;
    used_.insert(known->first);
    place.replace(end, known->second);
    return true;
  }
  return false;
}

std::string Redactor::line(std::string_view text, std::string_view section) {
  std::string plain = base::without_secrets(text, secrets_);
  if (const std::string_view serial = serial_in(plain); !serial.empty()) plain = base::starred(plain, serial);
  const bool names = section == "/proc/sys/kernel/hostname" || section == "resolves";
  Place place{plain, names && plain.starts_with("| "), is_table(section), 0, {}};
  while (place.at < plain.size()) {
    const bool begins = base::begins_word(plain, place.at);
    if (begins && (take_number(place) || take_word(place))) continue;
    place.out += plain[place.at++];
  }
  return place.out;
}

std::string Redactor::operator()(std::string_view text) {
  std::string all;
  bool key = false;
  base::SecretBlock block;
  std::string_view section;
  for (const std::string_view one : base::lines(text)) {
    if (one.starts_with("=== ")) {
      section = one.substr(4);
      key = false;
    }
    if (section == "/proc/net/route" || section == "/proc/net/fib_trie") continue;
    const bool ends = one.find("-----END ") != one.npos;
    if (one.find("-----BEGIN ") != one.npos) key = true;
    if (!key && !block.hides(one)) all += line(one, section) + "\n";
    if (key && ends) all += std::string(one.starts_with("| ") ? "| " : "") + std::string(secret()) + "\n";
    if (ends) key = false;
  }
  return all;
}

Replaced Redactor::replaced() const {
  const auto changed =
      std::ranges::count_if(seen_, [](const auto& pair) { return pair.first != pair.second; });
  return {used_.size(), static_cast<std::size_t>(changed), ids_, secrets_};
}

}  // namespace facts
