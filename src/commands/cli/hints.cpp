#include "commands/cli/hints.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/cli/model.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

namespace commands {

namespace {

/// Words after which a sentence continues, instead of a command.
constexpr std::array prose = std::to_array<std::string_view>(
    {"again",   "and",   "as",     "checks", "configures", "creates",  "deletes", "describes", "does",
     "first",   "for",   "from",   "if",     "it",         "label",    "lists",   "mounts",    "now",
     "of",      "on",    "once",   "or",     "printed",    "reads",    "removes", "reverts",   "rewrites",
     "runs",    "shows", "the",    "them",   "then",       "this",     "to",      "twice",     "until",
     "without", "with",  "writes", "asks",   "also",       "completes"});

/// Options that select hosts or objects, and that a suggested command repeats if it has them.
constexpr std::array repeated =
    std::to_array<std::string_view>({"--user", "--port", "-i", "--ssh-client", "--host-key-checking",
                                     "--sudo-password-file", "--kubeconfig", "--namespace", "--assets"});

/// Options with which a command reads no host.
constexpr std::array without_hosts =
    std::to_array<std::string_view>({"--help", "--demo", "--from", "--list", "--list-phases", "--offline"});

const CommandHelp& model() {
  static const CommandHelp whole = whole_model();
  return whole;
}

const CommandHelp* below(const CommandHelp& command, std::string_view word) {
  const auto found = std::ranges::find_if(command.subcommands,
                                          [&](const CommandHelp& one) { return one.path.back() == word; });
  return found == command.subcommands.end() ? nullptr : &*found;
}

const Argument* option_of(const CommandHelp& command, std::string_view name) {
  const auto has = [&](const Argument& one) {
    return std::ranges::find(one.names, std::string(name)) != one.names.end();
  };
  for (const CommandHelp* at : {&command, &model()})
    if (const auto found = std::ranges::find_if(at->arguments, has); found != at->arguments.end())
      return &*found;
  return nullptr;
}

bool names_hosts(const Argument& argument) {
  return argument.value == "TARGET" || argument.value == "HOST";
}

/// The parts of a command line. Places are indexes into its words.
struct Parsed {
  const CommandHelp* command = nullptr;
  std::size_t after_path = 1;
  std::vector<std::size_t> hosts;  ///< words that name hosts
  std::vector<std::pair<const Argument*, std::string>> options;
  const Argument* host_argument = nullptr;
  std::size_t dashes = 0;     ///< the place of "--", or the number of words
  bool host_is_next = false;  ///< a further word would name a host
  bool complete = true;       ///< every required argument without a name is given
};

Parsed parse(std::span<const std::string> words) {
  Parsed line;
  line.command = &model();
  std::size_t at = 1;
  while (at < words.size()) {
    const CommandHelp* inner = below(*line.command, words[at]);
    if (inner == nullptr) {
      if (line.command != &model() || !words[at].starts_with('-')) break;
      const Argument* option = option_of(*line.command, words[at]);
      if (option != nullptr && !option->value.empty() && at + 1 < words.size())
        line.options.emplace_back(option, words[at + 1]);
      at += option != nullptr && !option->value.empty() ? 2 : 1;
      continue;
    }
    line.command = inner;
    line.after_path = ++at;
  }
  std::vector<const Argument*> places;
  for (const Argument& argument : line.command->arguments) {
    if (argument.placed) places.push_back(&argument);
    if (argument.placed && names_hosts(argument)) line.host_argument = &argument;
  }
  std::size_t place = 0;
  line.dashes = words.size();
  for (; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") {
      line.dashes = at;
      break;
    }
    if (!word.starts_with('-') || word == "-") {
      if (place < places.size() && names_hosts(*places[place])) line.hosts.push_back(at);
      if (place < places.size() && !places[place]->names.empty())
        line.options.emplace_back(places[place], word);
      if (place < places.size() && !places[place]->repeats) ++place;
      continue;
    }
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const Argument* option = option_of(*line.command, word.substr(0, equals));
    if (option == nullptr) continue;
    if (equals != std::string::npos)
      line.options.emplace_back(option, word.substr(equals + 1));
    else if (!option->value.empty() && !option->attached && at + 1 < words.size())
      line.options.emplace_back(option, words[++at]);
    else
      line.options.emplace_back(option, "");
  }
  line.host_is_next = place < places.size() && places[place] == line.host_argument;
  for (; place < places.size(); ++place)
    if (places[place]->required && (!places[place]->repeats || line.hosts.empty())) line.complete = false;
  return line;
}

bool has_option(const Parsed& line, std::string_view name) {
  const Argument* wanted = option_of(*line.command, name);
  return wanted != nullptr &&
         std::ranges::any_of(line.options, [&](const auto& one) { return one.first == wanted; });
}

/// "192.0.2.10" of "root@192.0.2.10:2222"
std::string_view host_of(std::string_view target) {
  if (const auto at = target.rfind('@'); at != target.npos) target.remove_prefix(at + 1);
  if (target.starts_with('[')) return target.substr(1, target.find(']') - 1);
  return std::ranges::count(target, ':') == 1 ? target.substr(0, target.find(':')) : target;
}

/// Whether a target that was typed is the host of this name: hosts of the command line have the first label
/// of their name, or their address.
bool is_same(std::string_view target, std::string_view name) {
  const std::string_view host = host_of(target);
  return host == name || (host.starts_with(name) && host.substr(name.size()).starts_with('.'));
}

std::string word_quoted(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("@%+=:,./_-[]~{}…").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return plain ? text : base::quote(text);
}

/// The words of a suggestion with what was typed.
std::vector<std::string> completed(std::vector<std::string> words, const TypedLine& typed) {
  // What a cluster file describes is created by apply.
  if (words.size() == 2 && words[1] == "init" && !typed.file.empty()) words[1] = "apply";
  Parsed line = parse(words);
  const bool elsewhere =
      std::ranges::any_of(without_hosts, [&](std::string_view name) { return has_option(line, name); });
  if (line.command == &model() || !line.command->subcommands.empty() || !line.complete || elsewhere)
    return words;
  if (typed.file.empty() && !has_option(line, "-f"))
    for (auto place = line.hosts.rbegin(); place != line.hosts.rend(); ++place) {
      const auto target = std::ranges::find_if(
          typed.targets, [&](const std::string& one) { return is_same(one, words[*place]); });
      if (target != typed.targets.end())
        words[*place] = *target;
      else if (typed.targets.empty() && words[*place] == "localhost" && line.host_argument->repeats)
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(*place)), --line.dashes;
    }
  std::vector<std::string> added;
  const bool takes_file = option_of(*line.command, "-f") != nullptr;
  const bool selects = line.hosts.empty() && line.host_is_next && line.host_argument != nullptr &&
                       line.host_argument->repeats && !has_option(line, "-f");
  if (selects && (takes_file || typed.file.empty()))
    added.insert(added.end(), typed.targets.begin(), typed.targets.end());
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "-f" && words[i + 1] == "FILE" && !typed.file.empty()) words[i + 1] = typed.file;
  if (takes_file && !typed.file.empty() && !has_option(line, "-f"))
    added.insert(added.end(), {"-f", typed.file});
  for (const auto& option : typed.options)
    if (option_of(*line.command, option.front()) != nullptr && !has_option(line, option.front()))
      added.insert(added.end(), option.begin(), option.end());
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(line.dashes), added.begin(), added.end());
  return words;
}

/// `train run` takes manifests of jobs with -f, too. A pipe is never read: what it has is the command's.
bool is_cluster_file(const Parsed& line, const std::string& file) {
  if (line.command->path != std::vector<std::string>{"gpuadm", "train", "run"}) return true;
  std::error_code none;
  const std::filesystem::path path = file;
  if (!std::filesystem::is_regular_file(path, none)) return !std::filesystem::exists(path, none);
  constexpr std::size_t largest = 1U << 20;
  const auto text = base::read_file(file, largest);
  return !text || text->contains("GpuCluster");
}

}  // namespace

TypedLine typed_line(std::span<const std::string> words) {
  TypedLine typed;
  if (words.empty()) return typed;
  const Parsed line = parse(words);
  for (const std::size_t place : line.hosts) typed.targets.push_back(words[place]);
  for (const auto& [option, value] : line.options) {
    const auto is = [&](std::string_view name) {
      return std::ranges::find(option->names, std::string(name)) != option->names.end();
    };
    if (is("-f") && is_cluster_file(line, value)) typed.file = value;
    // The control plane of a cluster that hosts are added to, or removed from.
    if (is("--to") && option->value == "HOST") typed.targets = {value};
    for (const std::string_view name : repeated)
      if (is(name) && !value.empty()) typed.options.push_back({std::string(name), value});
  }
  return typed;
}

std::vector<Suggestion> suggestions_in(std::string_view sentence) {
  constexpr std::string_view program = "gpuadm ";
  std::vector<Suggestion> all;
  std::size_t from = 0;  // after the last command
  for (std::size_t at = sentence.find(program); at != std::string_view::npos;
       at = sentence.find(program, std::max(at + 1, from))) {
    if (at > 0 && std::string_view(" `'\"(\n").find(sentence[at - 1]) == std::string_view::npos) continue;
    const bool ticked = at > 0 && sentence[at - 1] == '`';
    Suggestion found{at, at + program.size() - 1, {"gpuadm"}};
    std::size_t i = at + program.size();
    bool command = false;
    const CommandHelp* group = &model();  // while the words name a command
    while (i < sentence.size() && sentence[i] != '`' && sentence[i] != '\n' && sentence[i] != '|') {
      if (sentence[i] == ' ') {
        ++i;
        continue;
      }
      std::size_t end = i;
      char quote = '\0';
      std::string word;
      for (; end < sentence.size(); ++end) {
        const char c = sentence[end];
        if (quote == '\0' && (c == ' ' || c == '\n' || c == '`')) break;
        if (quote != '\0' ? c == quote : (c == '\'' && (word.empty() || word.back() == '='))) {
          quote = quote == '\0' ? c : '\0';
          continue;
        }
        word += c;
      }
      const std::size_t size = word.size();
      while (!word.empty() && std::string_view(",;:)?'\"").find(word.back()) != std::string_view::npos &&
             !(word.back() == ')' && word.find('(') != std::string::npos))
        word.pop_back();
      const bool stops = word.size() < size;
      // The end of a sentence; but ids of checks may end in a dot, "--only gpu.", and `--src .` is a folder.
      const std::string& before = found.words.back();
      const bool ends = word.size() > 1 && word.ends_with('.') && before != "--only" && before != "--skip" &&
                        !word.ends_with("..");
      if (ends) word.pop_back();
      const CommandHelp* inner = group != nullptr ? below(*group, word) : nullptr;
      if (!command && inner == nullptr) break;
      command = true;
      group = inner;
      if (!ticked && found.words.size() > 1 &&
          std::ranges::find(prose, std::string_view(word)) != prose.end())
        break;
      if (word.starts_with('(') || word.starts_with('>') || word.empty()) break;
      found.words.push_back(word);
      found.end = end - (stops || ends ? size - word.size() : 0);
      i = end;
      if (stops || ends) break;
    }
    if (!command) continue;
    from = found.end;
    all.push_back(std::move(found));
  }
  return all;
}

std::string complete_hint(std::string_view sentence, const TypedLine& typed) {
  std::string text;
  std::size_t from = 0;
  for (const Suggestion& one : suggestions_in(sentence)) {
    const std::vector<std::string> words = completed(one.words, typed);
    text += sentence.substr(from, one.begin - from);
    if (words == one.words) {
      text += sentence.substr(one.begin, one.end - one.begin);
    } else {
      std::string command;
      for (const std::string& word : words) command += (command.empty() ? "" : " ") + word_quoted(word);
      text += command;
    }
    from = one.end;
  }
  return text + std::string(sentence.substr(from));
}

}  // namespace commands
