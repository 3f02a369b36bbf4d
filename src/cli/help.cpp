#include "cli/help.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/report/wrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace cli {
namespace {

struct Theme {
  const char* heading;
  std::vector<std::string_view> verbs;
};

/// How the verbs of gpuadm itself are shown; one that is none of them comes last.
const std::vector<Theme>& themes() {
  static const std::vector<Theme> themes = {
      {"Look", {"doctor", "facts", "status", "verify", "diff", "explain", "support"}},
      {"Build", {"init", "adopt", "apply", "join", "upgrade", "runtime", "playbook"}},
      {"Keep", {"gpu", "certs", "etcd", "repair", "kubeconfig", "exec", "logs", "cp"}},
      {"Take back", {"undo", "remove", "reset"}},
  };
  return themes;
}

using report::wrapped;

class Help {
 public:
  explicit Help(std::size_t width) : width_(width) {}

  std::string of(const Command& command) {
    text_ = wrapped(command.says, 0, width_) + "\n\n";
    text_ += "Usage: " + wrapped(usage_of(command), 7, width_) + "\n";
    add_arguments(command);
    add_verbs(command);
    add_examples(command);
    if (command.path.size() == 1)
      text_ += "\nExit codes: " + wrapped(exit_codes, 12, width_) + "\n";
    else if (!command.verbs.empty())
      text_ += fmt::format("\n{} VERB --help says more.\n", name_of(command));
    else
      text_ += "\n-v, -q, --plain, --log-format, --no-color, --assets: see gpuadm --help.\n";
    return text_;
  }

 private:
  void row(const std::string& left, std::string_view says) {
    constexpr std::size_t margin = 30;
    text_ += "  " + left;
    if (left.size() + 4 > margin && !says.empty())
      text_ += "\n" + std::string(margin, ' ');
    else
      text_ += std::string(margin - std::min(margin, left.size() + 2), ' ');
    text_ += wrapped(says, margin, width_) + "\n";
  }

  void add_arguments(const Command& command) {
    std::vector<std::string> headings;
    const auto heading_of = [](const Argument& argument) {
      return argument.names.empty() ? std::string("Arguments") : argument.heading;
    };
    for (const Argument& argument : command.arguments)
      if (std::ranges::find(headings, heading_of(argument)) == headings.end())
        headings.push_back(heading_of(argument));
    // What has a place first, how to connect last.
    std::ranges::stable_sort(headings, {}, [](const std::string& heading) {
      return heading == "Arguments" ? 0 : heading == "Options" ? 1 : 2;
    });
    for (const std::string& heading : headings) {
      text_ += "\n" + heading + ":\n";
      for (const Argument& argument : command.arguments)
        if (heading_of(argument) == heading) row(spelled(argument), argument.says);
    }
  }

  void add_verbs(const Command& command) {
    if (command.verbs.empty()) return;
    std::vector<std::string_view> told;
    if (command.path.size() == 1)
      for (const Theme& theme : themes()) {
        text_ += fmt::format("\n{}:\n", theme.heading);
        for (const std::string_view name : theme.verbs)
          for (const Command& verb : command.verbs)
            if (verb.path.back() == name) row(verb.path.back(), verb.says);
        told.insert(told.end(), theme.verbs.begin(), theme.verbs.end());
      }
    text_ += told.empty() ? "\nVerbs:\n" : "\nMore:\n";
    for (const Command& verb : command.verbs)
      if (std::ranges::find(told, verb.path.back()) == told.end()) row(verb.path.back(), verb.says);
  }

  void add_examples(const Command& command) {
    if (command.examples.empty()) return;
    text_ += "\nExamples:\n";
    for (const Example& example : command.examples) {
      if (!example.says.empty()) text_ += fmt::format("  # {}\n", example.says);
      text_ += fmt::format("  {}\n", example.command);
    }
  }

  std::size_t width_;
  std::string text_;
};

std::string cell(std::string_view text) {
  return base::replace_all(std::string(text), "|", "\\|");
}

}  // namespace

std::string help_of(const Command& command, std::size_t width) {
  return Help(width).of(command);
}

std::string reference_of(const Command& root) {
  std::string text =
      "# The command line\n\nMade by `docs/reference/make`. `gpuadm VERB --help` says the same; `man "
      "gpuadm-VERB`, too.\n";
  each(root, [&](const Command& command) {
    text += fmt::format("\n## {}\n\n{}\n\n    {}\n", name_of(command), command.says, usage_of(command));
    if (!command.examples.empty()) text += "\n```sh\n";
    for (const Example& example : command.examples)
      text += example.command + (example.says.empty() ? "" : "  # " + example.says) + "\n";
    if (!command.examples.empty()) text += "```\n";
    // How to connect stands once, where it is the same for all.
    const bool connects = std::ranges::any_of(
        command.arguments, [](const Argument& argument) { return argument.heading == "Connection"; });
    const bool here = name_of(command) == "gpuadm init";
    text += "\n| Argument | Meaning |\n|---|---|\n";
    for (const Argument& argument : command.arguments)
      if (argument.heading != "Connection" || here)
        text += fmt::format("| `{}` | {} |\n", cell(spelled(argument)), cell(argument.says));
    if (connects && !here)
      text += "| `--user`, `--port`, ... | How to connect, as for [gpuadm init](#gpuadm-init) |\n";
  });
  return text + fmt::format("\n## Exit codes\n\n{}\n", exit_codes);
}

}  // namespace cli
