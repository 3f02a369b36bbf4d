#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The subset of XML that `nvidia-smi -q -x` writes: elements, attributes (skipped), text, a prologue.
namespace facts {

struct Element {
  std::string name;
  std::string text;  ///< trimmed, of the element itself
  std::vector<Element> children;
  /// The text at a path of names below this element, or nothing.
  [[nodiscard]] std::optional<std::string> at(std::initializer_list<std::string_view> path) const;
};

/// The root element. Nothing if tags do not match, the text is truncated, or the nesting is deeper than 32.
[[nodiscard]] std::optional<Element> read_xml(std::string_view text);

}  // namespace facts
