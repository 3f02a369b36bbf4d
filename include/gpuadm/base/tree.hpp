#pragma once

#include "gpuadm/base/shared_text.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace base {

/// Position of a value in its source; 1-based, 0 without a source.
struct Mark {
  int line = 0;
  int column = 0;
};

/// A value of YAML, JSON or TOML. Maps keep their order and have unique keys. The only exchange type between
/// formats: yaml.hpp, json.hpp and toml.hpp read and write it.
class Tree {
 public:
  using List = std::vector<Tree>;
  using Map = std::vector<std::pair<std::string, Tree>>;

  Tree() = default;
  Tree(bool value) : value_(value) {}                                      // NOLINT: a literal is a tree
  Tree(int value) : value_(std::int64_t{value}) {}                         // NOLINT
  Tree(std::int64_t value) : value_(value) {}                              // NOLINT
  Tree(std::uint64_t value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT
  Tree(double value) : value_(value) {}                                    // NOLINT
  Tree(std::string value) : value_(std::move(value)) {}                    // NOLINT
  Tree(std::string_view value) : value_(std::string(value)) {}             // NOLINT
  Tree(const char* value) : value_(std::string(value)) {}                  // NOLINT
  Tree(const SharedText& value) : value_(value.text()) {}                  // NOLINT
  Tree(List value) : value_(std::move(value)) {}                           // NOLINT
  Tree(Map value) : value_(std::move(value)) {}                            // NOLINT
  [[nodiscard]] static Tree list() { return Tree(List{}); }
  [[nodiscard]] static Tree map() { return Tree(Map{}); }
  /// A list of strings.
  [[nodiscard]] static Tree list_of(const std::vector<std::string>& items);
  struct Entry;
  /// A map of the entries, whose keys are unique; their values are moved out of them.
  [[nodiscard]] static Tree map_of(std::initializer_list<Entry> items);

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] bool is_bool() const { return std::holds_alternative<bool>(value_); }
  [[nodiscard]] bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  [[nodiscard]] bool is_real() const { return std::holds_alternative<double>(value_); }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(value_); }
  [[nodiscard]] bool is_list() const { return std::holds_alternative<List>(value_); }
  [[nodiscard]] bool is_map() const { return std::holds_alternative<Map>(value_); }
  [[nodiscard]] bool is_scalar() const { return !is_list() && !is_map(); }

  // Each of these returns nothing if the kind differs.
  [[nodiscard]] std::optional<bool> as_bool() const;
  [[nodiscard]] std::optional<std::int64_t> as_int() const;
  [[nodiscard]] std::optional<double> as_real() const;  ///< an int too
  [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  /// The scalar as text: for YAML as it was written (`1.30` remains `1.30`), otherwise printed. Empty for
  /// null, lists, maps.
  [[nodiscard]] std::string text() const;
  /// The items; empty if this is not a list / map.
  [[nodiscard]] const List& items() const;
  [[nodiscard]] const Map& entries() const;
  [[nodiscard]] List& items();
  [[nodiscard]] Map& entries();

  /// The value under a key, or nullptr (also if this is not a map).
  [[nodiscard]] const Tree* find(std::string_view key) const;
  [[nodiscard]] Tree* find(std::string_view key);
  /// The value at a path of keys, or nullptr.
  [[nodiscard]] const Tree* at(std::initializer_list<std::string_view> path) const;
  [[nodiscard]] const Tree* at(const std::vector<std::string>& path) const;
  /// Sets a key; a null becomes a map. Returns the value.
  Tree& set(std::string_view key, Tree value);
  /// The value under a key, created (null) if it is missing; a null becomes a map.
  Tree& operator[](std::string_view key);
  /// Removes a key; returns whether it existed.
  bool erase(std::string_view key);
  /// Appends to a list; a null becomes a list.
  void push(Tree value);
  /// Merges `over` into this: maps by key, everything else is replaced.
  void merge(const Tree& over);

  Mark mark;            ///< where the value begins in its source
  Mark key_mark;        ///< where its key begins, for a value in a map
  std::string written;  ///< a YAML plain scalar as written

  /// Equal values; marks and spelling do not count. Maps compare without order.
  [[nodiscard]] friend bool operator==(const Tree& a, const Tree& b) { return equal(a, b); }

 private:
  [[nodiscard]] static bool equal(const Tree& a, const Tree& b);
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Map> value_;
};

/// The text of the scalar at a path, or under a key; empty if there is none.
[[nodiscard]] std::string text_at(const Tree& tree, std::initializer_list<std::string_view> path);
[[nodiscard]] std::string text_of(const Tree& tree, std::string_view key);

/// Parameter of map_of.
struct Tree::Entry {
  std::string key;
  mutable Tree value;  ///< an initializer_list is constant, and copying a tree is expensive
};

}  // namespace base
