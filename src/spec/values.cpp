#include "gpuadm/spec/values.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace spec {

namespace {

using base::Fault;

constexpr std::size_t longest_object_name = 50, longest_label = 63;
constexpr long long smallest_size = 1LL << 20;

bool is_label_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// What a name begins with.
enum class First { letter, letter_or_digit };

Result<> check_label(std::string_view what, std::string_view name, std::size_t longest, First first) {
  const auto refuse = [&](const std::string& why) {
    return base::fail(Fault::usage,
                      fmt::format("invalid name of a {}: {}: {}", what, base::printable(name, 80), why),
                      first == First::letter
                          ? "lowercase letters, digits and '-', beginning with a letter and ending with a "
                            "letter or digit"
                          : "lowercase letters, digits and '-', beginning and ending with a letter or digit");
  };
  if (name.empty()) return refuse("it is empty");
  if (name.size() > longest) return refuse(fmt::format("longer than {} characters", longest));
  for (const char c : name)
    if (!is_label_character(c) && c != '-')
      return refuse(fmt::format("'{}' is not allowed", base::printable(std::string_view(&c, 1))));
  if (name.front() == '-' || name.back() == '-') return refuse("it begins or ends with '-'");
  if (first == First::letter && name.front() >= '0' && name.front() <= '9')
    return refuse("it begins with a digit");
  return {};
}

struct Suffix {
  std::string_view text;
  double factor;
};

constexpr Suffix byte_suffixes[] = {{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40},
                                    {"Pi", 0x1p50}, {"k", 1e3},     {"M", 1e6},     {"G", 1e9},
                                    {"T", 1e12},    {"P", 1e15},    {"", 1}};

/// An option with a value, as it is typed: "--size 10Gi", "--set size=10Gi".
std::string typed(std::string_view option, std::string_view value) {
  return fmt::format("{}{}{}", option, option.find(' ') == std::string_view::npos ? ' ' : '=', value);
}

Result<long long> scaled(std::string_view option, std::string_view quantity, double factor,
                         std::string_view number, std::string_view example) {
  const bool plain = std::ranges::all_of(number, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  const auto value = plain ? base::to_real(number) : std::nullopt;
  if (!value || *value <= 0 || *value * factor > 0x1p62)
    return base::fail(Fault::usage,
                      fmt::format("{}: not a quantity above zero: {}", option, base::printable(quantity, 50)),
                      "for example " + typed(option, example));
  return static_cast<long long>(std::ceil(*value * factor));
}

}  // namespace

Result<> check_name(std::string_view what, std::string_view name) {
  return check_label(what, name, longest_object_name, First::letter_or_digit);
}

Result<> check_service_name(std::string_view what, std::string_view name) {
  return check_label(what, name, longest_object_name, First::letter);
}

Result<> check_namespace(std::string_view name) {
  return check_label("namespace", name, longest_label, First::letter_or_digit);
}

Result<long long> bytes_of(std::string_view option, std::string_view quantity) {
  for (const Suffix& suffix : byte_suffixes)
    if (quantity.ends_with(suffix.text))
      return scaled(option, quantity, suffix.factor, quantity.substr(0, quantity.size() - suffix.text.size()),
                    "10Gi");
  return 0;  // the last suffix is empty
}

Result<long long> size_of(std::string_view option, std::string_view quantity) {
  const long long bytes = TRY(bytes_of(option, quantity));
  if (bytes >= smallest_size) return bytes;
  const bool plain = quantity.back() >= '0' && quantity.back() <= '9';
  return base::fail(
      Fault::usage,
      fmt::format("{}: {} is {}, less than 1Mi", option, quantity,
                  base::human_bytes(static_cast<unsigned long long>(bytes))),
      plain ? fmt::format("did you mean {}Gi?", quantity) : "for example " + typed(option, "10Gi"));
}

Result<long long> millicpus_of(std::string_view option, std::string_view quantity) {
  if (quantity.ends_with('m'))
    return scaled(option, quantity, 1, quantity.substr(0, quantity.size() - 1), "4");
  return scaled(option, quantity, 1000, quantity, "4");
}

Result<long long> seconds_in(std::string_view option, std::string_view text) {
  const std::string units = "smhd";
  constexpr long long lengths[] = {1, 60, 3600, 86400};
  const std::size_t unit = text.empty() ? std::string::npos : units.find(text.back());
  const auto number =
      unit == std::string::npos ? std::nullopt : base::to_int(text.substr(0, text.size() - 1));
  if (!number || *number < 1 || *number > 100'000)
    return base::fail(Fault::usage,
                      fmt::format("{}: invalid duration: '{}'", option, base::printable(text, 50)),
                      fmt::format("for example {} 10m; units: s, m, h, d", option));
  return *number * lengths[unit];
}

Result<GpuRequest> parse_gpus(std::string_view option, std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<int> {
    const auto value = base::to_int(digits);
    if (!value || *value < 0 || *value > most_gpus) return std::nullopt;
    return static_cast<int>(*value);
  };
  if (const auto count = number(text))
    return *count == 0 ? GpuRequest{} : GpuRequest{GpuRequest::Form::whole, *count, 1, {}};
  if (text.starts_with("1/"))
    if (const auto parts = number(text.substr(2)); parts && *parts > 0)
      return *parts == 1 ? GpuRequest{GpuRequest::Form::whole, 1, 1, {}}
                         : GpuRequest{GpuRequest::Form::share, 1, *parts, {}};
  const std::string_view profile = text.substr(0, text.find(':'));
  const auto count =
      profile.size() == text.size() ? std::optional(1) : number(text.substr(profile.size() + 1));
  if (spec::is_mig_profile(profile) && count && *count > 0)
    return GpuRequest{GpuRequest::Form::mig, *count, 1, std::string(profile)};
  return base::fail(
      Fault::usage, fmt::format("{}: not a number of GPUs: {}", option, base::printable(text, 50)),
      fmt::format("for example {0} 1, {0} 1/4 (a share), {0} 1g.10gb or {0} 1g.10gb:2 (MIG)", option));
}

}  // namespace spec
