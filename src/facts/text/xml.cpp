#include "facts/text/xml.hpp"

#include "gpuadm/base/text.hpp"

namespace facts {

namespace {

constexpr std::size_t max_depth = 32;

std::string unescape(std::string_view raw) {
  std::string text(base::trim(raw));
  if (text.find('&') == std::string::npos) return text;
  for (const auto& [entity, plain] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&amp;", "&"}})
    text = base::replace_all(std::move(text), entity, plain);
  return text;
}

}  // namespace

std::optional<std::string> Element::at(std::initializer_list<std::string_view> path) const {
  const Element* here = this;
  for (const std::string_view step : path) {
    const Element* next = nullptr;
    for (const Element& child : here->children)
      if (child.name == step) {
        next = &child;
        break;
      }
    if (!next) return std::nullopt;
    here = next;
  }
  return here->text;
}

std::optional<Element> read_xml(std::string_view text) {
  std::vector<Element> open(1);  // the innermost element last; the first holds the root
  while (true) {
    const std::size_t tag = text.find('<');
    if (tag == std::string_view::npos) break;
    if (open.size() > 1 && open.back().children.empty()) open.back().text += text.substr(0, tag);
    text.remove_prefix(tag + 1);
    const std::size_t end = text.find('>');
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view inside = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (inside.starts_with('?') || inside.starts_with('!')) continue;
    if (inside.starts_with('/')) {
      if (open.size() < 2 || base::trim(inside.substr(1)) != open.back().name) return std::nullopt;
      Element done = std::move(open.back());
      done.text = unescape(done.text);
      open.pop_back();
      open.back().children.push_back(std::move(done));
      continue;
    }
    const bool empty = inside.ends_with('/');
    if (empty) inside.remove_suffix(1);
    Element element{.name = std::string(inside.substr(0, inside.find_first_of(" \t\r\n")))};
    if (empty) {
      open.back().children.push_back(std::move(element));
    } else {
      if (open.size() > max_depth) return std::nullopt;
      open.push_back(std::move(element));
    }
  }
  if (open.size() != 1 || open.front().children.size() != 1) return std::nullopt;
  return std::move(open.front().children.front());
}

}  // namespace facts
