#include "gpuadm/spec/migrate.hpp"

#include "gpuadm/base/yaml.hpp"

#include "spec/cluster_fields.hpp"
#include "spec/formats.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spec {

using base::Result;

namespace {

/// Whether the section has the old format: some keys, and none of the current ones.
bool is_old(const Tree& section, const Moved& move) {
  return section.is_map() && !section.entries().empty() &&
         std::ranges::none_of(section.entries(), [&](const auto& entry) {
           const std::string path = fmt::format("{}.{}", move.section, entry.first);
           return std::ranges::any_of(cluster_fields(),
                                      [&](const auto& field) { return field.path == path; });
         });
}

/// Start of a line, from 1; the text's end if it has fewer.
std::size_t begin_of(std::string_view text, int line) {
  std::size_t at = 0;
  for (; line > 1 && at < text.size(); --line) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  return at;
}

/// The text with the section's entries moved below `into`; the caller compares the result with the expected
/// tree.
std::string moved_text(std::string_view text, const Tree& section, const Moved& move) {
  const base::Mark first = section.entries().front().second.key_mark;
  const base::Mark last = section.entries().back().second.mark;
  std::string result(text);
  if (const std::size_t at = begin_of(text, section.mark.line) + section.mark.column - 1;
      at < text.size() && text[at] == '{') {  // flow style
    if (const std::size_t end = text.find('}', begin_of(text, last.line) + last.column - 1);
        end != std::string_view::npos)
      result.insert(end, "} ").insert(at + 1, fmt::format(" {}: {{", move.into));
    return result;
  }
  const std::string indent(first.column - 1, ' ');
  for (int line = last.line; line >= first.line; --line) {
    const std::size_t at = begin_of(text, line);
    if (text.substr(at, text.find('\n', at) - at).find_first_not_of(" \r") != std::string_view::npos)
      result.insert(at, "  ");
  }
  const std::size_t at = begin_of(text, first.line);
  const std::size_t end = text.find('\n', at);
  const bool crlf = end != std::string_view::npos && end > at && text[end - 1] == '\r';
  return result.insert(at, fmt::format("{}{}:{}\n", indent, move.into, crlf ? "\r" : ""));
}

Result<> known_format(const Tree& file, std::string_view source) {
  Problems problems(source);
  const Tree* version = file.find("apiVersion");
  const std::vector<std::string> known(formats.begin(), formats.end());
  const std::string names = base::join(known, ", ");
  if (!version || version->is_null())
    problems.add(version ? version->mark : file.mark, fmt::format("apiVersion: missing; known: {}", names));
  else if (std::ranges::find(known, version->text()) == known.end())
    add_unexpected(problems, *version, "apiVersion", names, base::nearest(version->text(), known));
  if (problems.empty()) return {};
  return std::unexpected(problems.error("use the gpuadm version of the file, or correct apiVersion"));
}

}  // namespace

Result<Migrated> migrate(std::string_view yaml, std::string_view source) {
  Migrated result{std::string(yaml), {}};
  Tree file = TRY(base::yaml::read(yaml, source));
  TRY(known_format(file, source));
  for (const Moved& move : moved) {
    const Tree* section = file.find(move.section);
    if (!section || !is_old(*section, move)) continue;
    const base::Mark mark = section->mark;
    result.text = moved_text(result.text, *section, move);
    Tree wanted = file;
    *wanted.find(move.section) = Tree::map_of({{std::string(move.into), *section}});
    auto now = base::yaml::read(result.text, source);
    if (!now || *now != wanted) {
      Problems problems(source);
      problems.add(mark, fmt::format("{0}: its keys belong under {0}.{1}; gpuadm cannot move "
                                     "them without changing the rest of the file",
                                     move.section, move.into));
      return std::unexpected(problems.error("move them manually"));
    }
    file = std::move(*now);
    result.changes.push_back(fmt::format("{0} moved to {0}.{1}", move.section, move.into));
  }
  return result;
}

}  // namespace spec
