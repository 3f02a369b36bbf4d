#pragma once

#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A type of values in the cluster file: its name, parser and serializer.
namespace spec {

using base::Problems;
using base::Tree;

template <class V>
struct Type {
  std::string name;  ///< after "expected", and in the table of keys
  /// The value, or nothing and at least one problem. `path` is the key in messages.
  std::function<std::optional<V>(const Tree&, const std::string& path, Problems&)> read;
  /// Null if there is nothing to write.
  std::function<Tree(const V&)> write;
  /// Its JSON Schema (2020-12), for editors; gpuadm validates with `read`.
  Tree schema = {};
};

/// Patterns of texts, for the schema: not empty and without control characters; a DNS name; an absolute path.
inline constexpr const char* any_text = R"(^[^\x00-\x1f\x7f]+$)";
inline constexpr const char* dns_name_pattern =
    R"(^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$)";

/// An ASCII letter or digit.
[[nodiscard]] bool is_alphanumeric(char c);
/// {"type": name}
[[nodiscard]] Tree schema_of_type(const char* name);
/// {"oneOf": …}
[[nodiscard]] Tree schema_of_any(Tree::List alternatives);

/// "network.plugin: expected flannel | bridge | none, got 'calico'"
void add_unexpected(Problems& problems, const Tree& tree, const std::string& path,
                    const std::string& expected, const std::optional<std::string>& nearest = {});

/// A word or number, as written, that `good` accepts. Empty is not written.
/// `pattern`: a regular expression of ECMA-262 for the schema; it matches everything that `good` accepts.
[[nodiscard]] Type<std::string> text_where(std::string name, std::function<bool(const std::string&)> good,
                                           const char* pattern = any_text);
[[nodiscard]] Type<std::string> text(std::string name);
[[nodiscard]] Type<std::string> dns_name();
[[nodiscard]] Type<std::string> address();  ///< an IP address or a host name
[[nodiscard]] Type<std::string> ip_address();
[[nodiscard]] Type<std::string> host_and_port();
[[nodiscard]] Type<std::string> network();  ///< CIDR without host bits
[[nodiscard]] Type<std::string> user_name();
[[nodiscard]] Type<std::map<std::string, std::string>> labels();
[[nodiscard]] Type<bool> truth();
/// As `truth`, but false, the default, is not written.
[[nodiscard]] Type<bool> only_if_true();
[[nodiscard]] Type<std::uint16_t> port();  ///< 0 is not written
[[nodiscard]] Type<int> whole_number(int least, int most = std::numeric_limits<int>::max());
[[nodiscard]] Type<std::optional<base::Version>> kubernetes_version();
[[nodiscard]] Type<GpuProfile> sharing();
[[nodiscard]] Type<Mig> mig();
[[nodiscard]] Type<std::map<std::string, GpuOverrides>> gpu_models();

/// The same for optional values: written only if set.
template <class V>
[[nodiscard]] Type<std::optional<V>> perhaps(const Type<V>& type) {
  return {
      type.name,
      [=](const Tree& tree, const std::string& path, Problems& problems) -> std::optional<std::optional<V>> {
        auto value = type.read(tree, path, problems);
        return value ? std::optional(std::optional<V>(std::move(*value))) : std::nullopt;
      },
      [=](const std::optional<V>& value) { return value ? type.write(*value) : Tree(); }, type.schema};
}
[[nodiscard]] Type<Tree> settings();  ///< any map, passed through
[[nodiscard]] Type<std::vector<std::string>> list_of(const std::string& items_name, Type<std::string> item);

// The same validation for a target on a command line.
[[nodiscard]] bool is_address(const std::string& text);
[[nodiscard]] bool is_user_name(const std::string& text);
[[nodiscard]] std::optional<std::uint16_t> to_port(std::string_view text);

template <class E>
[[nodiscard]] Type<E> choice(std::vector<std::pair<std::string, E>> values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  const std::string expected = base::join(names, " | ");
  const auto read = [=](const Tree& tree, const std::string& path, Problems& problems) -> std::optional<E> {
    for (const auto& [name, value] : values)
      if (tree.text() == name) return value;
    add_unexpected(problems, tree, path, expected, base::nearest(tree.text(), names));
    return std::nullopt;
  };
  const auto write = [=](const E& wanted) -> Tree {
    for (const auto& [name, value] : values)
      if (value == wanted) return name;
    return {};
  };
  return {expected, read, write, Tree::map_of({{"enum", Tree::list_of(names)}})};
}

/// The same for a table whose rows have a name: `value` is the member that is the choice.
template <class Row, std::size_t N, class E>
[[nodiscard]] Type<E> choice_of(const std::array<Row, N>& rows, E Row::* value) {
  std::vector<std::pair<std::string, E>> values;
  for (const Row& row : rows) values.emplace_back(row.name, row.*value);
  return choice<E>(std::move(values));
}

/// A map whose keys `good` accepts; `key_name` is their name in messages.
template <class V>
[[nodiscard]] Type<std::map<std::string, V>> map_of(const std::string& key_name,
                                                    std::function<bool(const std::string&)> good,
                                                    const Type<V>& type) {
  using Values = std::map<std::string, V>;
  const std::string expected = fmt::format("map of {} to {}", key_name, type.name);
  const auto read = [=](const Tree& tree, const std::string& path, Problems& problems) {
    std::optional<Values> result;
    if (!tree.is_map()) {
      add_unexpected(problems, tree, path, expected);
      return result;
    }
    result.emplace();
    for (const auto& [key, value] : tree.entries()) {
      const std::string shown = base::printable(key, 100);
      if (!good(key))
        problems.add(value.key_mark, fmt::format("{}: '{}' is not a valid {}", path, shown, key_name));
      if (auto item = type.read(value, path + "." + shown, problems)) (*result)[key] = std::move(*item);
    }
    return result;
  };
  const auto write = [=](const Values& values) {
    Tree tree;
    for (const auto& [key, value] : values) tree.set(key, type.write(value));
    return tree;
  };
  return {expected, read, write, Tree::map_of({{"type", "object"}, {"additionalProperties", type.schema}})};
}

}  // namespace spec
