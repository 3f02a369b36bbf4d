#include "checks/catalogue.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

namespace checks {

namespace {

using base::Result;
using base::Tree;
using report::Finding;
using report::Verdict;

/// The prefix of an id.
constexpr const char* areas[] = {"host",    "kernel",  "sec", "gpu", "rdma", "rt", "nct",
                                 "kubeadm", "kubelet", "net", "st",  "cl",   "gk", "train"};

std::unexpected<base::Error> bad_entry(const std::string& path, const std::string& id,
                                       std::string_view what) {
  return base::fail(base::Fault::parse, fmt::format("{}: {}: {}", path, id, what));
}

/// "https://HOST/…", which can be written between < and >.
bool is_address(std::string_view text) {
  static constexpr std::string_view scheme = "https://";
  if (!text.starts_with(scheme) || text.find_first_of(" \t\n<>\"") != std::string_view::npos) return false;
  const std::string_view host = text.substr(scheme.size(), text.find('/', scheme.size()) - scheme.size());
  return host.find('.') != std::string_view::npos && !host.starts_with('.') && !host.ends_with('.');
}

/// One URL, or a list of them.
Result<std::vector<std::string>> read_sources(const std::string& path, const std::string& id,
                                              const Tree& tree) {
  std::vector<std::string> sources;
  if (tree.is_list())
    for (const Tree& item : tree.items()) sources.push_back(item.text());
  else
    sources.push_back(tree.text());
  for (const std::string& source : sources)
    if (!is_address(source))
      return bad_entry(path, id, fmt::format("source: '{}' is not an https address", source));
  if (sources.empty()) return bad_entry(path, id, "source names none");
  return sources;
}

Result<Article> read_article(const std::string& path, const std::string& id, const Tree& tree) {
  Article article;
  for (const auto& [key, value] : tree.entries()) {
    if (key == "source") {
      article.sources = TRY(read_sources(path, id, value));
      continue;
    }
    if (key == "causedBy" && value.is_list()) {
      for (const Tree& cause : value.items()) article.caused_by.push_back(cause.text());
      continue;
    }
    auto* const text = key == "symptom"  ? &article.symptom
                       : key == "probe"  ? &article.probe
                       : key == "fix"    ? &article.fix
                       : key == "byHand" ? &article.by_hand
                                         : nullptr;
    if (!text) return bad_entry(path, id, fmt::format("'{}' is not a key of an article", key));
    *text = base::trim(value.text());
  }
  return article;
}

/// Whether `id` is among its own causes' causes.
bool in_circle(const std::string& id, const Catalogue& catalogue) {
  std::set<std::string> seen;
  std::deque<std::string> todo{id};
  while (!todo.empty()) {
    const auto article = catalogue.find(todo.front());
    todo.pop_front();
    for (const std::string& cause : article->second.caused_by) {
      if (cause == id) return true;
      if (seen.insert(cause).second) todo.push_back(cause);
    }
  }
  return false;
}

}  // namespace

Result<Catalogue> read_catalogue(const std::function<Result<std::string>(std::string_view path)>& asset) {
  Catalogue catalogue;
  for (const char* area : areas) {
    const std::string path = fmt::format("data/checks/{}.yaml", area);
    const Tree tree = TRY(base::yaml::read(TRY(asset(path)), path));
    for (const auto& [id, article] : tree.entries()) {
      if (!id.starts_with(std::string(area) + "."))
        return bad_entry(path, id, fmt::format("ids in this file begin with '{}.'", area));
      catalogue.emplace(id, TRY(read_article(path, id, article)));
    }
  }
  for (const auto& [id, article] : catalogue)
    for (const std::string& cause : article.caused_by)
      if (!catalogue.contains(cause))
        return bad_entry("data/checks", id, fmt::format("no check is called {}", cause));
  for (const auto& [id, article] : catalogue)
    if (in_circle(id, catalogue)) return bad_entry("data/checks", id, "is its own cause");
  return catalogue;
}

std::string cause_of(std::string_view id, std::span<const Finding> of_host, const Catalogue& catalogue) {
  const auto any = [&](const std::string& check, Verdict verdict) {
    return std::ranges::any_of(
        of_host, [&](const Finding& finding) { return finding.id == check && finding.verdict == verdict; });
  };
  std::set<std::string> seen;
  std::deque<std::string> todo{std::string(id)};
  while (!todo.empty()) {
    const auto article = catalogue.find(todo.front());
    todo.pop_front();
    if (article == catalogue.end()) continue;
    for (const std::string& cause : article->second.caused_by) {
      if (any(cause, Verdict::fail) || any(cause, Verdict::timeout)) return cause;
      if (!any(cause, Verdict::pass) && seen.insert(cause).second) todo.push_back(cause);
    }
  }
  return {};
}

}  // namespace checks
