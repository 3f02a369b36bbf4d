#include "gpuadm/base/json.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

namespace base::json {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t max_depth = 256;

/// The parser's events. Integers that do not fit into 64 bits keep their digits.
class Events : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return add(static_cast<std::int64_t>(value));
    return add_digits(static_cast<double>(value), std::to_string(value));
  }
  bool number_float(double value, const std::string& digits) override {
    return digits.find_first_of(".eE") == std::string::npos ? add_digits(value, digits) : add(value);
  }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) override { return false; }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    byte = position;
    if (!dynamic_cast<const Json::parse_error*>(&error)) what = error.what();
    return false;
  }

  bool deep = false;
  std::size_t byte = 0;  ///< of the first error, 1-based
  std::string what;      ///< of an error that is not a syntax error

 protected:
  virtual bool add(Tree value) = 0;

 private:
  bool add_digits(double value, std::string digits) {
    Tree number = value;
    number.written = std::move(digits);
    return add(std::move(number));
  }
};

/// Builds a Tree.
class Reader : public Events {
 public:
  bool start_object(std::size_t /*size*/) override { return open(Tree::map()); }
  bool key(std::string& key) override {
    open_.back().key = std::move(key);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(Tree::list()); }
  bool end_array() override { return close(); }

  Tree tree;

 private:
  /// A map or a list that has not ended.
  struct Open {
    Tree container;
    std::string key;                                        ///< of the next value
    std::unordered_map<std::string, std::size_t> places{};  ///< of the keys of a large map
  };
  /// From this size on a map has an index: searching its keys would take quadratic time.
  static constexpr std::size_t large = 64;

  bool add(Tree value) override {
    if (open_.empty())
      tree = std::move(value);
    else if (open_.back().container.is_list())
      open_.back().container.push(std::move(value));
    else
      set(open_.back(), std::move(value));
    return true;
  }
  static void set(Open& map, Tree value) {
    Tree::Map& entries = map.container.entries();
    if (entries.size() < large) {
      map.container.set(map.key, std::move(value));
      return;
    }
    for (std::size_t i = map.places.size(); i < entries.size(); ++i) map.places.emplace(entries[i].first, i);
    const auto [place, is_new] = map.places.emplace(map.key, entries.size());
    if (is_new)
      entries.emplace_back(std::move(map.key), std::move(value));
    else
      entries[place->second].second = std::move(value);
  }
  bool open(Tree container) {
    deep = deep || open_.size() >= max_depth;
    if (deep) return false;
    open_.push_back({std::move(container), {}});
    return true;
  }
  bool close() {
    Tree done = std::move(open_.back().container);
    open_.pop_back();
    return add(std::move(done));
  }

  std::vector<Open> open_;  ///< the innermost last
};

/// Passes scalars on.
class Scalars : public Events {
 public:
  explicit Scalars(const TakeScalar& take) : take_(take) {}
  bool start_object(std::size_t /*size*/) override {
    keys_.emplace_back();
    return open(true);
  }
  bool key(std::string& key) override {
    keys_.back() = std::move(key);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(false); }
  bool end_array() override { return close(); }

 private:
  bool add(Tree value) override {
    take_(keys_, value);
    return true;
  }
  bool open(bool is_map) {
    deep = deep || open_.size() >= max_depth;
    open_.push_back(is_map);
    return !deep;
  }
  bool close() {
    if (open_.back()) keys_.pop_back();
    open_.pop_back();
    return true;
  }

  const TakeScalar& take_;
  std::vector<bool> open_;         ///< whether each open container is a map
  std::vector<std::string> keys_;  ///< the current one of each open map
};

std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}", line, before.size() - start + 1);
}

Result<> parse(std::string_view text, std::string_view source, Events& events) {
  try {
    if (Json::sax_parse(text, &events)) return {};
    if (events.deep)
      return fail(Fault::parse, fmt::format("{}: nested deeper than {} levels", source, max_depth));
    if (!events.what.empty())
      return fail(Fault::parse, fmt::format("{}: {}", source, printable(events.what, 200)));
    const std::size_t byte = events.byte > 0 ? events.byte - 1 : 0;
    return fail(Fault::parse, fmt::format("{}:{}: invalid JSON", source, place(text, byte)));
  } catch (const Json::exception& error) {
    return fail(Fault::parse, fmt::format("{}: {}", source, printable(error.what(), 200)));
  }
}

}  // namespace

Result<Tree> read(std::string_view text, std::string_view source) {
  Reader reader;
  if (auto done = parse(text, source, reader); !done) return std::unexpected(std::move(done.error()));
  return std::move(reader.tree);
}

Result<> each_scalar(std::string_view text, std::string_view source, const TakeScalar& take) {
  Scalars scalars(take);
  return parse(text, source, scalars);
}

}  // namespace base::json
