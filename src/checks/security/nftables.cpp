#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"
#include "checks/security/ports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::NftChain;

/// The words of a rule without counters and comments: `ip saddr 10.0.0.0/8 counter packets 1 bytes 60
/// accept`.
std::vector<std::string> words_of(std::string_view rule) {
  std::vector<std::string> words;
  const std::string plain(rule.substr(0, rule.find(" comment ")));
  const auto all = base::words(plain);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == "counter") continue;
    if ((all[i] == "packets" || all[i] == "bytes") && i + 1 < all.size() && base::to_int(all[i + 1]))
      ++i;
    else
      words.emplace_back(base::replace_all(base::replace_all(std::string(all[i]), "\"", ""), ",", ""));
  }
  return words;
}

/// "drop", "reject with icmpx admin-prohibited": without a condition.
bool drops_all(const std::vector<std::string>& words) {
  return !words.empty() && (words[0] == "drop" || words[0] == "reject");
}

bool accepts(const std::vector<std::string>& words) {
  return has(words, "accept");
}

bool jumps(const std::vector<std::string>& words) {
  return has(words, "jump") || has(words, "goto");
}

bool is_link_of_pods(const Subject& s, std::string_view word) {
  const auto links = base::words(spec::row_of(s.cluster.network.plugin).links);
  return std::ranges::any_of(links, [&](std::string_view link) {
    return word == link || (word.ends_with('*') && link.starts_with(word.substr(0, word.size() - 1)));
  });
}

bool is_network_of_pods(const Subject& s, std::string_view word) {
  const auto one = base::Cidr::parse(word);
  return one && std::ranges::any_of(base::split(s.cluster.network.pod_cidr, ','), [&](std::string_view cidr) {
           const auto pods = base::Cidr::parse(cidr);
           return pods && (one->contains(*pods) || pods->contains(*one));
         });
}

/// Whether a rule accepts packets whatever they contain: it has no condition, one about pods, or one that
/// excludes
/// ("iifname != wan0").
bool accepts_pods(const Subject& s, const std::vector<std::string>& words) {
  if (!accepts(words)) return false;
  return words[0] == "accept" || std::ranges::any_of(words, [&](const std::string& word) {
           return word == "!=" || is_link_of_pods(s, word) || is_network_of_pods(s, word);
         });
}

/// Whether a word of a rule, "6443", "2379-2380" or "30000-32767", contains a range of ports.
bool contains_ports(std::string_view word, int first, int last) {
  const std::size_t dash = word.find('-');
  const auto from = base::to_int(word.substr(0, dash)),
             to = dash == std::string_view::npos ? from : base::to_int(word.substr(dash + 1));
  return from && to && *from <= first && last <= *to;
}

/// Whether a rule may accept connections to a port, "10250/tcp", from other nodes: by the port, or by
/// interface or address without a port.
bool accepts_port(const std::vector<std::string>& words, std::string_view port) {
  if (!accepts(words) || has(words, "lo")) return false;
  const std::string_view numbers = port.substr(0, port.find('/'));
  const auto first = base::to_int(numbers.substr(0, numbers.find('-'))),
             last = base::to_int(
                 numbers.substr(numbers.find('-') == std::string_view::npos ? 0 : numbers.find('-') + 1));
  if (!first || !last) return true;
  if (has(words, "dport"))
    return std::ranges::any_of(words, [&](const std::string& word) {
      return contains_ports(word, static_cast<int>(*first), static_cast<int>(*last));
    });
  return words[0] == "accept" || has(words, "!=") || has(words, "saddr") || has(words, "iif") ||
         has(words, "iifname");
}

std::string place_of(const NftChain& chain) {
  return fmt::format("{} {} {}", chain.family, chain.table, chain.name);
}

std::string end_of(const NftChain& chain) {
  return fmt::format("table {} {}, chain {}: {}", chain.family, chain.table, chain.name,
                     chain.policy == "drop" ? "policy drop" : "the last rule drops what is left");
}

constexpr std::string_view in_file = "; and the same in the file that loads the rules (/etc/nftables.conf)";

void forward_chain(const Subject& s, const NftChain& chain,
                   const std::vector<std::vector<std::string>>& rules, Verdicts& out) {
  if (std::ranges::any_of(rules, [&](const auto& words) { return accepts_pods(s, words); })) return;
  std::vector<std::string> commands;
  for (const std::string_view cidr : base::split(s.cluster.network.pod_cidr, ','))
    for (const std::string_view side : {"saddr", "daddr"})
      commands.push_back(fmt::format("nft insert rule {} {} {} {} accept", place_of(chain),
                                     cidr.contains(':') ? "ip6" : "ip", side, base::trim(cidr)));
  out.fail(Severity::warning, "nftables drops packets of pods",
           fmt::format("{}, and no rule accepts packets of {}", end_of(chain), s.cluster.network.pod_cidr),
           fmt::format("{}{}", fmt::join(commands, "; "), in_file));
}

void input_chain(const Subject& s, const NftChain& chain, const std::vector<std::vector<std::string>>& rules,
                 Verdicts& out) {
  std::vector<std::string> wanted;
  if (s.cluster.hosts.size() > 1)
    wanted = ports_between_nodes(s);
  else if (std::ranges::none_of(rules, [&](const auto& words) { return accepts_pods(s, words); }))
    wanted = {"6443/tcp"};  // pods connect to the API server at the host's address
  std::vector<std::string> closed, commands;
  for (const std::string& port : wanted) {
    if (std::ranges::any_of(rules, [&](const auto& words) { return accepts_port(words, port); })) continue;
    const std::size_t slash = port.find('/');
    closed.push_back(port);
    commands.push_back(fmt::format("nft insert rule {} {} dport {} accept", place_of(chain),
                                   port.substr(slash + 1), port.substr(0, slash)));
  }
  if (closed.empty()) return;
  out.fail(Severity::warning,
           s.cluster.hosts.size() > 1 ? "nftables drops packets of other nodes"
                                      : "nftables drops packets from pods to the API server",
           fmt::format("{}, and no rule accepts {}", end_of(chain), list(closed)),
           fmt::format("{}{}", fmt::join(commands, "; "), in_file));
}

/// A packet must pass every base chain of its hook; an accept in one of them does not overrule a drop in
/// another.
void nftables_drops(const Subject& s, Verdicts& out) {
  const auto& chains = s.facts.network.firewall.nft_chains;
  if (!chains) {
    if (!has(s.facts.software.tools, "nft")) return out.skip("nft is not installed");
    if (!is_loaded(s.facts, "nf_tables")) return out.pass("the kernel has no tables of nftables");
    return out.unknown("the chains of nftables could not be read");
  }
  for (const NftChain& chain : *chains) {
    if (chain.table == "firewalld") continue;  // sec.firewalld.active judges its zones
    std::vector<std::vector<std::string>> rules;
    for (const std::string& rule : chain.rules)
      if (auto words = words_of(rule); !words.empty()) rules.push_back(std::move(words));
    if (chain.policy != "drop" && std::ranges::none_of(rules, drops_all)) continue;
    if (std::ranges::any_of(rules, jumps))
      out.unknown(fmt::format("{} jumps to chains that were not read", place_of(chain)));
    else if (chain.hook == "forward")
      forward_chain(s, chain, rules, out);
    else
      input_chain(s, chain, rules, out);
  }
}

constexpr std::array nftables_rows = std::to_array<Check>({
    {"sec.nftables.drops", "nftables accepts packets of pods and of other nodes",
     "a packet passes only if the chains of all tables accept it",
     "nftables tools /proc/modules /sys/module/", preflight | node, nftables_drops},
});

}  // namespace

std::span<const Check> nftables_checks() {
  return nftables_rows;
}

}  // namespace checks
