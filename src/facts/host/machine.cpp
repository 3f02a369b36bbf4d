#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"

#include <algorithm>
#include <array>

namespace facts {

namespace {

Family family_of(const std::string& id, const std::string& like, const std::vector<std::string>& tools) {
  const std::string all = base::lower(" " + id + " " + like + " ");
  const auto one_of = [&](std::initializer_list<std::string_view> names) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return all.find(" " + std::string(name) + " ") != std::string::npos;
    });
  };
  if (one_of({"debian", "ubuntu", "pureos", "deepin"})) return Family::debian;
  if (one_of({"rhel", "fedora", "centos", "rocky", "almalinux", "amzn", "ol", "openeuler", "hce", "euleros",
              "tencentos", "opencloudos", "anolis", "alinux", "nobara"}))
    return Family::redhat;
  if (one_of({"suse", "opensuse", "sles", "sled", "sles_sap"})) return Family::suse;
  // Some exist with both kinds of packages: UOS and Kylin on desktops with Debian's, on servers with RPM.
  const auto has = [&](std::string_view tool) { return std::ranges::find(tools, tool) != tools.end(); };
  if (one_of({"uos", "kylin"})) {
    if (has("rpm") && (has("dnf") || has("yum"))) return Family::redhat;
    if (has("dpkg") && has("apt-get")) return Family::debian;
  }
  return Family::other;
}

/// The release of Ubuntu or Debian for a code name.
constexpr std::array<std::array<std::string_view, 3>, 9> releases = {{
    {"ubuntu", "18.04", "bionic"},
    {"ubuntu", "20.04", "focal"},
    {"ubuntu", "22.04", "jammy"},
    {"ubuntu", "24.04", "noble"},
    {"ubuntu", "26.04", "resolute"},
    {"debian", "10", "buster"},
    {"debian", "11", "bullseye"},
    {"debian", "12", "bookworm"},
    {"debian", "13", "trixie"},
}};

void read_parent(std::map<std::string, std::string>& values, Os& os) {
  os.parent_id = os.id, os.parent_version_id = os.version_id, os.parent_codename = os.codename;
  if (os.id == "ubuntu" || os.id == "debian") return;
  for (const auto& [id, version, codename] : releases)
    for (const char* key : {"UBUNTU_CODENAME", "DEBIAN_CODENAME"})
      if (values[key] == codename) {
        os.parent_id = id, os.parent_version_id = version, os.parent_codename = codename;
        return;
      }
}

std::optional<std::string> first_of(const Sections& sections, std::string_view name) {
  const auto text = sections.first(name);
  return text && !text->empty() ? text : std::nullopt;
}

Os read_os(const Sections& sections, const Facts& facts) {
  Os os;
  const Section* release = sections.find("/etc/os-release");
  if (!release) release = sections.find("/usr/lib/os-release");
  if (release) {
    auto values = assignments(release->text());
    os.id = values["ID"];
    os.version_id = values["VERSION_ID"];
    os.codename = values["VERSION_CODENAME"];
    os.pretty = values["PRETTY_NAME"];
    os.family = family_of(os.id, values["ID_LIKE"], facts.tools);
    read_parent(values, os);
  }
  os.architecture = sections.first("machine").value_or("");
  os.init = sections.first("/proc/1/comm").value_or("");
  os.virtualization = first_of(sections, "virtualization");
  os.container = first_of(sections, "container");
  if (!os.container) os.container = first_of(sections, "/run/systemd/container");
  if (!os.container && (facts.paths.contains("/.dockerenv"))) os.container = "docker";
  if (!os.container && (facts.paths.contains("/run/.containerenv"))) os.container = "podman";
  return os;
}

/// "0-3,8" has five.
int count_cpus(std::string_view list) {
  long long total = 0;
  for (const std::string_view range : base::split(list, ',')) {
    const std::size_t dash = range.find('-');
    const auto low = count(range.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : count(range.substr(dash + 1));
    if (low && high && *high >= *low && *high < 100000) total += static_cast<long long>(*high - *low) + 1;
  }
  return static_cast<int>(std::min<long long>(total, 100000));
}

std::optional<bool> read_synchronized(const Sections& sections, const Facts& facts) {
  if (facts.paths.contains("/run/systemd/timesync/synchronized")) return true;
  if (const Section* chrony = sections.find("chrony"); chrony && chrony->status == 0)
    for (const std::string_view line : chrony->lines)
      if (line.starts_with("Leap status")) return line.find("Not synchronised") == std::string_view::npos;
  // timesyncd is installed and has not written its file: it is still waiting for a server.
  const auto timesyncd = facts.units.find("systemd-timesyncd.service");
  if (timesyncd != facts.units.end() && timesyncd->second.active == "active") return false;
  return std::nullopt;
}

std::optional<double> read_clock(const Sections& sections, std::string_view name) {
  auto text = sections.first(name);
  if (!text) return std::nullopt;
  text->resize(std::min(text->size(), text->find(' ')));
  if (const std::size_t percent = text->find('%'); percent != std::string::npos) text->resize(percent);
  if (text->ends_with('.')) text->pop_back();
  return base::to_real(*text);
}

}  // namespace

void read_machine(const Sections& sections, Facts& facts) {
  facts.os = read_os(sections, facts);
  facts.hostname = sections.first("/proc/sys/kernel/hostname").value_or("");
  facts.machine_id = sections.first("/etc/machine-id").value_or("");
  facts.product_uuid = base::lower(sections.first("/sys/class/dmi/id/product_uuid").value_or(""));
  facts.vendor = sections.first("/sys/class/dmi/id/sys_vendor").value_or("");
  facts.product = sections.first("/sys/class/dmi/id/product_name").value_or("");
  facts.clock = read_clock(sections, "clock");
  facts.clock_end = read_clock(sections, "clock-end");
  const std::string clock = sections.first("clock").value_or("");
  if (const auto words = base::words(clock); words.size() > 1) facts.utc_offset = std::string(words[1]);
  facts.clock_synchronized = read_synchronized(sections, facts);
  for (const std::string_view line : sections.lines("/proc/self/status")) {
    const auto words = base::words(line);
    if (words.size() > 2 && words[0] == "Uid:") facts.euid = std::string(words[2]);
    if (words.size() > 1 && words[0] == "Umask:") facts.umask = std::string(words[1]);
    if (words.size() > 1 && words[0] == "Cpus_allowed_list:") facts.cpus = count_cpus(words[1]);
  }
  for (const std::string_view line : sections.lines("/proc/meminfo")) {
    const auto words = base::words(line);
    if (words.size() > 1 && words[0] == "MemTotal:") facts.memory_kib = count(words[1]);
  }
  facts.gpuadm_installed = !sections.lines("/var/lib/gpuadm/journal/log").empty();
}

}  // namespace facts
