#include "gpuadm/base/yaml.hpp"
#include "gpuadm/checks/checks.hpp"

#include <fmt/format.h>

namespace checks {

namespace {

/// Releases of Kubernetes, containerd and NVIDIA's parts are about four months apart.
constexpr int old_after_days = 120;

}  // namespace

base::Result<DataAge> data_age(const std::function<base::Result<std::string>(std::string_view path)>& asset,
                               base::Day today) {
  const std::string path = "playbooks/catalog.yaml";
  const base::Tree catalog = TRY(base::yaml::read(TRY(asset(path)), path));
  const base::Tree* date = catalog.find("date");
  const auto looked = date ? base::parse_day(date->text()) : std::nullopt;
  if (!looked) return base::fail(base::Fault::parse, path + ": date: is not a day such as 2026-11-29");
  DataAge age{.looked = *looked, .days = static_cast<int>((today - *looked).count()), .note = {}};
  if (age.days > old_after_days)
    age.note =
        fmt::format("gpuadm's data are from {}; a newer release may know more", base::day_text(*looked));
  return age;
}

}  // namespace checks
