#include "checks/family_commands.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

enum Flavor { ubuntu, debian, redhat, suse, arch, unlisted };

Flavor flavor_of(const facts::Os& os) {
  const auto is = [&](std::string_view id) { return os.id == id || os.parent_id == id; };
  if (is("ubuntu")) return ubuntu;
  if (os.family == facts::Family::debian) return debian;
  if (os.family == facts::Family::redhat) return redhat;
  if (os.family == facts::Family::suse) return suse;
  for (const char* id : {"arch", "manjaro", "endeavouros", "cachyos", "omarchy"})
    if (is(id)) return arch;
  return unlisted;
}

/// A word of a remedy, and what it is on each of them. <release> is the kernel's, <branch> the driver's.
struct Row {
  std::string_view word;
  std::array<std::string_view, 6> text;
};
constexpr std::array rows = std::to_array<Row>({
    {"rebuild-initramfs",
     {"update-initramfs -u", "update-initramfs -u", "dracut -f", "dracut -f", "mkinitcpio -P",
      "rebuild the initramfs"}},
    {"install",
     {"apt-get install", "apt-get install", "dnf install", "zypper install", "pacman -S", "install"}},
    {"purge", {"apt-get purge", "apt-get purge", "dnf remove", "zypper remove", "pacman -R", "remove"}},
    {"upgrade",
     {"apt-get install --only-upgrade", "apt-get install --only-upgrade", "dnf upgrade", "zypper update",
      "pacman -Syu", "upgrade"}},
    {"hold",
     {"apt-mark hold", "apt-mark hold", "dnf versionlock add", "zypper addlock",
      "IgnorePkg in /etc/pacman.conf:", "hold in the package manager:"}},
    {"held",
     {"apt-mark showhold", "apt-mark showhold", "dnf versionlock list", "zypper locks", "pacman -Q", ""}},
    {"install-driver",
     {"apt-get install nvidia-headless-<branch>-server-open nvidia-utils-<branch>-server",
      "apt-get install nvidia-open-kernel-dkms nvidia-smi libcuda1", "dnf install nvidia-open",
      "zypper install nvidia-open-driver-G06-signed-kmp-default nvidia-compute-utils-G06",
      "pacman -S nvidia-open nvidia-utils",
      "the driver's packages of the distribution, or NVIDIA's .run file"}},
    {"install-proprietary-driver",
     {"apt-get install nvidia-headless-<branch>-server nvidia-utils-<branch>-server",
      "apt-get install nvidia-kernel-dkms nvidia-smi libcuda1", "dnf install cuda-drivers",
      "zypper install nvidia-driver-G06-kmp-default nvidia-compute-utils-G06",
      "the package nvidia-dkms of the driver's last branch for it",
      "the driver's packages of the distribution, or NVIDIA's .run file with "
      "--kernel-module-type=proprietary"}},
    {"signed-modules",
     {"apt-get install linux-modules-nvidia-<branch>-server-open-$(uname -r), which the distribution signs",
      "disable Secure Boot in the firmware", "disable Secure Boot in the firmware",
      "zypper install nvidia-open-driver-G06-signed-kmp-default, which the distribution signs",
      "disable Secure Boot in the firmware", "disable Secure Boot in the firmware"}},
    {"driver-utilities",
     {"apt-get install nvidia-utils-<branch>-server", "apt-get install nvidia-smi",
      "dnf install nvidia-driver-cuda", "zypper install nvidia-compute-utils-G06", "pacman -S nvidia-utils",
      "install the package of nvidia-smi in the driver's version"}},
    {"driver-libraries",
     {"apt-get install libnvidia-compute-<branch>-server", "apt-get install libcuda1 libnvidia-ml1",
      "dnf install nvidia-driver-cuda-libs", "zypper install nvidia-compute-G06", "pacman -S nvidia-utils",
      "install the package of libcuda and libnvidia-ml in the driver's version"}},
    {"reinstall-driver-libraries",
     {"apt-get install --reinstall libnvidia-compute-<branch>-server",
      "apt-get install --reinstall libcuda1 libnvidia-ml1", "dnf reinstall nvidia-driver-cuda-libs",
      "zypper install --force nvidia-compute-G06", "pacman -S nvidia-utils",
      "reinstall the driver's libraries"}},
    {"driver-firmware",
     {"apt-get install nvidia-firmware-<branch>-server", "apt-get install firmware-nvidia-gsp",
      "dnf install nvidia-kmod-common", "zypper install nvidia-common-G06", "pacman -S nvidia-utils",
      "install the firmware (gsp_*.bin) of the driver's version"}},
    {"kernel-headers",
     {"apt-get install linux-headers-<release>", "apt-get install linux-headers-<release>",
      "dnf install kernel-devel-<release>", "zypper install kernel-default-devel", "pacman -S linux-headers",
      "install the headers of the kernel <release>"}},
    {"build-tools",
     {"apt-get install dkms build-essential", "apt-get install dkms build-essential",
      "dnf install dkms gcc make binutils", "zypper install dkms gcc make binutils",
      "pacman -S dkms base-devel", "install dkms, gcc, make and binutils"}},
    {"extra-modules",
     {"apt-get install linux-modules-extra-<release>",
      "apt-get install linux-image-amd64 (the cloud kernels lack modules), then reboot into it",
      "dnf install kernel-modules-extra-<release>",
      "zypper install kernel-default (kernel-default-base lacks modules)",
      "reboot: an upgrade of the package linux removes the modules of the running kernel",
      "install the modules of the kernel <release>, or boot the distribution's kernel"}},
    {"kernel-parameters",
     {"GRUB_CMDLINE_LINUX in /etc/default/grub, then: update-grub",
      "GRUB_CMDLINE_LINUX in /etc/default/grub, then: update-grub", "grubby --update-kernel=ALL --args=...",
      "GRUB_CMDLINE_LINUX in /etc/default/grub, then: grub2-mkconfig -o /boot/grub2/grub.cfg",
      "in the boot loader's configuration: /etc/default/grub and grub-mkconfig, or /boot/loader/entries",
      "in the boot loader's configuration"}},
    {"install-toolkit",
     {"apt-get install nvidia-container-toolkit", "apt-get install nvidia-container-toolkit",
      "dnf install nvidia-container-toolkit", "zypper install nvidia-container-toolkit",
      "pacman -S nvidia-container-toolkit", "install the package nvidia-container-toolkit"}},
    {"install-fabric-manager",
     {"apt-get install nvidia-fabricmanager-<branch>", "apt-get install nvidia-fabricmanager-<branch>",
      "dnf install nvidia-fabric-manager", "zypper install nvidia-fabricmanager-<branch>",
      "install NVIDIA's archive fabricmanager-linux", "install NVIDIA's archive fabricmanager-linux"}},
    {"install-nvlsm",
     {"apt-get install nvlsm", "apt-get install nvlsm", "dnf install nvlsm", "zypper install nvlsm",
      "install NVIDIA's archive nvlsm", "install NVIDIA's archive nvlsm"}},
    {"install-containerd",
     {"apt-get install containerd", "apt-get install containerd", "dnf install containerd.io",
      "zypper install containerd", "pacman -S containerd", "install containerd"}},
    {"install-docker",
     {"apt-get install docker.io", "apt-get install docker.io", "dnf install docker-ce",
      "zypper install docker", "pacman -S docker", "install Docker"}},
    {"install-apparmor",
     {"apt-get install apparmor", "apt-get install apparmor",
      "install apparmor_parser, or boot with apparmor=0", "zypper install apparmor-parser",
      "pacman -S apparmor", "install apparmor_parser, or boot with apparmor=0"}},
    {"nfs-client",
     {"nfs-common", "nfs-common", "nfs-utils", "nfs-client", "nfs-utils", "the package of mount.nfs"}},
    {"install-gridd",
     {"install NVIDIA's guest driver for vGPU (its package nvidia-linux-grid-<branch>)",
      "install NVIDIA's guest driver for vGPU (its package nvidia-linux-grid-<branch>)",
      "install NVIDIA's guest driver for vGPU (its .rpm)",
      "install NVIDIA's guest driver for vGPU (its .run file)",
      "install NVIDIA's guest driver for vGPU (its .run file)",
      "install NVIDIA's guest driver for vGPU (its .run file)"}},
});

/// Ubuntu has two packages of each driver, "nvidia-utils-580" and "nvidia-utils-580-server": the remedy names
/// those that the host has, and the server's on a host without any.
bool has_desktop_driver(const facts::Facts& host) {
  bool desktop = false;
  for (const auto& [name, package] : host.software.packages) {
    if (!package.installed || !(name.starts_with("nvidia-") || name.starts_with("libnvidia-"))) continue;
    if (name.contains("-server")) return false;
    desktop = desktop || name.starts_with("nvidia-utils-") || name.starts_with("libnvidia-compute-") ||
              name.starts_with("nvidia-driver-") || name.starts_with("nvidia-headless-");
  }
  return desktop;
}

std::string branch_text(const facts::Facts& host) {
  const std::string version =
      host.nvidia.driver ? host.nvidia.driver->version : host.nvidia.driver_installed.value_or("");
  const auto branch = branch_of(version);
  return branch ? std::to_string(*branch) : "580";
}

}  // namespace

std::string with_family_commands(const std::string& remedy, const facts::Facts& host) {
  if (!remedy.contains('@')) return remedy;
  const Flavor flavor = flavor_of(host.os);
  std::string text = remedy;
  for (const Row& row : rows)
    text = base::replace_all(text, fmt::format("@{}@", row.word), std::string(row.text[flavor]));
  if (flavor == ubuntu && has_desktop_driver(host))
    text = base::replace_all(text, "<branch>-server", "<branch>");
  text = base::replace_all(text, "<branch>", branch_text(host));
  return base::replace_all(text, "<release>", host.kernel.release);
}

std::vector<std::string_view> commands_not_of(const facts::Os& os) {
  static constexpr std::array<std::string_view, 6> apt = {"apt-get", "apt-mark",    "update-initramfs",
                                                          "dpkg",    "update-grub", "build-essential"};
  static constexpr std::array<std::string_view, 4> dnf = {"dnf ", "grubby", "kernel-devel", "yum "};
  static constexpr std::array<std::string_view, 2> zypper = {"zypper ", "G06"};
  static constexpr std::array<std::string_view, 2> pacman = {"pacman ", "mkinitcpio"};
  const Flavor flavor = flavor_of(os);
  std::vector<std::string_view> all;
  if (flavor != ubuntu && flavor != debian) all.insert(all.end(), apt.begin(), apt.end());
  if (flavor != redhat) all.insert(all.end(), dnf.begin(), dnf.end());
  if (flavor != suse) all.insert(all.end(), zypper.begin(), zypper.end());
  if (flavor != arch) all.insert(all.end(), pacman.begin(), pacman.end());
  if (flavor != redhat && flavor != suse) all.emplace_back("dracut");
  if (flavor != ubuntu)
    for (const char* name :
         {"linux-modules-extra", "linux-modules-nvidia", "-server", "Ubuntu:", "nvidia-utils-"})
      all.emplace_back(name);
  if (flavor != ubuntu && flavor != debian) all.emplace_back("Debian:");
  return all;
}

}  // namespace checks
