#include "gpuadm/workload/objects.hpp"

#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/random.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

constexpr std::size_t instance_bytes = 5;
constexpr std::size_t longest_name = 50, longest_label = 63, longest_path = 1024;
constexpr long long smallest_size = 1LL << 20;

bool is_alphanumeric(char c) {
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
    if (!is_alphanumeric(c) && c != '-')
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

Tree labels_of(std::string_view kind, std::string_view name) {
  return Tree::map_of({{std::string(managed_by_label), managed_by},
                       {std::string(kind_label), kind},
                       {std::string(name_label), name}});
}

std::string selector_of(std::string_view kind, std::string_view name) {
  std::string selector = fmt::format("{}={}", managed_by_label, managed_by);
  selector += kind.empty() ? fmt::format(",{}", kind_label) : fmt::format(",{}={}", kind_label, kind);
  if (!name.empty()) selector += fmt::format(",{}={}", name_label, name);
  return selector;
}

std::string instance_selector(std::string_view kind, std::string_view name, std::string_view instance) {
  std::string selector = selector_of(kind, name);
  if (!instance.empty()) selector += fmt::format(",{}={}", instance_label, instance);
  return selector;
}

Result<std::string> new_instance() {
  return TRY(base::random_secret(instance_bytes)).reveal();
}

Result<> check_name(std::string_view what, std::string_view name) {
  return check_label(what, name, longest_name, First::letter_or_digit);
}

Result<> check_service_name(std::string_view what, std::string_view name) {
  return check_label(what, name, longest_name, First::letter);
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

Result<> check_image(std::string_view image, std::string_view example) {
  const auto reference = base::parse_image_reference(image);
  if (reference) return {};
  return base::fail(Fault::usage, "--image: " + reference.error().what, std::string(example));
}

std::string plain_directory(std::string_view directory) {
  std::string plain;
  for (const std::string_view part : base::split(directory, '/'))
    if (!part.empty() && part != ".") plain += fmt::format("/{}", part);
  return plain.empty() ? "/" : plain;
}

Result<> check_mount(std::string_view option, std::string_view directory, std::string_view example) {
  const auto refuse = [&](std::string_view why) {
    return base::fail(Fault::usage, fmt::format("{}: {}: {}", option, base::printable(directory, 80), why),
                      fmt::format("an absolute directory in the image: {}", example));
  };
  if (directory.size() > longest_path) return refuse("the path is too long");
  if (!directory.starts_with('/')) return refuse("not an absolute directory");
  if (directory.find(':') != std::string_view::npos) return refuse("':' is not allowed");
  const std::string plain = plain_directory(directory) + "/";
  if (plain.find("/../") != std::string::npos) return refuse("'..' is not allowed");
  if (plain == "//") return refuse("it is the root directory, which holds the files of the image");
  if (plain.starts_with("/dev/shm/")) return refuse("it is shared memory: see --shm");
  if (plain == "/dev/" || plain.starts_with("/proc/") || plain.starts_with("/sys/"))
    return refuse("it belongs to the kernel");
  return {};
}

std::vector<std::string> default_classes(std::span<const Tree> objects, std::string_view own) {
  std::vector<std::string> names;
  for (const Tree& object : objects) {
    const Tree* annotations = object.at({"metadata", "annotations"});
    const Tree* value =
        annotations ? annotations->find("storageclass.kubernetes.io/is-default-class") : nullptr;
    const std::string name = text_at(object, {"metadata", "name"});
    if (text_at(object, {"kind"}) == "StorageClass" && name != own && value && value->text() == "true")
      names.push_back(base::printable(name, 253));
  }
  return names;
}

std::string literal(std::string_view text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    escaped += text[i];
    const bool expands = i + 1 < text.size() && (text[i + 1] == '$' || text[i + 1] == '(');
    if (text[i] == '$' && expands) escaped += '$';
  }
  return escaped;
}

Tree literals(const std::vector<std::string>& words) {
  Tree list = Tree::list();
  for (const std::string& word : words) list.push(literal(word));
  return list;
}

}  // namespace workload
