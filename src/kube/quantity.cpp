#include "gpuadm/kube/quantity.hpp"

#include "gpuadm/base/text.hpp"

#include <array>
#include <cmath>

namespace kube {

std::optional<double> parse_quantity(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 15> units = {
      {{"Ki", 1024.0},
       {"Mi", 1048576.0},
       {"Gi", 1073741824.0},
       {"Ti", 1099511627776.0},
       {"Pi", 1125899906842624.0},
       {"Ei", 1152921504606846976.0},
       {"n", 1e-9},
       {"u", 1e-6},
       {"m", 1e-3},
       {"k", 1e3},
       {"M", 1e6},
       {"G", 1e9},
       {"T", 1e12},
       {"P", 1e15},
       {"E", 1e18}}};
  double factor = 1;
  for (const auto& [unit, value] : units)
    if (text.size() > unit.size() && text.ends_with(unit)) {
      text.remove_suffix(unit.size());
      factor = value;
      break;
    }
  const auto number = base::to_real(text);
  if (!number || !std::isfinite(*number) || *number < 0) return std::nullopt;
  return *number * factor;
}

Amounts amounts_of(const base::Tree& resources) {
  Amounts amounts;
  for (const auto& [resource, value] : resources.entries())
    if (const auto amount = parse_quantity(value.text()))
      amounts[resource] = resource == "cpu" ? *amount * 1000 : *amount;
  return amounts;
}

long long gpus_in(const base::Tree& pod_spec) {
  long long count = 0;
  const base::Tree* containers = pod_spec.find("containers");
  if (!containers) return 0;
  for (const base::Tree& container : containers->items())
    if (const base::Tree* limits = container.at({"resources", "limits"}))
      for (const auto& [resource, amount] : limits->entries())
        if (resource.starts_with("nvidia.com/")) count += base::to_int(amount.text()).value_or(0);
  return count;
}

}  // namespace kube
