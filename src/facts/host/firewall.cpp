#include "facts/host/firewall.hpp"

#include "gpuadm/base/text.hpp"

#include "facts/text/words.hpp"

namespace facts {

namespace {

/// The default zone, then each zone's name and its properties, indented.
void read_zones(const Sections& sections, Firewall& firewall) {
  const Section* section = sections.find("firewalld");
  if (!section || section->status != 0) return;
  std::vector<FirewallZone>& zones = firewall.zones.emplace();
  for (const std::string_view line : section->lines) {
    const auto words = base::words(line);
    if (words.empty()) continue;
    if (firewall.default_zone.empty()) {
      firewall.default_zone = words[0];
    } else if (!line.starts_with(' ')) {
      zones.emplace_back().name = words[0];
    } else if (!zones.empty()) {
      FirewallZone& zone = zones.back();
      const std::vector<std::string> values(words.begin() + 1, words.end());
      if (words[0] == "target:" && !values.empty()) zone.target = values.front();
      if (words[0] == "interfaces:") zone.interfaces = values;
      if (words[0] == "sources:") zone.sources = values;
      if (words[0] == "services:") zone.services = values;
      if (words[0] == "ports:") zone.ports = values;
    }
  }
}

/// "type filter hook forward priority filter; policy drop;". Older versions leave out the policy accept.
void read_hook(const std::vector<std::string_view>& words, NftChain& chain) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "hook") chain.hook = words[i + 1];
    if (words[i] == "policy") chain.policy = words[i + 1].substr(0, words[i + 1].find(';'));
  }
  if (chain.policy.empty()) chain.policy = "accept";
}

/// The output of several `nft list chain`. A long set of a rule is several lines, of which all but the last
/// end with a comma.
void read_nft_chains(const Sections& sections, Firewall& firewall) {
  const Section* section = sections.find("nftables");
  if (!section || section->status != 0) return;
  std::vector<NftChain>& chains = firewall.nft_chains.emplace();
  std::string family, table;
  bool continues = false;
  for (const std::string_view line : section->lines) {
    const auto words = base::words(line);
    if (words.empty() || words[0] == "}") continue;
    if (words[0] == "table" && words.size() > 2) {
      family = words[1];
      table = words[2];
    } else if (words[0] == "chain" && words.size() > 1) {
      chains.push_back({.family = family, .table = table, .name = std::string(words[1])});
    } else if (chains.empty()) {
      continue;
    } else if (words[0] == "type") {
      read_hook({words.begin(), words.end()}, chains.back());
    } else {
      auto& rules = chains.back().rules;
      const std::string text(base::trim(line));
      if (continues && !rules.empty())
        rules.back() += " " + text;
      else
        rules.push_back(text);
      continues = text.ends_with(',');
    }
  }
}

}  // namespace

Firewall read_firewall(const Sections& sections) {
  Firewall firewall;
  if (const auto line = sections.first("iptables")) {
    firewall.iptables = version_in(*line);
    if (line->find("nf_tables") != std::string::npos)
      firewall.backend = "nf_tables";
    else if (firewall.iptables)
      firewall.backend = "legacy";
  }
  for (const std::string_view name : {"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"})
    for (const std::string_view line : sections.lines(name))
      firewall.legacy_tables.emplace_back(base::trim(line));
  if (const auto text = sections.text("/etc/ufw/ufw.conf"))
    firewall.ufw = base::lower(assignments(*text)["ENABLED"]) == "yes";
  if (const auto text = sections.text("/etc/default/ufw"))
    firewall.ufw_forward = assignments(*text)["DEFAULT_FORWARD_POLICY"];
  read_zones(sections, firewall);
  for (const std::string_view line : sections.lines("iptables-filter")) {
    const auto words = base::words(line);
    if (words.size() > 1 && words[0].starts_with(':'))
      firewall.policies.emplace(words[0].substr(1), words[1]);
    else
      firewall.rules.emplace_back(line);
  }
  read_nft_chains(sections, firewall);
  return firewall;
}

}  // namespace facts
