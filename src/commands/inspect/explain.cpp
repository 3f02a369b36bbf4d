#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/columns.hpp"
#include "gpuadm/report/wrap.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/workload/train_check.hpp"

#include "commands/inspect/fix.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace commands {

namespace {

struct ExplainOptions {
  Common common;
  std::vector<std::string> ids;  ///< of checks; a prefix ending in a dot means all below it
  Format format = Format::text;
};

/// One check with its article, for all output formats.
struct ExplainedCheck {
  checks::About about;
  checks::Article article;
  std::vector<std::string> explains;  ///< checks whose failure it explains
  std::vector<std::string> fixes;     ///< titles of the fixes of `gpuadm doctor --fix`
};

/// The parts of a page in all formats: key in JSON, heading, text. Empty ones are omitted.
using Parts = std::array<std::array<std::string, 3>, 7>;

/// "Steps: …", or empty.
std::string fixes(const std::vector<std::string>& fixes) {
  return fixes.empty() ? "" : "Steps: " + base::join(fixes, "; ") + ".";
}

Parts parts_of(const ExplainedCheck& page) {
  return {{{"why", "Why", std::string(page.about.why)},
           {"symptom", "Symptom", page.article.symptom},
           {"probe", "Probe", page.article.probe},
           {"fix", "Fix", page.article.fix},
           {"fixedBy", "gpuadm doctor --fix", fixes(page.fixes)},
           {"byHand", "Manual check", page.article.by_hand},
           {"stages", "Stages",
            page.about.stages == 0 ? "gpuadm train check" : session::stages_of(page.about.stages)}}};
}

base::Tree to_tree(const ExplainedCheck& page) {
  base::Tree tree = base::Tree::map_of({{"id", page.about.id}, {"title", page.about.title}});
  for (const auto& [key, heading, text] : parts_of(page)) tree.set(key, text);
  tree.set("source", base::Tree::list_of(page.article.sources));
  tree.set("causedBy", base::Tree::list_of(page.article.caused_by));
  tree.set("explains", base::Tree::list_of(page.explains));
  return tree;
}

using Wrap = std::string (*)(std::string_view line, std::size_t indent, std::size_t width);

std::string indented(std::string_view text, std::size_t width, Wrap wrap = report::wrapped) {
  std::string all;
  for (const std::string_view line : base::lines(text))
    all += fmt::format("      {}\n", wrap(line, 6, width));
  return all;
}

std::string to_text(const ExplainedCheck& page, std::size_t width) {
  std::string text = fmt::format("{}: {}\n", page.about.id, page.about.title);
  for (const auto& [key, heading, message] : parts_of(page))
    if (!message.empty())
      text += fmt::format("  {}\n{}", heading,
                          indented(message, width, key == "byHand" ? report::padded : report::wrapped));
  if (!page.article.sources.empty())
    text += fmt::format("  Source\n{}", indented(base::join(page.article.sources, "\n"), width));
  if (!page.article.caused_by.empty())
    text += fmt::format("  Follows from\n{}", indented(base::join(page.article.caused_by, "\n"), width));
  if (!page.explains.empty())
    text += fmt::format("  Explains\n{}", indented(base::join(page.explains, "\n"), width));
  return text;
}

/// A line for each check of a group: its id and title.
std::string list_of(const std::vector<ExplainedCheck>& pages, std::size_t width) {
  std::vector<std::vector<std::string>> lines = {{"CHECK", "WHAT IS TRUE IF IT PASSES"}};
  for (const ExplainedCheck& page : pages)
    lines.push_back({std::string(page.about.id), std::string(page.about.title)});
  return report::columns(std::move(lines), width, {1}) +
         fmt::format("\n{} checks; gpuadm explain ID explains one, and -v all of them\n", pages.size());
}

/// Links to the anchors of docs/checks/make, which makes a page per area.
std::string links(const std::vector<std::string>& ids) {
  std::vector<std::string> linked;
  for (const std::string& id : ids)
    linked.push_back(fmt::format("[{0}]({1}.md#{0})", id, id.substr(0, id.find('.'))));
  return base::join(linked, ", ");
}

std::string to_markdown(const ExplainedCheck& page) {
  std::string text = fmt::format("# {}\n\n{}\n", page.about.id, page.about.title);
  for (const auto& [key, heading, message] : parts_of(page))
    if (!message.empty())
      text += key == "byHand" ? fmt::format("\n## {}\n\n```sh\n{}\n```\n", heading, message)
                              : fmt::format("\n## {}\n\n{}\n", heading, message);
  if (!page.article.sources.empty()) text += "\n## Source\n\n";
  for (const std::string& source : page.article.sources) text += fmt::format("- <{}>\n", source);
  if (!page.article.caused_by.empty())
    text += fmt::format("\nFollows from: {}\n", links(page.article.caused_by));
  if (!page.explains.empty()) text += fmt::format("\nExplains: {}\n", links(page.explains));
  return text;
}

/// Those of hosts and of clusters, and those of training jobs.
std::vector<checks::About> explained_checks() {
  std::vector<checks::About> rows = session::every_check();
  for (const workload::TrainCheckRow& row : workload::train_checks())
    rows.push_back({row.id, row.title, row.why, 0});
  return rows;
}

Result<std::vector<ExplainedCheck>> pages(const Common& common) {
  const assets::Store assets = TRY(assets::Store::open(common.assets));
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  const Fixes fixes = fixes_of(TRY(playbook::Library::load(assets, "fix")));
  std::vector<ExplainedCheck> all;
  for (const checks::About& about : explained_checks()) {
    const checks::Article* article = checks::article(*data, about.id);
    const auto fix = fixes.find(about.id);
    all.push_back({about,
                   article ? *article : checks::Article{},
                   {},
                   fix == fixes.end() ? std::vector<std::string>() : fix->second});
  }
  for (const ExplainedCheck& page : all)
    for (const std::string& cause : page.article.caused_by)
      if (const auto place =
              std::ranges::find(all, cause, [](const ExplainedCheck& other) { return other.about.id; });
          place != all.end())
        place->explains.emplace_back(page.about.id);
  return all;
}

/// Prints what checks inspect, why, and what fixes their findings.
Result<Outcome> explain(const ExplainOptions& options, Io& io) {
  if (options.ids.empty())
    return base::fail(base::Fault::usage, "explain: ID is required",
                      "gpuadm explain --help lists the options");
  TRY(session::known_among(options.ids, explained_checks()));
  base::Tree tree = base::Tree::list();
  std::string text;
  std::vector<ExplainedCheck> chosen = TRY(pages(options.common));
  std::erase_if(chosen, [&](const ExplainedCheck& page) {
    return std::ranges::none_of(options.ids,
                                [&](const auto& id) { return session::matches(page.about.id, id); });
  });
  if (chosen.size() > options.ids.size() && options.format == Format::text &&
      io.out_style.verbosity == report::Verbosity::normal) {
    io.out(list_of(chosen, io.out_style.width));
    return Outcome::done;
  }
  for (const ExplainedCheck& page : chosen) {
    tree.push(to_tree(page));
    text += (text.empty() ? "" : "\n") +
            (options.format == Format::markdown ? to_markdown(page) : to_text(page, io.out_style.width));
  }
  io.out(options.format == Format::json ? base::json::write(tree) + "\n" : text);
  return Outcome::done;
}

}  // namespace

Command explain_command() {
  return CommandRow<ExplainOptions>{
      .name = "explain",
      .group = Group::inspect,
      .summary = "Explain a check, or why a pod does not run",
      .options =
          [](Line& line, ExplainOptions& options) {
            line.assets(options.common.assets);
            line.argument("ID", options.ids, "Id as in `gpuadm doctor --list`, or a prefix such as gpu");
            add_format(line, options.format,
                       {{"json", Format::json}, {"markdown", Format::markdown}, {"text", Format::text}});
          },
      .examples = {{"gpuadm explain gpu.driver.smi-runs", "one check"},
                   {"gpuadm explain net", "all network checks"}},
      .run = explain};
}

}  // namespace commands
