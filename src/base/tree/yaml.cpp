#include "gpuadm/base/yaml.hpp"

#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/text.hpp"

#include "base/text/utf8.hpp"
#include "base/tree/yaml_scalar.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

namespace base::yaml {

namespace {

constexpr std::size_t max_depth = 128;
constexpr std::size_t most_documents = 1000;
constexpr std::size_t most_values = 1'000'000;

/// The scalar in UTF-8. yaml-cpp (0.7) returns `\N` and `\_` as one byte, not as U+0085 and U+00A0;
/// everything else is UTF-8.
std::string in_utf8(std::string_view scalar) {
  std::string out;
  while (!scalar.empty()) {
    const std::size_t length = utf8_length(scalar);
    if (length == 0) out += '\xC2';
    out += scalar.substr(0, std::max<std::size_t>(length, 1));
    scalar.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

/// Builds trees from the parser's events. Aliases are counted each time, so that a short text cannot become a
/// large tree.
class Builder final : public YAML::EventHandler {
 public:
  /// `duplicates`: keys that a map has twice; the first value is used.
  Builder(std::string_view source, Dialect dialect, Problems& duplicates)
      : source_(source), dialect_(dialect), duplicates_(duplicates) {}
  [[nodiscard]] std::vector<Tree> take() { return std::move(documents_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // The parser can stay at one position forever, one empty document after the other.
    if (documents_.size() >= most_documents)
      refuse(mark, fmt::format("more than {} documents", most_documents));
    documents_.emplace_back();
    anchors_.clear();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, Tree(), anchor, nullptr); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) refuse(mark, "an alias inside its own anchor");
    const Tree copy = known->second;
    count_ += size_of(copy);
    const std::string text = copy.text();
    add(mark, copy, 0, copy.is_scalar() && !copy.is_null() ? &text : nullptr);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& given) override {
    const std::string value = in_utf8(given);
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return add(mark, value, anchor, &value);
    add(mark, dialect_ == Dialect::core ? core_scalar(value) : kubernetes(mark, tag, value), anchor, &value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, Tree::list(), anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, Tree::map(), anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Frame {
    Tree tree;
    YAML::Mark mark;
    YAML::anchor_t anchor;
    std::optional<std::string> key;
    Mark key_mark;
    bool duplicate = false;  ///< the key already exists
  };

  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what) const {
    throw Error{Fault::spec, fmt::format("{}:{}:{}: {}", source_, mark.line + 1, mark.column + 1, what), {}};
  }

  /// A value or a key.
  [[nodiscard]] Tree kubernetes(const YAML::Mark& mark, const std::string& tag,
                                const std::string& plain) const {
    const std::string shown = printable(plain, 100);
    if (!tag.empty() && tag != "?") refuse(mark, fmt::format("the tag of '{}' is not supported", shown));
    std::optional<Tree> value = kubernetes_scalar(plain);
    if (!value) refuse(mark, fmt::format("Kubernetes does not read the number {}", shown));
    if (frames_.empty() || !frames_.back().tree.is_map() || frames_.back().key) return std::move(*value);
    if (plain == "<<") refuse(mark, "merge keys ('<<') are not supported: write the values");
    Tree key = *value;
    key.written.clear();
    if (key.text() != plain)
      refuse(mark, fmt::format("Kubernetes does not read the key {0} as '{0}': quote it", shown));
    return std::move(*value);
  }

  void begin(const YAML::Mark& mark, Tree tree, YAML::anchor_t anchor) {
    if (frames_.size() >= max_depth) refuse(mark, fmt::format("nested deeper than {} levels", max_depth));
    if (!frames_.empty() && frames_.back().tree.is_map() && !frames_.back().key)
      refuse(mark, "a key must be a word");
    frames_.push_back({std::move(tree), mark, anchor, {}, {}, false});
  }

  void end() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    add(frame.mark, std::move(frame.tree), frame.anchor, nullptr);
  }

  /// `scalar`: the value as written, if it can be a key.
  void add(const YAML::Mark& mark, Tree value, YAML::anchor_t anchor, const std::string* scalar) {
    if (++count_ > most_values) refuse(mark, fmt::format("more than {} values", most_values));
    value.mark = {mark.line + 1, mark.column + 1};
    if (anchor != 0) anchors_[anchor] = value;
    if (frames_.empty()) {
      documents_.back() = std::move(value);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.tree.is_list()) return frame.tree.push(std::move(value));
    if (!frame.key) {
      if (!scalar) refuse(mark, "a key must be a word");
      frame.duplicate = frame.tree.find(*scalar) != nullptr;
      if (frame.duplicate)
        duplicates_.add(value.mark, fmt::format("duplicate key '{}'", printable(*scalar, 100)));
      frame.key = *scalar;
      frame.key_mark = value.mark;
      return;
    }
    if (frame.duplicate) {
      frame.key.reset();
      return;
    }
    Tree& there = frame.tree.set(*frame.key, std::move(value));
    there.key_mark = frame.key_mark;
    if (there.is_null()) there.mark = there.key_mark;
    frame.key.reset();
  }

  /// Values that an alias adds.
  [[nodiscard]] static std::size_t size_of(const Tree& tree) {
    std::size_t size = 1;
    for (const Tree& item : tree.items()) size += size_of(item);
    for (const auto& [key, item] : tree.entries()) size += size_of(item);
    return size;
  }

  std::string_view source_;
  Dialect dialect_;
  Problems& duplicates_;
  std::vector<Tree> documents_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Tree> anchors_;
  std::size_t count_ = 0;
};

/// The position of the first byte that is invalid UTF-8 or a control character that YAML forbids (1.2, 5.1),
/// or nothing.
std::optional<Mark> not_yaml(std::string_view text) {
  Mark mark{1, 1};
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text.front());
    const bool control = (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
    if (length == 0 || control) return mark;
    mark = text.front() == '\n' ? Mark{mark.line + 1, 1} : Mark{mark.line, mark.column + 1};
    text.remove_prefix(length);
  }
  return std::nullopt;
}

/// The innermost bracket or brace of a text that is not closed; quotes and comments do not count.
std::optional<std::pair<Mark, char>> unclosed_bracket(std::string_view text) {
  std::vector<std::pair<Mark, char>> open;
  Mark at{1, 1};
  char quote = '\0', before = '\n',
       last = '\n';  // last: the last character that is not blank, or a line's end
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == '\\' && quote == '"')
        ++i, ++at.column;
      else if (c == quote)
        quote = '\0';
    } else if (c == '#' && (before == ' ' || before == '\n')) {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if ((c == '"' || c == '\'') && std::string_view(":-[{,\n").find(last) != std::string_view::npos) {
      quote = c;
    } else if ((c == '[' || c == '{') && std::string_view(":-[{,\n").find(last) != std::string_view::npos) {
      open.emplace_back(at, c);
    } else if ((c == ']' || c == '}') && !open.empty()) {
      open.pop_back();
    }
    before = c;
    if (c != ' ' && c != '\t') last = c;
    ++at.column;
    if (c == '\n') at = {at.line + 1, 1};
  }
  return open.empty() ? std::nullopt : std::optional(open.back());
}

/// yaml-cpp's message about tabs is misleading.
std::string message_of(const YAML::Exception& error, std::string_view text) {
  const auto rows = lines(text);
  const auto number = static_cast<std::size_t>(std::max(error.mark.line, 0));
  const std::string_view row = number < rows.size() ? rows[number] : std::string_view();
  const bool tab = row.substr(0, row.find_first_not_of(" \t")).contains('\t');
  return tab ? "the line is indented with a tab; YAML allows only spaces" : error.msg;
}

template <class Function>
auto guarded(std::string_view source, std::string_view text, Function function)
    -> Result<decltype(function())> {
  try {
    return function();
  } catch (const Error& error) {
    return std::unexpected(error);
  } catch (const YAML::Exception& error) {
    if (error.msg.contains("flow not found") || error.msg.contains("end of map"))
      if (const auto open = unclosed_bracket(text))
        return fail(Fault::spec, fmt::format("{}:{}:{}: this {} is not closed", source, open->first.line,
                                             open->first.column, open->second));
    return fail(Fault::spec, fmt::format("{}:{}:{}: {}", source, error.mark.line + 1, error.mark.column + 1,
                                         message_of(error, text)));
  }
}

}  // namespace

namespace {

Result<std::vector<Tree>> read_documents(std::string_view text, std::string_view source, Dialect dialect,
                                         Problems& duplicates) {
  if (const auto mark = not_yaml(text))
    return fail(Fault::spec, fmt::format("{}:{}:{}: a byte that is not allowed in YAML", source, mark->line,
                                         mark->column));
  return guarded(source, text, [&] {
    Builder builder(source, dialect, duplicates);
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  });
}

Result<Tree> only(std::vector<Tree> documents, std::string_view source) {
  if (documents.empty()) return Tree();
  if (documents.size() > 1)
    return fail(Fault::spec, fmt::format("{}: expected one document, found {}", source, documents.size()));
  return std::move(documents.front());
}

}  // namespace

Result<Tree> read(std::string_view text, std::string_view source, Dialect dialect) {
  return only(TRY(read_all(text, source, dialect)), source);
}

Result<Tree> read(std::string_view text, std::string_view source, Problems& duplicates) {
  return only(TRY(read_documents(text, source, Dialect::core, duplicates)), source);
}

Result<std::vector<Tree>> read_all(std::string_view text, std::string_view source, Dialect dialect) {
  Problems duplicates(source);
  auto documents = TRY(read_documents(text, source, dialect, duplicates));
  if (!duplicates.empty()) return std::unexpected(duplicates.error({}));
  return documents;
}

}  // namespace base::yaml
