#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/tree/tree.hpp"

namespace facts {

namespace {

/// `none [integrity] confidentiality`
std::string chosen(const std::string& text) {
  const std::size_t open = text.find('['), close = text.find(']');
  return open == std::string::npos || close == std::string::npos || close < open
             ? ""
             : text.substr(open + 1, close - open - 1);
}

}  // namespace

void read_security(const Sections& sections, Facts& facts) {
  Security& security = facts.security;
  if (const auto enforce = sections.first("/sys/fs/selinux/enforce"))
    security.selinux = *enforce == "1" ? "enforcing" : "permissive";
  if (const Section* denials = sections.find("selinux-denials"))
    security.selinux_denials.emplace(denials->lines.begin(), denials->lines.end());
  if (const auto enabled = sections.first("/sys/module/apparmor/parameters/enabled"))
    security.apparmor = *enabled == "Y";
  security.lockdown = chosen(sections.first("/sys/kernel/security/lockdown").value_or(""));
  // Four bytes of attributes, then the value.
  if (const Section* variable = sections.find("secure-boot"); variable && variable->status == 0) {
    const std::string bytes = variable->first();
    if (const auto words = base::words(bytes); words.size() == 5) security.secure_boot = words[4] == "1";
  }
}

Tree security_state_tree(const Security& s) {
  return Tree::map_of({{"lockdown", s.lockdown},
                       {"secureBoot", tree_of(s.secure_boot)},
                       {"selinuxDenials", list_of(s.selinux_denials)}});
}

}  // namespace facts
