#pragma once

#include "gpuadm/base/text.hpp"

#include <cstddef>
#include <string_view>

/// Formats of a line of a section, for the table of sections' formats. Each returns whether a line may be
/// from its source.
namespace facts::lines {

using Line = std::string_view;

/// At least this many words.
template <std::size_t least>
[[nodiscard]] bool words(Line line) {
  return base::words(line).size() >= least;
}

[[nodiscard]] bool number(Line line);
/// "0", "0-1"
[[nodiscard]] bool number_range(Line line);
[[nodiscard]] bool version(Line line);
[[nodiscard]] bool assignment(Line line);
/// As in /proc/self/status and /proc/meminfo.
[[nodiscard]] bool named(Line line);
[[nodiscard]] bool one_word(Line line);
/// A line that begins with a path.
[[nodiscard]] bool path(Line line);
/// "path value"
[[nodiscard]] bool path_value(Line line);
/// "kube-apiserver --flag=value"
[[nodiscard]] bool static_pod(Line line);
/// "drwx------ 0 0 /path"
[[nodiscard]] bool folder_mode(Line line);
/// "600 root root /path"
[[nodiscard]] bool file_mode(Line line);
[[nodiscard]] bool kernel_module(Line line);
[[nodiscard]] bool kernel_option(Line line);
[[nodiscard]] bool mount(Line line);
[[nodiscard]] bool mount_info(Line line);
[[nodiscard]] bool loaded_module(Line line);
[[nodiscard]] bool swap_area(Line line);
[[nodiscard]] bool controllers(Line line);
[[nodiscard]] bool cgroup(Line line);
[[nodiscard]] bool free_blocks(Line line);
[[nodiscard]] bool kernel_version(Line line);
[[nodiscard]] bool load(Line line);
[[nodiscard]] bool process(Line line);
[[nodiscard]] bool kernel_parameter(Line line);
[[nodiscard]] bool kind_path(Line line);
[[nodiscard]] bool name_path(Line line);
[[nodiscard]] bool pci_function(Line line);
[[nodiscard]] bool file_system(Line line);
[[nodiscard]] bool network_link(Line line);
[[nodiscard]] bool ip_link(Line line);
[[nodiscard]] bool ip_address(Line line);
[[nodiscard]] bool route(Line line);
[[nodiscard]] bool listener(Line line);
[[nodiscard]] bool proc_listener(Line line);
[[nodiscard]] bool address_of_name(Line line);
[[nodiscard]] bool iptables_version(Line line);
[[nodiscard]] bool iptables_rule(Line line);
[[nodiscard]] bool nft_table(Line line);
[[nodiscard]] bool firewall_zone(Line line);
[[nodiscard]] bool package(Line line);
[[nodiscard]] bool package_lock(Line line);
[[nodiscard]] bool enabled(Line line);
[[nodiscard]] bool plugin(Line line);
[[nodiscard]] bool json_or_error(Line line);
[[nodiscard]] bool certificate(Line line);
[[nodiscard]] bool manifest(Line line);
/// As `nvidia-smi -L` lists GPUs, MIG devices and warnings. A list without a GPU does not match.
[[nodiscard]] bool smi_list(Line line);
[[nodiscard]] bool smi_row(Line line);
[[nodiscard]] bool smi_links(Line line);
[[nodiscard]] bool smi_topology(Line line);
[[nodiscard]] bool xml(Line line);
[[nodiscard]] bool library(Line line);
[[nodiscard]] bool driver_root(Line line);
[[nodiscard]] bool module_version(Line line);
[[nodiscard]] bool acs(Line line);
[[nodiscard]] bool log_line(Line line);
[[nodiscard]] bool drive(Line line);
[[nodiscard]] bool denial(Line line);
[[nodiscard]] bool metric(Line line);
[[nodiscard]] bool time_source(Line line);
[[nodiscard]] bool has_colon(Line line);
/// A comment, or a GPU.
[[nodiscard]] bool quarantine_entry(Line line);
[[nodiscard]] bool has_brace(Line line);
/// Of TOML, and of systemd's and yum's files.
[[nodiscard]] bool setting(Line line);
[[nodiscard]] bool resolver(Line line);
[[nodiscard]] bool fstab_entry(Line line);
[[nodiscard]] bool multipath_rule(Line line);
[[nodiscard]] bool overlay(Line line);
[[nodiscard]] bool inotify(Line line);
[[nodiscard]] bool repository(Line line);
[[nodiscard]] bool container_tab(Line line);
[[nodiscard]] bool row(Line line);
[[nodiscard]] bool api_answer(Line line);
[[nodiscard]] bool prometheus(Line line);

}  // namespace facts::lines
