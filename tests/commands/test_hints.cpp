#include "gpuadm/base/shell.hpp"

#include "commands/cli/hints.hpp"
#include "commands/cli/parser.hpp"
#include "literals.hpp"
#include "sanitizers.hpp"

#include <algorithm>
#include <cctype>
#include <map>

/// Every command that gpuadm suggests is one that its own command line takes, and acts on the hosts that were
/// typed.
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

const std::vector<Words>& typed_lines() {
  static const std::vector<Words> lines = {
      {"gpuadm", "doctor"},
      {"gpuadm", "doctor", "-f", "my cluster.yaml"},
      {"gpuadm", "status", "root@gpu1.example:2222", "--user", "me", "-i", "~/.ssh/key"},
      {"gpuadm", "workload", "list", "-f", "lab.yaml", "-n", "team", "--port", "22"}};
  return lines;
}

/// Why the real parser refuses a command; empty: it takes it.
std::string refusal_of(const Words& words) {
  std::vector<const char*> raw;
  for (const std::string& word : words) raw.push_back(word.c_str());
  commands::Settings settings;
  commands::Run chosen;
  CLI::App root{"", "gpuadm"};
  commands::declare_commands(root, settings, chosen);
  const auto rest = commands::split_command(raw, root, settings);
  try {
    root.parse(static_cast<int>(rest.size()), rest.data());
  } catch (const CLI::CallForHelp&) {
    return {};
  } catch (const CLI::ParseError& error) {
    return std::string(error.what()) +
           (root.remaining(true).empty() ? "" : ": " + root.remaining(true).front());
  }
  return {};
}

/// The same; declaring all options takes time, and most commands are suggested often.
const std::string& refusal(const Words& words) {
  static std::map<Words, std::string> known;
  const auto [place, fresh] = known.try_emplace(words);
  if (fresh) place->second = refusal_of(words);
  return place->second;
}

std::string shown(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

bool is_word_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// A template with values in its fields, and optional parts left out. Read byte by byte: std::regex recurses
/// once a byte, and an asset is longer than a stack with sanitizers has frames.
std::string filled(std::string_view text) {
  constexpr std::string_view ellipsis = "…";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const auto end_of = [&](char closing) { return rest.find(closing, 1); };
    if (rest.starts_with("{{") || rest.starts_with("}}")) {
      at += 2;
    } else if (rest.starts_with(ellipsis)) {
      at += ellipsis.size();
    } else if (rest.front() == '[' && end_of(']') != std::string_view::npos) {
      at += end_of(']') + 1;
    } else if (rest.front() == '{' && end_of('}') != std::string_view::npos &&
               std::ranges::all_of(rest.substr(1, end_of('}') - 1), is_word_byte)) {
      const bool appended = rest.starts_with("{}") && at > 0 &&  // what was typed, after a word
                            (std::islower(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '}');
      if (!appended) out += '1';
      at += end_of('}') + 1;
    } else if (is_word_byte(rest.front())) {
      const auto stop = std::ranges::find_if_not(rest, is_word_byte);
      const std::string_view word(rest.begin(), stop);
      if (word == "N" || word == "SIZE")
        out += '1';
      else
        out += word;
      at += word.size();
    } else {
      out += rest.front();
      ++at;
    }
  }
  return out;
}

/// Checks the suggestions of a text as they are, and with each line that was typed. `count`: of the commands.
void check(const std::string& where, const std::string& text, std::size_t& count) {
  for (const commands::Suggestion& one : commands::suggestions_in(text)) {
    if (++count % sample_step(8) != 0) continue;
    const bool is_notation =
        std::ranges::any_of(one.words, [](const std::string& word) { return word.contains('|'); });
    const bool is_any = one.words.size() > 2 && one.words[2] == "1";  // "gpuadm addon {} {}"
    const bool continues = one.end + 1 >= text.size();                // the source appends words
    std::string why = is_notation || is_any ? std::string() : refusal(one.words);
    if (why.ends_with(" is required") && (continues || one.words.size() <= 3)) continue;  // a mention
    CHECK_MESSAGE(why.empty(), where << ": " << shown(one.words) << ": " << why);
    if (!why.empty() || is_notation || is_any || continues) continue;
    const std::string sentence = text.substr(one.begin, one.end - one.begin);
    for (const Words& line : typed_lines()) {
      const auto typed = commands::typed_line(line);
      const std::string completed = commands::complete_hint(sentence, typed);
      const auto again = commands::suggestions_in(completed);
      CHECK_MESSAGE(again.size() == 1, where << ": " << completed);
      if (again.size() != 1) continue;
      const std::string refused = refusal(again.front().words);
      CHECK_MESSAGE(refused.empty(), where << ": " << completed << ": " << refused);
      CHECK_MESSAGE(commands::complete_hint(completed, typed) == completed, where);
    }
  }
}

std::string completed(const std::string& hint, const Words& line) {
  return commands::complete_hint(hint, commands::typed_line(line));
}

}  // namespace

TEST_CASE("a suggested command selects what was typed") {
  const Words file = {"gpuadm", "doctor", "-f", "my lab.yaml"};
  const Words target = {"gpuadm", "init", "root@gpu1.example:2222", "-i", "key"};
  const Words local = {"gpuadm", "doctor"};
  CHECK(completed("gpuadm doctor --stage cluster", file) == "gpuadm doctor --stage cluster -f 'my lab.yaml'");
  CHECK(completed("gpuadm logs kubelet gpu1; or look", file) ==
        "gpuadm logs kubelet gpu1 -f 'my lab.yaml'; or look");
  CHECK(completed("gpuadm logs kubelet gpu1", target) == "gpuadm logs kubelet root@gpu1.example:2222 -i key");
  CHECK(completed("gpuadm verify", target) == "gpuadm verify root@gpu1.example:2222 -i key");
  CHECK(completed("gpuadm logs kubelet localhost", local) == "gpuadm logs kubelet");
  CHECK(completed("gpuadm init; or name a host", file) == "gpuadm apply -f 'my lab.yaml'; or name a host");
  CHECK(completed("gpuadm explain host.swap", file) == "gpuadm explain host.swap");
  CHECK(completed("gpuadm apply -f FILE mounts it", file) == "gpuadm apply -f 'my lab.yaml' mounts it");
  CHECK(completed("run the same command again; `gpuadm facts` shows the facts", file) ==
        "run the same command again; `gpuadm facts -f 'my lab.yaml'` shows the facts");
  CHECK(completed("gpuadm exec gpu1 -- df /", file) == "gpuadm exec gpu1 -f 'my lab.yaml' -- df /");
  CHECK(completed("gpuadm doctor --help shows the usage", file) == "gpuadm doctor --help shows the usage");
  CHECK(completed("gpuadm has not been tested on this release", file) ==
        "gpuadm has not been tested on this release");
  CHECK(completed("gpuadm storage list", {"gpuadm", "notebook", "create", "anna", "root@cp", "-n", "team"}) ==
        "gpuadm storage list root@cp");
  CHECK(completed("gpuadm notebook url anna",
                  {"gpuadm", "notebook", "create", "anna", "root@cp", "-n", "team"}) ==
        "gpuadm notebook url anna root@cp --namespace team");
  CHECK(completed("gpuadm logs kubelet", {"gpuadm", "workload", "list", "-n", "team"}) ==
        "gpuadm logs kubelet");
  CHECK(completed("gpuadm train stop deletes it", target) == "gpuadm train stop deletes it");
  CHECK(completed("gpuadm doctor --demo", target) == "gpuadm doctor --demo");
  CHECK(completed("gpuadm config lint lab.yaml", file) == "gpuadm config lint lab.yaml");
  CHECK(completed("gpuadm status", {"gpuadm", "join", "root@new", "--to", "root@cp"}) ==
        "gpuadm status root@cp");
}

TEST_CASE("each command in a sentence of gpuadm is one that gpuadm takes") {
  std::size_t count = 0;
  for (const auto& [file, text] : literals_of_sources()) {
    if (file.find("completion_") != std::string::npos) continue;
    check(file, filled(text), count);
  }
  CHECK(count > 300);
}

TEST_CASE("each command on a screen or in a case is one that gpuadm takes") {
  std::size_t count = 0;
  for (const char* folder :
       {"docs/screens", "tests/cases/explain-pod", "tests/cases/pod-verdict", "data/checks"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(GPUADM_SOURCE_DIR) / folder)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() || (extension != ".txt" && extension != ".yaml" && extension != ".tsv"))
        continue;
      if (entry.path().filename().string().starts_with("typo")) continue;  // a command with a mistake
      check(entry.path().string(), filled(case_text(entry.path())), count);
    }
  CHECK(count > 50);
}
