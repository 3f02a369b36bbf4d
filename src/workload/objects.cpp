#include "gpuadm/workload/objects.hpp"

#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/random.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

constexpr std::size_t instance_bytes = 5;
constexpr std::size_t longest_path = 1024;

}  // namespace

bool is_managed(const Tree& object) {
  const Tree* labels = object.at({"metadata", "labels"});
  return labels && text_of(*labels, managed_by_label) == managed_by;
}

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
