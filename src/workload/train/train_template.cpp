#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/train_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

/// A program that renders templates, and what one types.
struct Renderer {
  std::string_view name, command;
};
constexpr Renderer helm{"Helm", "helm template CHART >job.yaml"},
    jinja{"Jinja", "for example jinja2 job.yaml.j2 values.yaml >job.yaml"},
    jsonnet{"Jsonnet", "jsonnet FILE >job.json"}, kustomize{"kustomize", "kubectl kustomize DIR >job.yaml"};

/// Words with which an action of a Helm chart begins.
constexpr std::array helm_words = {".Values",   ".Release", ".Chart",  ".Files", ".Capabilities", "include ",
                                   "template ", "define ",  "toYaml ", "range ", "with ",         "if ",
                                   "else",      "end",      "$",       "tpl ",   "printf ",       "default "};

bool begins_with_any(std::string_view text, const auto& words) {
  for (const std::string_view word : words)
    if (text.starts_with(word)) return true;
  return false;
}

/// The renderer of the action at "{{". Text of a script may also have two braces: only the whole value of a
/// key, or the rest of it, is one of Jinja.
std::optional<Renderer> renderer_of(std::string_view line, std::size_t braces) {
  std::string_view action = line.substr(braces + 2);
  if (action.starts_with('-')) action.remove_prefix(1);
  action = base::trim(action);
  if (begins_with_any(action, helm_words)) return helm;
  std::string_view before = base::trim(line.substr(0, braces));
  while (before.ends_with('"') || before.ends_with('\''))
    before = base::trim(before.substr(0, before.size() - 1));
  const bool is_value = before.empty() || before.ends_with(':') || before == "-";
  const bool is_word = !action.empty() && action.find("}}") != std::string_view::npos;
  return is_value && is_word ? std::optional(jinja) : std::nullopt;
}

base::Result<> refuse(const Renderer& renderer, std::string_view source, std::size_t line,
                      std::size_t column) {
  return base::fail(Fault::spec,
                    fmt::format("{}:{}:{}: a template of {}, and not a manifest: render it first", source,
                                line, column, renderer.name),
                    std::string(renderer.command));
}

bool is_jsonnet(std::string_view text, std::string_view source) {
  if (source.ends_with(".jsonnet") || source.ends_with(".libsonnet")) return true;
  for (const std::string_view line : base::lines(text)) {
    const std::string_view code = base::trim(line);
    if (code.empty() || code.starts_with("//") || code.starts_with('#')) continue;
    return code.starts_with("local ") || code.starts_with("function(");
  }
  return false;
}

bool is_name(std::string_view text) {
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

bool is_upper_name(std::string_view text) {
  return is_name(text) && std::ranges::none_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

/// The words between two marks, with them; empty: none.
std::string_view between(std::string_view text, std::string_view open, char close) {
  const std::size_t begin = text.find(open);
  const std::size_t end = begin == std::string_view::npos ? begin : text.find(close, begin);
  return end == std::string_view::npos ? "" : text.substr(begin, end + 1 - begin);
}

/// What a value has in place of a value: "${NODES}", "$NODES", "<your-image>". Kubernetes expands none of
/// them.
std::string_view placeholder_in(std::string_view value) {
  if (const auto found = between(value, "${", '}'); !found.empty()) return found;
  if (value.starts_with('$') && is_name(value.substr(1))) return value;
  const auto found = between(value, "<", '>');
  const bool is_word =
      found.size() > 2 && ((found[1] >= 'a' && found[1] <= 'z') || (found[1] >= 'A' && found[1] <= 'Z'));
  return is_word ? found : "";
}

/// A line that is not YAML: a value that begins with a placeholder, as "${NODES}" between braces, or
/// "{NODES}-a".
std::string_view placeholder_in_line(std::string_view line) {
  for (std::size_t at = line.find(": "); at != std::string_view::npos; at = line.find(": ", at + 1)) {
    std::string_view value = base::trim(line.substr(at + 2));
    if (value.starts_with('"') || value.starts_with('\'')) value.remove_prefix(1);
    if (value.starts_with("${")) return between(value, "${", '}');
    if (const auto word = between(value, "{", '}');
        value.starts_with(word) && word.size() > 2 && is_upper_name(word.substr(1, word.size() - 2)))
      return word;
  }
  return {};
}

/// `others`: placeholders of the file after the first one.
base::Result<> refuse_placeholder(std::string_view found, std::string_view source, std::size_t line,
                                  std::size_t column, const std::vector<std::string>& others = {}) {
  return base::fail(
      Fault::spec,
      fmt::format("{}:{}:{}: {} is a placeholder{}: fill in the file first", source, line, column,
                  base::printable(found, 60), others.empty() ? "" : "; so are " + base::join(others, ", ")),
      found.starts_with('$') ? "envsubst <FILE >job.yaml, with the variables exported"
                             : "write a value in its place");
}

/// Fields that are programs or data: they may have braces of their own.
constexpr std::array free_fields = {"command",    "args",       "env",        "data",
                                    "stringData", "binaryData", "annotations"};

/// Fields with one word or number.
constexpr std::array word_fields = {"name", "generateName", "namespace", "image", "replicas", "numNodes"};

/// "NODES" of a value "{NODES}", which is a map in YAML; empty: it is something else.
std::string name_in_braces(std::string_view field, const Tree& value) {
  if (!value.is_map() || value.entries().size() != 1 || !value.entries().front().second.is_null()) return {};
  const std::string& name = value.entries().front().first;
  const bool is_word = std::ranges::find(word_fields, field) != word_fields.end();
  return is_upper_name(name) || (is_word && is_name(name)) ? name : "";
}

/// In a file that is not YAML.
base::Result<> check_lines(std::string_view text, std::string_view source) {
  std::size_t number = 0;
  for (const std::string_view line : base::lines(text)) {
    ++number;
    const std::string_view code = base::trim(line);
    if (code.starts_with('#')) continue;
    if (const auto found = placeholder_in_line(line); !found.empty() && !line.contains("{{"))
      return refuse_placeholder(found, source, number, line.find(found) + 1);
    if (code.starts_with("{%")) return refuse(jinja, source, number, line.find("{%") + 1);
    for (std::size_t at = line.find("{{"); at != std::string_view::npos; at = line.find("{{", at + 2))
      if (const auto renderer = renderer_of(line, at)) return refuse(*renderer, source, number, at + 1);
  }
  return {};
}

/// A placeholder, and where it is.
struct Placeholder {
  std::string text;
  const Tree* at = nullptr;
};

/// In a file that is YAML: values that have an action, such as the name "{{ name }}", are refused;
/// placeholders are collected, each word once.
base::Result<> check_values(const Tree& value, std::string_view source, std::vector<Placeholder>& found) {
  const auto add = [&](std::string text, const Tree& at) {
    if (std::ranges::find(found, text, &Placeholder::text) == found.end())
      found.push_back({std::move(text), &at});
  };
  if (const std::string* text = value.as_string()) {
    const std::size_t begin = text->find("{{");
    const bool is_action = begin != std::string::npos && text->find("}}", begin) != std::string::npos;
    if (const auto word = placeholder_in(*text); !word.empty() && !is_action) add(std::string(word), value);
    if (!is_action && !text->starts_with("{%")) return {};
    const auto renderer = is_action ? renderer_of(*text, begin) : std::nullopt;
    return refuse(renderer.value_or(jinja), source, value.mark.line, value.mark.column);
  }
  if (value.is_list())
    for (const Tree& one : value.items()) TRY(check_values(one, source, found));
  if (value.is_map())
    for (const auto& [key, one] : value.entries())
      if (std::ranges::find(free_fields, key) == free_fields.end()) {
        if (const std::string name = name_in_braces(key, one); !name.empty())
          add("{" + name + "}", one);
        else
          TRY(check_values(one, source, found));
      }
  return {};
}

base::Result<> refuse_placeholders(const std::vector<Placeholder>& found, std::string_view source) {
  constexpr std::size_t most = 8;
  if (found.empty()) return {};
  std::vector<std::string> others;
  for (std::size_t i = 1; i < std::min(found.size(), most); ++i)
    others.push_back(fmt::format("{} (line {})", base::printable(found[i].text, 60), found[i].at->mark.line));
  const auto& mark = found.front().at->mark;
  return refuse_placeholder(found.front().text, source, mark.line, mark.column, others);
}

}  // namespace

Result<std::vector<Tree>> read_manifests(std::string_view text, std::string_view source) {
  if (is_jsonnet(text, source)) TRY(refuse(jsonnet, source, 1, 1));
  // Its own file often has no kind.
  if (base::lower(source).contains("kustomization.y")) TRY(refuse(kustomize, source, 1, 1));
  auto documents = base::yaml::read_all(text, source, base::yaml::Dialect::kubernetes);
  if (!documents) TRY(check_lines(text, source));
  if (!documents) return std::unexpected(documents.error());
  std::erase_if(*documents, [](const Tree& document) { return document.is_null(); });
  std::vector<Placeholder> placeholders;
  for (const Tree& document : *documents) TRY(check_values(document, source, placeholders));
  TRY(refuse_placeholders(placeholders, source));
  return documents;
}

}  // namespace workload
