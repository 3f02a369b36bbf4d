#include "model/weights.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace model {

void Weights::add(const Weights& other) {
  stored += other.stored;
  elements += other.elements;
  for (const auto& [type, bytes] : other.by_type) by_type[type] += bytes;
  for (const auto& [layer, sum] : other.by_layer) {
    by_layer[layer].stored += sum.stored;
    by_layer[layer].elements += sum.elements;
  }
}

void Weights::unpack() {
  constexpr std::uint64_t numbers_a_scale = 32;
  const auto packed = by_type.find("I8"), scales = by_type.find("F8_E8M0");
  if (packed == by_type.end() || scales == by_type.end()) return;
  if (scales->second / 2 * numbers_a_scale < packed->second / 10 * 9) return;
  elements += packed->second;
  by_type["F4"] += packed->second;
  by_type.erase(packed);
}

std::string Weights::most_used() const {
  const auto most = std::ranges::max_element(by_type, {}, [](const auto& type) { return type.second; });
  return most == by_type.end() ? "" : most->first;
}

std::optional<std::uint64_t> product_of(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  if (b != 0 && a > most / b) return std::nullopt;
  return a * b;
}

std::optional<int> layer_in(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const std::size_t dot = name.find('.');
  if (dot == 0 || dot > 5) return std::nullopt;
  const auto number = base::to_int(name.substr(0, dot));
  if (!number || *number < 0) return std::nullopt;
  return static_cast<int>(*number);
}

std::string why_no_model(std::string_view head) {
  const std::string start = base::lower(base::trim(head.substr(0, 400)));
  if (start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with("<?xml"))
    return "is an HTML page and not a part of a model: a login or error page was downloaded";
  if (start.starts_with("version https://git-lfs"))
    return "is a pointer of git-lfs: the file itself was not downloaded";
  return {};
}

std::unexpected<base::Error> bad_file(std::string_view name, std::string_view why, std::string hint) {
  return base::fail(base::Fault::parse,
                    fmt::format("{}: {}", base::printable(name, 200), base::printable(why, 300)),
                    std::move(hint));
}

}  // namespace model
