#include "gpuadm/base/debian_version.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/debian.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bundle::debian {

namespace {

using base::Fault;

/// Limit of one package; the largest driver has 400 MB.
constexpr long long largest_package = 4LL << 30;

bool is_sum(std::string_view text, std::size_t digits = 64) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Characters of names and versions: they are written into files that apt reads.
bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 200 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("+-.:~").find(c) != std::string_view::npos;
  });
}

/// A path that stays below its base, and is the same in a URL.
bool is_below(std::string_view path) {
  return !path.empty() && path.size() <= 1000 && path.front() != '/' &&
         std::ranges::none_of(base::split(path, '/'), [](std::string_view part) { return part == ".."; }) &&
         std::ranges::all_of(path, [](char c) { return c > ' ' && c < 127 && c != '?' && c != '#'; });
}

/// The value of a field with its continuation lines, which begin with a space.
std::map<std::string_view, std::string_view> fields_of(std::string_view stanza) {
  std::map<std::string_view, std::string_view> fields;
  while (!stanza.empty()) {
    std::size_t end = stanza.find('\n');
    while (end != std::string_view::npos && end + 1 < stanza.size() &&
           (stanza[end + 1] == ' ' || stanza[end + 1] == '\t'))
      end = stanza.find('\n', end + 1);
    const std::string_view field = stanza.substr(0, end);
    stanza.remove_prefix(end == std::string_view::npos ? stanza.size() : end + 1);
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos) continue;
    fields.emplace(field.substr(0, colon), base::trim(field.substr(colon + 1)));
  }
  return fields;
}

/// "name:any (>= 1.0) [amd64]", without the brackets.
struct Relation {
  std::string_view name, sign, version;
};
Relation relation_of(std::string_view text) {
  Relation relation;
  text = base::trim(text);
  const std::size_t end = text.find_first_of(" \t\n([<");
  relation.name = text.substr(0, end);
  relation.name = relation.name.substr(0, relation.name.find(':'));
  const std::size_t open = text.find('('), close = text.find(')', open);
  if (close == std::string_view::npos) return relation;
  const std::string_view inside = base::trim(text.substr(open + 1, close - open - 1));
  const std::size_t signs = std::min(inside.find_first_not_of("<>="), inside.size());
  relation.sign = inside.substr(0, signs);
  relation.version = base::trim(inside.substr(signs));
  return relation;
}

bool holds(const Relation& relation, std::string_view version) {
  if (relation.sign.empty()) return true;
  if (version.empty()) return false;
  const int less = base::compare_debian_versions(version, relation.version);
  if (relation.sign == ">=" || relation.sign == ">") return less >= 0;
  if (relation.sign == "<=" || relation.sign == "<") return less <= 0;
  if (relation.sign == ">>") return less > 0;
  if (relation.sign == "<<") return less < 0;
  return relation.sign == "=" && less == 0;
}

std::string shown(std::string_view text) {
  return base::printable(text, 200);
}

}  // namespace

std::string signed_text(std::string_view in_release) {
  if (!in_release.starts_with("-----BEGIN PGP SIGNED MESSAGE-----")) return std::string(in_release);
  std::string text;
  bool inside = false;  // after the armor's headers, which end with an empty line
  for (std::string_view line : base::lines(in_release)) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("-----BEGIN PGP SIGNATURE")) break;
    if (inside) text.append(line.starts_with("- ") ? line.substr(2) : line).push_back('\n');
    inside = inside || line.empty();
  }
  return text;
}

Result<std::map<std::string, Sum>> parse_release(std::string_view text, const std::string& source) {
  std::map<std::string, Sum> sums;
  std::string Sum::* section = nullptr;
  for (const std::string_view line : base::lines(text)) {
    if (!line.starts_with(' ')) {
      section = line.starts_with("SHA256:")   ? &Sum::sha256
                : line.starts_with("SHA512:") ? &Sum::sha512
                                              : nullptr;
      continue;
    }
    const auto words = base::words(line);
    if (!section || words.size() != 3 || !is_below(words[2])) continue;
    if (!is_sum(words[0], section == &Sum::sha256 ? 64 : 128)) continue;
    const auto size = base::to_int(words[1]);
    if (!size || *size < 0) continue;
    Sum& sum = sums[std::string(words[2])];
    sum.*section = words[0];
    sum.size = static_cast<std::uint64_t>(*size);
  }
  if (!sums.empty()) return sums;
  return base::fail(Fault::parse, fmt::format("{}: no SHA-256 or SHA-512 of any index", source),
                    "check that this release exists; a proxy or mirror may have sent something else");
}

Result<> Index::add(std::string packages, const std::string& base, const std::string& source) {
  std::string_view rest = texts_.emplace_back(std::move(packages));
  while (!rest.empty()) {
    const std::size_t end = rest.find("\n\n");
    const std::string_view stanza = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
    const auto fields = fields_of(stanza);
    const auto field = [&](std::string_view name) {
      const auto place = fields.find(name);
      return place == fields.end() ? std::string_view() : place->second;
    };
    if (fields.empty()) continue;
    Package package{.name = field("Package"),
                    .version = field("Version"),
                    .depends = field("Depends"),
                    .pre_depends = field("Pre-Depends"),
                    .provides = field("Provides"),
                    .sha256 = field("SHA256"),
                    .url = {},
                    .stanza = stanza};
    const auto bad = [&](std::string_view what) {
      return base::fail(Fault::parse,
                        fmt::format("{}: the package '{}' {}", source, shown(package.name), what),
                        "the index is damaged or invalid");
    };
    if (!is_word(package.name) || !is_word(package.version)) return bad("has no valid name or version");
    if (!is_sum(package.sha256)) return bad("has no SHA-256");
    std::string_view file = field("Filename");
    if (file.starts_with("./")) file.remove_prefix(2);
    if (!is_below(file))
      return bad(fmt::format("has the file '{}', which is not below its repository", shown(file)));
    const auto size = base::to_int(field("Size"));
    if (!size || *size <= 0 || *size > largest_package) return bad("has no size that can be");
    package.size = static_cast<std::uint64_t>(*size);
    package.url = fmt::format("{}/{}", base, file);
    const Package* kept = &packages_.emplace_back(std::move(package));
    by_name_[kept->name].push_back(kept);
    if (kept->provides.empty()) continue;
    for (const std::string_view text : base::split(kept->provides, ',')) {
      const Relation provided = relation_of(text);
      providers_[provided.name].push_back({kept, provided.version});
    }
  }
  return {};
}

std::vector<const Package*> Index::find(std::string_view name) const {
  const auto place = by_name_.find(name);
  if (place == by_name_.end()) return {};
  std::vector<const Package*> found = place->second;
  std::ranges::stable_sort(found, [](const Package* a, const Package* b) {
    return base::compare_debian_versions(a->version, b->version) > 0;
  });
  return found;
}

const Package* Index::newest(std::string_view name, std::string_view beginning) const {
  for (const Package* package : find(name)) {
    const std::string_view version = package->version;
    const std::size_t colon = version.find(':');
    if (version.substr(colon == std::string_view::npos ? 0 : colon + 1).starts_with(beginning))
      return package;
  }
  return nullptr;
}

/// The selection so far. Packages are processed in the order in which they were added.
class Closure {
 public:
  explicit Closure(const Index& index) : index_(index) {}

  void add(const Package* package) {
    std::vector<const Package*>& there = chosen_[package->name];
    for (const Package* other : there)
      if (other->version == package->version) return;
    there.push_back(package);
    order_.push_back(package);
  }

  Result<> complete() {
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const Package& package = *order_[at];
      for (const std::string_view field : {package.pre_depends, package.depends}) {
        if (field.empty()) continue;
        for (const std::string_view alternatives : base::split(field, ','))
          if (!base::trim(alternatives).empty()) TRY(serve(package, alternatives));
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<const Package*> all() const {
    std::vector<const Package*> packages;
    for (const auto& [name, versions] : chosen_)
      packages.insert(packages.end(), versions.begin(), versions.end());
    return packages;
  }

 private:
  Result<> serve(const Package& package, std::string_view alternatives) {
    std::vector<Relation> relations;
    for (const std::string_view text : base::split(alternatives, '|')) relations.push_back(relation_of(text));
    for (const Relation& relation : relations)
      if (is_served(relation)) return {};
    for (const Relation& relation : relations)
      if (const Package* found = find_package(relation)) {
        add(found);
        return {};
      }
    return base::fail(Fault::blocked,
                      fmt::format("{} {} needs {}, which no repository has", shown(package.name),
                                  shown(package.version), shown(base::trim(alternatives))),
                      "check that the mirror is complete");
  }

  [[nodiscard]] bool is_served(const Relation& relation) const {
    if (const auto place = chosen_.find(relation.name); place != chosen_.end())
      for (const Package* package : place->second)
        if (holds(relation, package->version)) return true;
    if (const auto place = index_.providers_.find(relation.name); place != index_.providers_.end())
      for (const auto& [package, version] : place->second)
        if (holds(relation, version) && is_chosen(package)) return true;
    return false;
  }
  [[nodiscard]] bool is_chosen(const Package* package) const {
    const auto place = chosen_.find(package->name);
    return place != chosen_.end() && std::ranges::count(place->second, package) > 0;
  }

  [[nodiscard]] const Package* find_package(const Relation& relation) const {
    for (const Package* package : index_.find(relation.name))
      if (holds(relation, package->version)) return package;
    const Package* best = nullptr;
    if (const auto place = index_.providers_.find(relation.name); place != index_.providers_.end())
      for (const auto& [package, version] : place->second)
        if (holds(relation, version) &&
            (!best || (package->name == best->name &&
                       base::compare_debian_versions(package->version, best->version) > 0)))
          best = package;
    return best;
  }

  const Index& index_;
  std::map<std::string_view, std::vector<const Package*>> chosen_;
  std::vector<const Package*> order_;
};

Result<std::vector<const Package*>> Index::closure(const std::vector<const Package*>& roots) const {
  Closure closure(*this);
  for (const Package* root : roots) closure.add(root);
  TRY(closure.complete());
  return closure.all();
}

std::string stanza_with(const Package& package, const std::string& file) {
  std::string text;
  for (const std::string_view line : base::lines(package.stanza))
    if (!line.starts_with("Filename:") && !line.empty()) text.append(line).push_back('\n');
  return text + fmt::format("Filename: {}\n", file);
}

}  // namespace bundle::debian
