#pragma once

#include "gpuadm/facts/os.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

/// The one table of OS families. playbooks/families/NAME.yaml may have the scripts of a family.
namespace facts {

struct FamilyRow {
  Family family;
  std::string_view name;     ///< in playbooks, bundles and JSON
  std::string_view ids;      ///< in ID and ID_LIKE of /etc/os-release, separated by blanks
  std::string_view install;  ///< the command that installs packages
  /// Whether gpuadm has scripts that install packages of this family.
  enum class Packages { installed, not_installed } packages;
};

inline constexpr std::array families = std::to_array<FamilyRow>({
    {Family::debian, "debian", "debian ubuntu pureos deepin", "apt-get install",
     FamilyRow::Packages::installed},
    {Family::redhat, "redhat",
     "rhel fedora centos rocky almalinux amzn ol openeuler hce euleros tencentos opencloudos anolis alinux "
     "nobara",
     "dnf install", FamilyRow::Packages::installed},
    {Family::suse, "suse", "suse opensuse sles sled sles_sap", "zypper install",
     FamilyRow::Packages::not_installed},
    {Family::other, "other", "", "install", FamilyRow::Packages::not_installed},
});

[[nodiscard]] constexpr const FamilyRow& row_of(Family family) {
  return *std::ranges::find(families, family, &FamilyRow::family);
}

[[nodiscard]] constexpr bool installs_packages(Family family) {
  return row_of(family).packages == FamilyRow::Packages::installed;
}

[[nodiscard]] constexpr std::optional<Family> family_named(std::string_view name) {
  const auto* row = std::ranges::find(families, name, &FamilyRow::name);
  return row == families.end() ? std::nullopt : std::optional(row->family);
}

}  // namespace facts
