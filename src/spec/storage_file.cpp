#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/spec/storage.hpp"

#include <fmt/format.h>

#include <algorithm>

/// Changes of `storage:` in the text of a cluster file: lines are added or removed, and the result is parsed
/// to see that nothing else has changed.
namespace spec {

namespace {

using base::Fault;
using base::Tree;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> all;
  for (const std::string_view line : base::lines(text)) all.emplace_back(line);
  return all;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool is_content(const std::string& line) {
  const std::string_view plain = base::trim(line);
  return !plain.empty() && !plain.starts_with('#');
}

std::size_t indent_of(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// Lines of one item, `begin` with its dash.
struct Item {
  std::size_t begin = 0, end = 0, indent = 0;
};

/// The items of a list in block style; nothing for another style.
std::vector<Item> items_of(const Tree& list, const std::vector<std::string>& lines) {
  std::vector<Item> items;
  for (const Tree& tree : list.items()) {
    const auto line = static_cast<std::size_t>(std::max(tree.mark.line, 1) - 1);
    if (line >= lines.size()) return {};
    const std::size_t indent = indent_of(lines[line]);
    if (!lines[line].substr(indent).starts_with("- ")) return {};
    Item item{line, line + 1, indent};
    for (std::size_t next = line + 1; next < lines.size(); ++next) {
      if (!is_content(lines[next])) continue;
      if (indent_of(lines[next]) <= indent) break;
      item.end = next + 1;
    }
    items.push_back(item);
  }
  return items;
}

std::vector<std::string> lines_of_item(const Storage& storage, std::size_t indent) {
  Tree list = Tree::list();
  list.push(to_tree(storage));
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(base::yaml::write(list)))
    lines.push_back(std::string(indent, ' ') + line);
  return lines;
}

/// Whether the text has these storages and is otherwise the same cluster file.
Result<> check(const std::string& text, std::string_view source, Cluster wanted,
               const std::string& manually) {
  const auto parsed = parse(text, source);
  if (parsed && to_tree(*parsed) == to_tree(wanted)) return {};
  return base::fail(Fault::spec, fmt::format("{}: gpuadm cannot change `storage` in this form", source),
                    manually);
}

}  // namespace

Result<std::string> with_storage(std::string_view file, std::string_view source, const Storage& storage) {
  Cluster wanted = TRY(parse(file, source));
  if (find_storage(wanted, storage.name))
    return base::fail(Fault::usage, fmt::format("{} already has a storage named {}", source, storage.name),
                      "choose another name, or remove that one: gpuadm storage remove " + storage.name);
  wanted.storage.push_back(storage);
  std::vector<std::string> lines = lines_of(file);
  const Tree tree = TRY(base::yaml::read(file, source));
  const Tree* list = tree.find("storage");
  const auto items = list ? items_of(*list, lines) : std::vector<Item>();
  if (!list) {
    lines.emplace_back("storage:");
    for (std::string& line : lines_of_item(storage, 2)) lines.push_back(std::move(line));
  } else if (!items.empty()) {
    const std::vector<std::string> added = lines_of_item(storage, items.back().indent);
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(items.back().end), added.begin(), added.end());
  }
  std::string text = text_of(lines);
  const std::string lines_to_add = text_of(lines_of_item(storage, 2));
  TRY(check(text, source, std::move(wanted),
            "add it to the list yourself, then run: gpuadm apply -f FILE\n" + lines_to_add));
  return text;
}

Result<std::string> without_storage(std::string_view file, std::string_view source, std::string_view name) {
  Cluster wanted = TRY(parse(file, source));
  const auto gone = std::ranges::find(wanted.storage, name, &Storage::name);
  if (gone == wanted.storage.end())
    return base::fail(Fault::usage, fmt::format("{} has no storage named {}", source, base::printable(name)));
  const auto index = static_cast<std::size_t>(gone - wanted.storage.begin());
  wanted.storage.erase(gone);
  std::vector<std::string> lines = lines_of(file);
  const Tree tree = TRY(base::yaml::read(file, source));
  const Tree& list = *tree.find("storage");
  const auto items = items_of(list, lines);
  if (index < items.size()) {
    std::size_t begin = items[index].begin;
    // The key of a list without items is removed, too.
    const auto key = static_cast<std::size_t>(std::max(list.key_mark.line, 1) - 1);
    if (items.size() == 1 && key < begin &&
        std::none_of(
            lines.begin() + static_cast<std::ptrdiff_t>(key) + 1,
            lines.begin() + static_cast<std::ptrdiff_t>(begin),
            [](const std::string& line) { return is_content(line); }))
      begin = key;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                lines.begin() + static_cast<std::ptrdiff_t>(items[index].end));
  }
  std::string text = text_of(lines);
  TRY(check(text, source, std::move(wanted), fmt::format("remove {} from the list yourself", name)));
  return text;
}

}  // namespace spec
