#include "gpuadm/base/tree.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace base {

namespace {
const Tree::List no_items;
const Tree::Map no_entries;
}  // namespace

Tree Tree::list_of(const std::vector<std::string>& items) {
  List list;
  for (const std::string& item : items) list.emplace_back(item);
  return Tree(std::move(list));
}

Tree Tree::map_of(std::initializer_list<Entry> items) {
  Map map;
  map.reserve(items.size());
  for (const Entry& entry : items) map.emplace_back(entry.key, std::move(entry.value));
  return map;
}

std::optional<bool> Tree::as_bool() const {
  if (const bool* value = std::get_if<bool>(&value_)) return *value;
  return std::nullopt;
}

std::optional<std::int64_t> Tree::as_int() const {
  if (const std::int64_t* value = std::get_if<std::int64_t>(&value_)) return *value;
  return std::nullopt;
}

std::optional<double> Tree::as_real() const {
  if (const double* value = std::get_if<double>(&value_)) return *value;
  if (auto value = as_int()) return static_cast<double>(*value);
  return std::nullopt;
}

std::string Tree::text() const {
  if (!written.empty()) return written;
  if (auto value = as_bool()) return *value ? "true" : "false";
  if (auto value = as_int()) return std::to_string(*value);
  if (const double* value = std::get_if<double>(&value_)) return fmt::format("{}", *value);
  if (const std::string* value = as_string()) return *value;
  return {};
}

const Tree::List& Tree::items() const {
  const List* list = std::get_if<List>(&value_);
  return list ? *list : no_items;
}

const Tree::Map& Tree::entries() const {
  const Map* map = std::get_if<Map>(&value_);
  return map ? *map : no_entries;
}

Tree::List& Tree::items() {
  if (!is_list()) value_ = List{};
  return std::get<List>(value_);
}

Tree::Map& Tree::entries() {
  if (!is_map()) value_ = Map{};
  return std::get<Map>(value_);
}

const Tree* Tree::find(std::string_view key) const {
  for (const auto& [name, value] : entries())
    if (name == key) return &value;
  return nullptr;
}

Tree* Tree::find(std::string_view key) {
  return const_cast<Tree*>(std::as_const(*this).find(key));
}

const Tree* Tree::at(std::initializer_list<std::string_view> path) const {
  const Tree* here = this;
  for (std::string_view key : path)
    if (!(here = here->find(key))) return nullptr;
  return here;
}

const Tree* Tree::at(const std::vector<std::string>& path) const {
  const Tree* here = this;
  for (const std::string& key : path)
    if (!(here = here->find(key))) return nullptr;
  return here;
}

std::string text_at(const Tree& tree, std::initializer_list<std::string_view> path) {
  const Tree* value = tree.at(path);
  return value ? value->text() : std::string();
}

std::string text_of(const Tree& tree, std::string_view key) {
  return text_at(tree, {key});
}

Tree& Tree::set(std::string_view key, Tree value) {
  return (*this)[key] = std::move(value);
}

Tree& Tree::operator[](std::string_view key) {
  if (Tree* there = find(key)) return *there;
  Map& map = entries();
  map.emplace_back(std::string(key), Tree());
  return map.back().second;
}

bool Tree::erase(std::string_view key) {
  Map* map = std::get_if<Map>(&value_);
  return map && std::erase_if(*map, [&](const auto& entry) { return entry.first == key; }) > 0;
}

void Tree::push(Tree value) {
  items().push_back(std::move(value));
}

void Tree::merge(const Tree& over) {
  if (!is_map() || !over.is_map()) {
    *this = over;
    return;
  }
  for (const auto& [key, value] : over.entries()) (*this)[key].merge(value);
}

bool Tree::equal(const Tree& a, const Tree& b) {
  if (a.is_map() && b.is_map()) {
    if (a.entries().size() != b.entries().size()) return false;
    return std::ranges::all_of(a.entries(), [&](const auto& entry) {
      const Tree* other = b.find(entry.first);
      return other && equal(entry.second, *other);
    });
  }
  return a.value_ == b.value_;
}

}  // namespace base
