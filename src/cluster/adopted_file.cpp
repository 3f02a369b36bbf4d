#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/cluster/adopted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cluster {

namespace {

using base::Tree;

/// Keys that are always written.
constexpr std::array<std::string_view, 7> kept = {"apiVersion", "kind",         "name", "kubernetes",
                                                  "network",    "controlPlane", "hosts"};

bool is_empty(const Tree& tree) {
  return tree.is_null() || (tree.is_map() && tree.entries().empty()) ||
         (tree.is_list() && tree.items().empty());
}

/// Without defaults.
void prune(Tree& tree, const Tree& fallback) {
  std::vector<std::string> needless;
  for (auto& [key, value] : tree.entries()) {
    const Tree* holds = fallback.find(key);
    if (value.is_map() && holds && holds->is_map()) prune(value, *holds);
    if (is_empty(value) || (holds && *holds == value)) needless.push_back(key);
  }
  for (const std::string& key : needless) tree.erase(key);
}

void drop_empty(Tree& tree) {
  if (tree.is_list())
    for (Tree& item : tree.items()) drop_empty(item);
  if (!tree.is_map()) return;
  std::vector<std::string> needless;
  for (auto& [key, value] : tree.entries()) {
    drop_empty(value);
    if (is_empty(value)) needless.push_back(key);
  }
  for (const std::string& key : needless) tree.erase(key);
}

/// The key that begins at each line of a block-style file: "hosts[1].name".
class Place {
 public:
  std::string of(std::string_view line) {
    std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos) return {};
    leave(indent);
    bool item = false;
    while (line.substr(indent).starts_with("- ")) {
      item = true;
      open_.push_back({indent, fmt::format("[{}]", counts_[indent]++)});
      indent += 2;
    }
    const std::string_view rest = line.substr(indent);
    const std::size_t colon = rest.find(':');
    if (item) return path();
    if (colon == std::string_view::npos) return {};
    open_.push_back({indent, std::string(rest.substr(0, colon))});
    return path();
  }

 private:
  struct Level {
    std::size_t indent;
    std::string name;
  };
  void leave(std::size_t indent) {
    while (!open_.empty() && open_.back().indent >= indent) open_.pop_back();
    std::erase_if(counts_, [&](const auto& count) { return count.first > indent; });
  }
  [[nodiscard]] std::string path() const {
    std::string text;
    for (const Level& level : open_)
      text += (text.empty() || level.name.starts_with('[') ? "" : ".") + level.name;
    return text;
  }
  std::vector<Level> open_;
  std::map<std::size_t, int> counts_;  ///< of items so far, by their indent
};

std::string comment(std::string_view says, std::size_t indent) {
  std::string text;
  for (const std::string_view line : base::lines(says))
    text += fmt::format("{}# {}\n", std::string(indent, ' '), base::printable(line, 400));
  return text;
}

}  // namespace

std::string to_file(const Adopted& adopted) {
  Tree tree = spec::to_tree(adopted.cluster), fallback = spec::to_tree({});
  for (const std::string_view key : kept) fallback.erase(key);
  prune(tree, fallback);
  drop_empty(tree);
  std::string text = "# Written by gpuadm adopt: the cluster file that would have made this cluster.\n";
  std::vector<Adopted::Note> left = adopted.notes;
  const auto notify = [&](const std::string& path, std::size_t indent) {
    for (const auto& note : left)
      if (note.path == path) text += comment(note.says, indent);
    std::erase_if(left, [&](const auto& note) { return note.path == path; });
  };
  notify("", 0);
  std::string body;
  std::swap(body, text);
  Place place;
  const std::string written = base::yaml::write(tree);
  for (const std::string_view line : base::lines(written)) {
    if (const std::string path = place.of(line); !path.empty()) notify(path, line.find_first_not_of(' '));
    text.append(line).append("\n");
  }
  // Notes about keys that are not written.
  for (const auto& note : left) body += comment(note.path + ": " + note.says, 0);
  return body + text;
}

}  // namespace cluster
