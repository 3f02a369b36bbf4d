#include "gpuadm/base/json.hpp"

#include "gpuadm/base/text.hpp"

#include "base/utf8.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace base::json {

namespace {

using Json = nlohmann::ordered_json;
constexpr int max_depth = 256;

Tree from(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    Tree list = Tree::list();
    for (const Json& item : json) list.push(from(item));
    return list;
  }
  if (json.is_object()) {
    Tree map = Tree::map();
    for (const auto& [key, value] : json.items()) map.set(key, from(value));
    return map;
  }
  return {};
}

void put(std::string& out, std::string_view text) {
  constexpr std::string_view escaped = "\"\\\n\t\r", letters = "\"\\ntr";
  const auto plain = [](char c) { return c >= ' ' && c != '"' && c != '\\' && c != 0x7f; };
  out += '"';
  while (!text.empty()) {
    const auto run = static_cast<std::size_t>(std::ranges::find_if_not(text, plain) - text.begin());
    out += text.substr(0, run);
    text.remove_prefix(run);
    if (text.empty()) break;
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (const std::size_t known = escaped.find(c); known != std::string_view::npos)
      out += {'\\', letters[known]};
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", c);
    else if (length == 0)
      out += "\xef\xbf\xbd";
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

void put(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  const std::string text = fmt::format("{}", number);
  out += text;
  if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

/// `indent` spaces a level, `depth` levels deep.
void put(std::string& out, const Tree& tree, std::size_t indent, std::size_t depth) {
  const auto line = [&](std::size_t levels) {
    if (indent > 0) out.append(1, '\n').append(indent * levels, ' ');
  };
  const bool is_list = tree.is_list();
  if (is_list || tree.is_map()) {
    bool first = true;
    const auto next = [&] {
      if (!first) out += ',';
      first = false;
      line(depth + 1);
    };
    out += is_list ? '[' : '{';
    for (const Tree& item : tree.items()) {
      next();
      put(out, item, indent, depth + 1);
    }
    for (const auto& [key, value] : tree.entries()) {
      next();
      put(out, key);
      out += indent > 0 ? ": " : ":";
      put(out, value, indent, depth + 1);
    }
    if (!first) line(depth);
    out += is_list ? ']' : '}';
  } else if (const std::string* text = tree.as_string()) {
    put(out, std::string_view(*text));
  } else if (const auto number = tree.as_int()) {
    out += std::to_string(*number);
  } else if (const auto real = tree.as_real()) {
    put(out, *real);
  } else if (const auto truth = tree.as_bool()) {
    out += *truth ? "true" : "false";
  } else {
    out += "null";
  }
}

std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}", line, before.size() - start + 1);
}

}  // namespace

Result<Tree> read(std::string_view text, std::string_view source) {
  try {
    bool deep = false;
    const Json json = Json::parse(text, [&](int depth, Json::parse_event_t, Json&) {
      deep = deep || depth > max_depth;
      return !deep;
    });
    if (deep) return fail(Fault::parse, fmt::format("{}: nested deeper than {} levels", source, max_depth));
    return from(json);
  } catch (const Json::parse_error& error) {
    const std::size_t byte = error.byte > 0 ? error.byte - 1 : 0;
    return fail(Fault::parse, fmt::format("{}:{}: this is no JSON", source, place(text, byte)));
  } catch (const Json::exception& error) {
    return fail(Fault::parse, fmt::format("{}: {}", source, printable(error.what(), 200)));
  }
}

std::string write(const Tree& tree, int indent) {
  std::string out;
  put(out, tree, static_cast<std::size_t>(std::max(indent, 0)), 0);
  return out;
}

void Members::add(std::string_view key, const Tree& value) {
  out_ += out_.empty() ? "{\n  " : ",\n  ";
  put(out_, key);
  out_ += ": ";
  put(out_, value, 2, 1);
}

std::string Members::end() && {
  return out_.empty() ? "{}" : std::move(out_) + "\n}";
}

}  // namespace base::json
