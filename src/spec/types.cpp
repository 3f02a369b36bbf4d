#include "spec/types.hpp"

#include "gpuadm/base/network.hpp"

#include <algorithm>
#include <cctype>

namespace spec {

namespace {

std::string shown(const Tree& tree) {
  if (tree.is_map()) return "a map";
  if (tree.is_list()) return "a list";
  if (tree.is_null()) return "nothing";
  const std::string text = base::printable(tree.text(), 100);
  return tree.is_string() ? "'" + text + "'" : text;
}

/// A type that one function parses from a scalar; it returns nothing for an invalid one.
template <class V>
Type<V> scalar(std::string name, std::function<std::optional<V>(const Tree&)> parse,
               std::function<Tree(const V&)> write, Tree schema) {
  const auto read = [=](const Tree& tree, const std::string& path, Problems& problems) {
    std::optional<V> value;
    if (tree.is_scalar() && !tree.is_null()) value = parse(tree);
    if (!value) add_unexpected(problems, tree, path, name);
    return value;
  };
  return {name, read, std::move(write), std::move(schema)};
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool is_ip(const std::string& text) {
  return text.find('/') == std::string::npos && base::Cidr::parse(text).has_value();
}

/// A name or value of a Kubernetes label: at most 63 characters, alphanumeric at both ends.
bool is_label_word(const std::string& text) {
  return !text.empty() && text.size() <= 63 && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) && std::ranges::all_of(text, [](char c) {
           return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool is_label_key(const std::string& key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string::npos) return is_label_word(key);
  return base::is_dns_name(key.substr(0, slash)) && is_label_word(key.substr(slash + 1));
}

/// The same prefix without host bits.
base::Cidr network_of(base::Cidr cidr) {
  for (std::size_t bit = static_cast<std::size_t>(cidr.prefix); bit < cidr.address.size() * 8; ++bit)
    cidr.address[bit / 8] &= static_cast<std::uint8_t>(~(0x80u >> bit % 8));
  return cidr;
}

}  // namespace

bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

Tree schema_of_type(const char* name) {
  return Tree::map_of({{"type", name}});
}

Tree schema_of_any(Tree::List alternatives) {
  return Tree::map_of({{"oneOf", std::move(alternatives)}});
}

void add_unexpected(Problems& problems, const Tree& tree, const std::string& path,
                    const std::string& expected, const std::optional<std::string>& nearest) {
  problems.add(tree.mark, fmt::format("{}: expected {}, got {}{}", path, expected, shown(tree),
                                      nearest ? fmt::format(" (did you mean {}?)", *nearest) : ""));
}

bool is_address(const std::string& text) {
  if (is_ip(text)) return true;
  // A link-local address with its zone, or a name: OpenSSH's configuration may map any word to an address.
  const std::size_t zone = text.find('%');
  if (zone != std::string::npos && is_ip(text.substr(0, zone)) && zone + 1 < text.size()) return true;
  return !text.empty() && text.size() <= 253 && text.front() != '-' && !base::is_partial_ipv4(text) &&
         std::ranges::all_of(text,
                             [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_user_name(const std::string& text) {
  // OpenSSH's client also rejects these on its command line (ssh.c, valid_ruser).
  return !text.empty() && text.front() != '-' && text.back() != '\\' &&
         std::ranges::none_of(text, [](char c) {
           return is_control(c) || std::string_view(" '`\"$;&<>|(){}").find(c) != std::string_view::npos;
         });
}

std::optional<std::uint16_t> to_port(std::string_view text) {
  const auto number = base::to_int(text);
  if (!number || *number < 1 || *number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

Type<std::string> text_where(std::string name, std::function<bool(const std::string&)> good,
                             const char* pattern) {
  // A number is read as written.
  const bool numbers = good("12") || good("1.5");
  Tree schema =
      numbers ? Tree::map_of({{"type", Tree::list_of({"string", "number"})}}) : schema_of_type("string");
  schema.set("pattern", pattern);
  return scalar<std::string>(
      std::move(name),
      [=](const Tree& tree) -> std::optional<std::string> {
        const std::string text = tree.text();
        if (tree.is_bool() || text.empty() || std::ranges::any_of(text, is_control) || !good(text))
          return std::nullopt;
        return text;
      },
      [](const std::string& text) { return text.empty() ? Tree() : Tree(text); }, std::move(schema));
}

Type<std::string> text(std::string name) {
  return text_where(std::move(name), [](const std::string&) { return true; });
}

Type<std::string> dns_name() {
  return text_where(
      "DNS name", [](const std::string& name) { return base::is_dns_name(name); }, dns_name_pattern);
}

Type<std::string> address() {
  return text_where("IP address or host name", is_address,
                    R"(^([A-Za-z0-9._][-A-Za-z0-9._]{0,252}|[0-9A-Fa-f:.]+(%.+)?)$)");
}

Type<std::string> ip_address() {
  return text_where("IP address", is_ip, R"(^([0-9]+(\.[0-9]+){3}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$)");
}

Type<std::string> host_and_port() {
  return text_where(
      "host:port",
      [](const std::string& text) {
        const std::size_t colon = text.rfind(':');
        if (colon == std::string::npos || !to_port(std::string_view(text).substr(colon + 1))) return false;
        const std::string host = text.substr(0, colon);
        if (host.starts_with('[') && host.ends_with(']'))
          return base::Cidr::parse(host.substr(1, host.size() - 2)).value_or(base::Cidr()).v6;
        return base::is_dns_name(host) || (is_ip(host) && host.find(':') == std::string::npos);
      },
      R"(^(\[[0-9A-Fa-f:.]+\]|[a-z0-9][-a-z0-9.]*):[0-9]{1,5}$)");
}

Type<std::string> network() {
  const std::string expected = "network such as 10.244.0.0/16";
  Type<std::string> type = text_where(
      expected,
      [](const std::string& text) { return text.find('/') != std::string::npos && base::Cidr::parse(text); },
      R"(^([0-9]+(\.[0-9]+){3}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)/[0-9]{1,3}$)");
  const auto any = type.read;
  type.read = [=](const Tree& tree, const std::string& path,
                  Problems& problems) -> std::optional<std::string> {
    if (tree.is_scalar() && tree.text().find(',') != std::string::npos) {
      problems.add(tree.mark, path +
                                  ": expected one network, got a list: gpuadm sets up no dual-stack "
                                  "clusters; write the IPv4 network alone");
      return std::nullopt;
    }
    std::optional<std::string> text = any(tree, path, problems);
    const auto cidr = text ? base::Cidr::parse(*text) : std::nullopt;
    if (!cidr || cidr->is_network()) return text;
    add_unexpected(problems, tree, path, expected, network_of(*cidr).text());
    return text = std::nullopt;
  };
  return type;
}

Type<std::string> user_name() {
  return text_where("user name", is_user_name,
                    R"(^[^-\x00-\x1f\x7f '`"$;&<>|(){}][^\x00-\x1f\x7f '`"$;&<>|(){}]*$)");
}

Type<std::map<std::string, std::string>> labels() {
  const auto value = scalar<std::string>(
      "label value",
      [](const Tree& tree) { return is_label_word(tree.text()) ? std::optional(tree.text()) : std::nullopt; },
      [](const std::string& text) { return Tree(text); },
      Tree::map_of({{"pattern", R"(^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$)"}}));
  return map_of("label key", is_label_key, value);
}

Type<bool> truth() {
  return scalar<bool>(
      "true | false", [](const Tree& tree) { return tree.as_bool(); },
      [](const bool& value) { return Tree(value); }, schema_of_type("boolean"));
}

Type<bool> only_if_true() {
  Type<bool> type = truth();
  type.write = [](const bool& value) { return value ? Tree(true) : Tree(); };
  return type;
}

Type<std::uint16_t> port() {
  return scalar<std::uint16_t>(
      "port from 1 to 65535",
      [](const Tree& tree) { return tree.is_int() ? to_port(tree.text()) : std::nullopt; },
      [](const std::uint16_t& port) { return port == 0 ? Tree() : Tree(int{port}); },
      Tree::map_of({{"type", "integer"}, {"minimum", 1}, {"maximum", 65535}}));
}

Type<int> whole_number(int least, int most) {
  const bool open = most == std::numeric_limits<int>::max();
  Tree schema = Tree::map_of({{"type", "integer"}, {"minimum", least}});
  if (!open) schema.set("maximum", most);
  return scalar<int>(
      open ? fmt::format("number from {}", least) : fmt::format("number from {} to {}", least, most),
      [=](const Tree& tree) -> std::optional<int> {
        const auto number = tree.as_int();
        if (!number || *number < least || *number > most) return std::nullopt;
        return static_cast<int>(*number);
      },
      // 0, if it is not a valid value, is unset.
      [=](const int& number) { return number == 0 && least > 0 ? Tree() : Tree(number); }, std::move(schema));
}

namespace {

/// A pre-release, a build number or only a major version would be ignored: they are rejected.
std::optional<base::Version> whole_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const auto version = base::Version::parse(text);
  if (!version || version->major != 1 || version->minor < 0 || version->text() != text) return std::nullopt;
  return version;
}

}  // namespace

Result<base::Version> parse_kubernetes_version(std::string_view text, std::string_view option) {
  if (const auto version = whole_version(text)) return *version;
  return base::fail(base::Fault::usage,
                    fmt::format("invalid Kubernetes version: '{}'", base::printable(text, 50)),
                    fmt::format("give a minor version or a patch release: {0} 1.36, or {0} 1.36.2", option));
}

Type<std::optional<base::Version>> kubernetes_version() {
  using Maybe = std::optional<base::Version>;
  return scalar<Maybe>(
      "version such as 1.36 or 1.36.2",
      [](const Tree& tree) -> std::optional<Maybe> {
        const auto version = whole_version(tree.text());
        if (!version) return std::nullopt;
        return Maybe(version);
      },
      [](const Maybe& version) { return version ? Tree(version->text()) : Tree(); },
      Tree::map_of(
          {{"type", Tree::list_of({"string", "number"})}, {"pattern", R"(^v?1\.[0-9]+(\.[0-9]+)?$)"}}));
}

Type<GpuProfile> sharing() {
  const std::vector<std::pair<std::string, Sharing>> ways = {{"timeSlicing", Sharing::time_slicing},
                                                             {"mps", Sharing::mps}};
  const std::string expected = "exclusive | {timeSlicing: N} | {mps: N}";
  const auto read = [=](const Tree& tree, const std::string& path,
                        Problems& problems) -> std::optional<GpuProfile> {
    if (tree.text() == "exclusive") return GpuProfile();
    for (const auto& [name, way] : ways)
      if (const Tree* replicas = tree.find(name); replicas && tree.entries().size() == 1) {
        const auto number = whole_number(2).read(*replicas, path + "." + name, problems);
        return number ? std::optional(GpuProfile{way, *number}) : std::nullopt;
      }
    add_unexpected(problems, tree, path, expected);
    return std::nullopt;
  };
  const auto write = [=](const GpuProfile& profile) -> Tree {
    for (const auto& [name, way] : ways)
      if (profile.sharing == way) return Tree::map_of({{name, profile.replicas}});
    return "exclusive";
  };
  Tree::List alternatives = {Tree::map_of({{"const", "exclusive"}})};
  for (const auto& [name, way] : ways)
    alternatives.push_back(Tree::map_of({{"type", "object"},
                                         {"properties", Tree::map_of({{name, whole_number(2).schema}})},
                                         {"required", Tree::list_of({name})},
                                         {"additionalProperties", false}}));
  return {expected, read, write, schema_of_any(std::move(alternatives))};
}

Type<Tree> settings() {
  const auto read = [](const Tree& tree, const std::string& path, Problems& problems) {
    if (!tree.is_map()) add_unexpected(problems, tree, path, "map");
    return tree.is_map() ? std::optional(tree) : std::nullopt;
  };
  return {"map", read, [](const Tree& tree) { return tree; }, schema_of_type("object")};
}

Type<std::vector<std::string>> list_of(const std::string& items_name, Type<std::string> item) {
  using Items = std::vector<std::string>;
  const std::string expected = "list of " + items_name;
  const auto read = [=](const Tree& tree, const std::string& path, Problems& problems) {
    std::optional<Items> items;
    if (!tree.is_list()) {
      add_unexpected(problems, tree, path, expected);
      return items;
    }
    items.emplace();
    for (const Tree& one : tree.items())
      if (auto value = item.read(one, path, problems)) items->push_back(std::move(*value));
    return items;
  };
  return {expected, read, [](const Items& items) { return items.empty() ? Tree() : Tree::list_of(items); },
          Tree::map_of({{"type", "array"}, {"items", item.schema}})};
}

}  // namespace spec
