#pragma once

#include "spec/types.hpp"

#include <algorithm>
#include <span>

namespace spec {

/// Description of a key, and of its default if the default is not a constant.
struct Meaning {
  std::string message;
  std::string absent;
};

/// One key of a T (the cluster, a host): the same row reads, writes and documents it.
template <class T>
struct Field {
  std::string path;  ///< "network.podCIDR"
  std::string type;
  Meaning meaning;
  std::function<void(const Tree&, T&, Problems&)> read;
  std::function<Tree(const T&)> write;  ///< null if there is nothing to write
  Tree schema = {};
};

template <class T, class V, class... Members>
[[nodiscard]] Field<T> field(std::string path, const Type<V>& type, Meaning meaning, Members... members) {
  const auto member = [=](auto& of) -> auto& { return (of.*....*members); };
  const auto read = [=](const Tree& tree, T& into, Problems& problems) {
    if (auto value = type.read(tree, path, problems)) member(into) = std::move(*value);
  };
  return {path,
          type.name,
          std::move(meaning),
          read,
          [=](const T& from) { return type.write(member(from)); },
          type.schema};
}

/// Reads the keys of `map`, which have `prefix` in the table; unset keys keep their defaults.
template <class T>
void read_fields(const Tree& map, const std::string& prefix, const std::vector<Field<T>>& fields, T& into,
                 Problems& problems) {
  std::vector<std::string> known;
  for (const Field<T>& field : fields) {
    if (!field.path.starts_with(prefix)) continue;
    std::string key = field.path.substr(prefix.size(), field.path.find('.', prefix.size()) - prefix.size());
    if (known.empty() || known.back() != key) known.push_back(std::move(key));
  }
  problems.add_unknown_keys(map, prefix, known);
  for (const auto& [key, value] : map.entries()) {
    if (value.is_null()) continue;
    const std::string path = prefix + key;
    for (const Field<T>& field : fields)
      if (field.path == path) field.read(value, into, problems);
    const bool section =
        std::ranges::any_of(fields, [&](const auto& field) { return field.path.starts_with(path + "."); });
    if (section && !value.is_map()) add_unexpected(problems, value, path, "map");
    if (section && value.is_map()) read_fields(value, path + ".", fields, into, problems);
  }
}

/// The opposite of read_fields.
template <class T>
[[nodiscard]] Tree write_fields(const T& from, const std::string& prefix,
                                const std::vector<Field<T>>& fields) {
  Tree map = Tree::map();
  for (const Field<T>& field : fields) {
    Tree value = field.write(from);
    if (value.is_null()) continue;
    Tree* at = &map;
    for (std::string_view key : base::split(std::string_view(field.path).substr(prefix.size()), '.'))
      at = &(*at)[key];
    *at = std::move(value);
  }
  return map;
}

/// The JSON Schema of a map with these keys, which have `prefix` in the table.
template <class T>
[[nodiscard]] Tree schema_of_fields(const std::string& prefix, const std::vector<Field<T>>& fields) {
  const auto section = [] {
    return Tree::map_of({{"type", Tree::list_of({"object", "null"})},
                         {"properties", Tree::map()},
                         {"additionalProperties", false}});
  };
  Tree schema = section();
  for (const Field<T>& field : fields) {
    Tree* at = &schema;
    const auto keys = base::split(std::string_view(field.path).substr(prefix.size()), '.');
    for (const std::string_view key : std::span(keys).first(keys.size() - 1)) {
      Tree& below = (*at)["properties"][key];
      if (below.is_null()) below = section();
      at = &below;
    }
    Tree own = field.schema;
    // A key without a value counts as unset.
    Tree value = Tree::map_of({{"anyOf", Tree::List{std::move(own), schema_of_type("null")}}});
    if (!field.meaning.message.empty()) value.set("description", field.meaning.message);
    if (const Tree fallback = field.write(T()); !fallback.is_null() && field.meaning.absent.empty())
      value.set("default", fallback);
    (*at)["properties"].set(keys.back(), std::move(value));
  }
  return schema;
}

/// The table's rows for `gpuadm config explain`; defaults are the values of `T()`.
template <class T>
void explain_fields(const std::vector<Field<T>>& fields, std::vector<Key>& into) {
  for (const Field<T>& field : fields) {
    const std::string fallback =
        field.meaning.absent.empty() ? field.write(T()).text() : field.meaning.absent;
    into.push_back({field.path, field.type, fallback, field.meaning.message});
  }
}

/// A list of maps with these keys, which have the prefix "users[]." in the table. `things`: "users";
/// `example`: the keys of one in a message, "name, gpus …"; `item`: the JSON Schema of one.
template <class T>
[[nodiscard]] Type<std::vector<T>> list_of_maps(const std::string& things, const std::string& prefix,
                                                const std::string& example,
                                                const std::vector<Field<T>>& (*fields)(), Tree item) {
  const auto read = [=](const Tree& list, const std::string& path,
                        Problems& problems) -> std::optional<std::vector<T>> {
    if (!list.is_list()) {
      add_unexpected(problems, list, path, "list of " + things);
      return std::nullopt;
    }
    std::vector<T> all;
    for (const Tree& map : list.items()) {
      T& one = all.emplace_back();
      one.mark = map.mark;
      if (map.is_map())
        read_fields(map, prefix, fields(), one, problems);
      else
        add_unexpected(problems, map, prefix.substr(0, prefix.size() - 1), "map with " + example);
    }
    return all;
  };
  const auto write = [=](const std::vector<T>& all) {
    Tree list;
    for (const T& one : all) list.push(write_fields(one, prefix, fields()));
    return list;
  };
  return {"list of " + things, read, write, Tree::map_of({{"type", "array"}, {"items", std::move(item)}})};
}

}  // namespace spec
