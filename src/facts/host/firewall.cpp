#include "facts/host/firewall.hpp"

#include "gpuadm/base/text.hpp"

#include "facts/text/words.hpp"

namespace facts {

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
  for (const std::string_view line : sections.lines("iptables-filter")) {
    const auto words = base::words(line);
    if (words.size() > 1 && words[0].starts_with(':'))
      firewall.policies.emplace(words[0].substr(1), words[1]);
    else
      firewall.rules.emplace_back(line);
  }
  return firewall;
}

}  // namespace facts
