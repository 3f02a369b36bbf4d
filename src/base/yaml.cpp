#include "gpuadm/base/yaml.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>

namespace base::yaml {

namespace {

constexpr int max_depth = 128;

/// A plain scalar by YAML 1.2's core schema.
Tree typed(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc() && end == digits.data() + digits.size()) return number;
  const bool numeric = digits.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
                       digits.find_first_of("0123456789") != std::string_view::npos;
  if (numeric)
    if (auto real = to_real(digits)) return *real;
  return text;
}

struct Reader {
  std::string_view source;

  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what) const {
    throw Error{Fault::spec, fmt::format("{}:{}:{}: {}", source, mark.line + 1, mark.column + 1, what), {}};
  }

  Tree convert(const YAML::Node& node, int depth) const {
    if (depth > max_depth) refuse(node.Mark(), fmt::format("nested deeper than {} levels", max_depth));
    Tree tree = value(node, depth);
    tree.mark = {node.Mark().line + 1, node.Mark().column + 1};
    return tree;
  }

  Tree value(const YAML::Node& node, int depth) const {
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return {};
      case YAML::NodeType::Scalar: {
        if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return node.Scalar();
        Tree tree = typed(node.Scalar());
        tree.written = node.Scalar();
        return tree;
      }
      case YAML::NodeType::Sequence: {
        Tree list = Tree::list();
        for (const YAML::Node& item : node) list.push(convert(item, depth + 1));
        return list;
      }
      case YAML::NodeType::Map:
        return map(node, depth);
    }
    return {};
  }

  Tree map(const YAML::Node& node, int depth) const {
    Tree tree = Tree::map();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) refuse(entry.first.Mark(), "a key must be a word");
      const std::string& key = entry.first.Scalar();
      if (tree.find(key))
        refuse(entry.first.Mark(), fmt::format("the key '{}' is here twice", printable(key, 100)));
      Tree& value = tree.set(key, convert(entry.second, depth + 1));
      value.key_mark = {entry.first.Mark().line + 1, entry.first.Mark().column + 1};
      if (value.mark.line == 0 || value.is_null()) value.mark = value.key_mark;
    }
    return tree;
  }
};

template <class Function>
auto guarded(std::string_view source, Function function) -> Result<decltype(function())> {
  try {
    return function();
  } catch (const Error& error) {
    return std::unexpected(error);
  } catch (const YAML::Exception& error) {
    return fail(Fault::spec,
                fmt::format("{}:{}:{}: {}", source, error.mark.line + 1, error.mark.column + 1, error.msg));
  }
}

}  // namespace

Result<Tree> read(std::string_view text, std::string_view source) {
  std::vector<Tree> documents = TRY(read_all(text, source));
  if (documents.empty()) return Tree();
  if (documents.size() > 1)
    return fail(Fault::spec,
                fmt::format("{}: one document was expected, here are {}", source, documents.size()));
  return std::move(documents.front());
}

Result<std::vector<Tree>> read_all(std::string_view text, std::string_view source) {
  return guarded(source, [&] {
    std::vector<Tree> documents;
    for (const YAML::Node& node : YAML::LoadAll(std::string(text)))
      documents.push_back(Reader{source}.convert(node, 0));
    return documents;
  });
}

}  // namespace base::yaml
