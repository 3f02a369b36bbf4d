#include "facts/sections/section_lines.hpp"

#include "gpuadm/facts/nvidia.hpp"

#include "facts/text/words.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace facts::lines {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool begins_with_one_of(Line line, std::initializer_list<Line> words) {
  line = base::trim(line);
  return std::ranges::any_of(words, [&](Line word) { return line.starts_with(word); });
}

}  // namespace

bool number(Line line) {
  const auto words = base::words(line);
  return !words.empty() && base::to_real(words[0]);
}

bool number_range(Line line) {
  line = base::trim(line);
  return !line.empty() && is_digit(line[0]) && line.find_first_not_of("0123456789-,") == Line::npos;
}

bool version(Line line) {
  return version_in(line).has_value();
}

bool static_pod(Line line) {
  const Line name = line.substr(0, line.find(' '));
  return name == "etcd" || (name.starts_with("kube-") && name.size() < 40);
}

bool folder_mode(Line line) {
  const auto all = base::words(line);
  return all.size() >= 4 && all[0].size() >= 10 && line.find(" /") != Line::npos &&
         all[1].find_first_not_of("0123456789") == Line::npos &&
         all[2].find_first_not_of("0123456789") == Line::npos;
}

bool file_mode(Line line) {
  const auto all = base::words(line);
  return all.size() >= 4 && line.find(" /") != Line::npos &&
         all[0].find_first_not_of("01234567") == Line::npos && all[0].size() <= 5;
}

bool assignment(Line line) {
  return line.find('=') != Line::npos;
}

bool named(Line line) {
  const std::size_t colon = line.find(':');
  return colon != Line::npos && colon > 0 && line.substr(0, colon).find(' ') == Line::npos &&
         std::ranges::any_of(line.substr(colon), is_digit);
}

bool one_word(Line line) {
  return base::words(line).size() == 1;
}

bool path(Line line) {
  return line.starts_with('/');
}

bool path_value(Line line) {
  return line.starts_with('/') && line.find(' ') != Line::npos;
}

bool kernel_module(Line line) {
  return line.find(".ko") != Line::npos;
}

bool kernel_option(Line line) {
  return line.starts_with("CONFIG_") && assignment(line);
}

bool mount(Line line) {
  const auto found = base::words(line);
  return found.size() >= 6 && found[1].starts_with('/');
}

bool mount_info(Line line) {
  return base::words(line).size() >= 7 && line.find(" - ") != Line::npos;
}

bool loaded_module(Line line) {
  const auto found = base::words(line);
  return found.size() >= 3 && count(found[1]);
}

bool swap_area(Line line) {
  return line.starts_with("Filename") || (path(line) && words<5>(line));
}

bool controllers(Line line) {
  const auto found = base::words(line);
  return std::ranges::find(found, "cpu") != found.end() ||
         std::ranges::find(found, "memory") != found.end() || std::ranges::find(found, "pids") != found.end();
}

bool cgroup(Line line) {
  return line.starts_with('#') || (base::words(line).size() == 4 && count(base::words(line)[3]));
}

bool free_blocks(Line line) {
  return line.starts_with("Node ") && line.find("zone") != Line::npos;
}

bool kernel_version(Line line) {
  return line.starts_with("Linux version");
}

bool load(Line line) {
  return base::words(line).size() == 5 && number(line);
}

bool process(Line line) {
  return !line.empty() && is_digit(line[0]) && line.find(" (") != Line::npos && line.find(") ") != Line::npos;
}

bool kernel_parameter(Line line) {
  return line.find('.') < line.find(' ') && line.find(' ') != Line::npos;
}

bool kind_path(Line line) {
  const auto found = base::words(line);
  static constexpr std::array<Line, 4> kinds = {"file", "directory", "socket", "device"};
  return found.size() >= 2 && found[1].starts_with('/') && std::ranges::find(kinds, found[0]) != kinds.end();
}

bool name_path(Line line) {
  const auto found = base::words(line);
  return found.size() == 2 && found[1].starts_with('/');
}

bool pci_function(Line line) {
  return line.find(':') < line.find(' ') && line.find(" class=") != Line::npos &&
         line.find(" vendor=") != Line::npos && line.find(" driver=") != Line::npos;
}

bool file_system(Line line) {
  return path(line) && line.find(" type=") != Line::npos && line.find(" free=") != Line::npos;
}

bool network_link(Line line) {
  return line.find(" mtu=") != Line::npos && line.find(" state=") != Line::npos;
}

bool ip_link(Line line) {
  return !line.empty() && is_digit(line[0]) && line.find(": ") != Line::npos;
}

bool ip_address(Line line) {
  return line.find(" inet ") != Line::npos || line.find(" inet6 ") != Line::npos;
}

bool route(Line line) {
  return line.find(" dev ") != Line::npos || line.find(" via ") != Line::npos ||
         line.find("nexthop") != Line::npos || line.starts_with("blackhole") ||
         line.starts_with("unreachable") || line.starts_with("prohibit");
}

bool listener(Line line) {
  return line.starts_with("State") || line.starts_with("LISTEN");
}

bool proc_listener(Line line) {
  return line.find(": ") != Line::npos && words<4>(line);
}

bool address_of_name(Line line) {
  const auto found = base::words(line);
  return !found.empty() && found[0].find_first_of(".:") != Line::npos;
}

bool iptables_version(Line line) {
  return line.starts_with("iptables v");
}

bool iptables_rule(Line line) {
  return line.starts_with(':') || line.starts_with("-A ");
}

bool nft_table(Line line) {
  return line.starts_with("table ") && line.ends_with(" {");
}

/// "public (active)", "docker", "  sources: 10.244.0.0/16".
bool firewall_zone(Line line) {
  const auto words = base::words(line);
  if (words.empty()) return false;
  return line.starts_with(' ') ? words[0].ends_with(':') : words.size() == 1 || words[1].starts_with('(');
}

bool package(Line line) {
  return base::words(line).size() == 4;
}

bool package_lock(Line line) {
  return path(line) && line.find(" pid=") != Line::npos;
}

bool enabled(Line line) {
  line = base::trim(line);
  return line == "0" || line == "1" || line == "Y" || line == "N";
}

bool plugin(Line line) {
  return line.starts_with("TYPE") || line.find("io.containerd.") != Line::npos;
}

bool json_or_error(Line line) {
  return line.find_first_of("{}:") != Line::npos;
}

bool certificate(Line line) {
  return (path(line) || line.starts_with("https:")) && line.ends_with(" GMT");
}

bool manifest(Line line) {
  return line.find(' ') == Line::npos;
}

bool smi_list(Line line) {
  return line.starts_with("GPU ") || line.starts_with(" ") || line.starts_with("WARNING") ||
         line.starts_with("No devices");
}

bool smi_row(Line line) {
  return line.find(',') != Line::npos;
}

bool smi_links(Line line) {
  line = base::trim(line);
  return line.starts_with("GPU ") || line.starts_with("Link ") || line.find("NVLink") != Line::npos;
}

bool smi_topology(Line line) {
  return line.find("GPU0") != Line::npos;
}

bool xml(Line line) {
  return line.find('<') != Line::npos;
}

bool library(Line line) {
  return path(line) && line.find(".so") != Line::npos;
}

bool driver_root(Line line) {
  return path(line) && words<3>(line);
}

bool module_version(Line line) {
  return line.find("NVRM version") != Line::npos || line.find("GCC version") != Line::npos;
}

bool acs(Line line) {
  return line.find("ACSCtl") != Line::npos;
}

bool log_line(Line line) {
  return line.find('[') != Line::npos;
}

bool drive(Line line) {
  return line.starts_with("/dev/") && line.find(':') != Line::npos;
}

bool denial(Line line) {
  return line.find("avc:") != Line::npos;
}

bool metric(Line line) {
  return line.starts_with("etcd_");
}

bool time_source(Line line) {
  return line.find(" : ") != Line::npos;
}

bool quarantine_entry(Line line) {
  return line.starts_with('#') || quarantined_in(line).has_value();
}

bool has_colon(Line line) {
  return line.find(':') != Line::npos;
}

bool has_brace(Line line) {
  return line.find_first_of("{}") != Line::npos;
}

bool setting(Line line) {
  line = base::trim(line);
  return line.find('=') != Line::npos || line.starts_with('[') || line.starts_with('#');
}

bool resolver(Line line) {
  return begins_with_one_of(line, {"nameserver", "search", "options", "domain", "sortlist", "#", ";"});
}

bool fstab_entry(Line line) {
  const auto found = base::words(line);
  return found.size() >= 4 && (found[1].starts_with('/') || found[1] == "none" || found[1] == "swap");
}

bool multipath_rule(Line line) {
  return begins_with_one_of(line, {"blacklist", "devnode"});
}

bool overlay(Line line) {
  return line.find("overlay") != Line::npos;
}

bool inotify(Line line) {
  return begins_with_one_of(line, {"instances", "refused"});
}

bool repository(Line line) {
  return setting(line) || begins_with_one_of(line, {"deb", "Types:", "URIs:", "Suites:", "Signed-By:"});
}

bool container_tab(Line line) {
  return line.find('\t') != Line::npos || line.starts_with("source ");
}

bool row(Line line) {
  return line.find('\t') != Line::npos;
}

bool api_answer(Line line) {
  return line.starts_with('[') || line.find_first_of("{}") != Line::npos || line.find("check") != Line::npos;
}

bool prometheus(Line line) {
  return line.starts_with('#') || line.find('{') != Line::npos;
}

}  // namespace facts::lines
