#pragma once

#include "gpuadm/base/error.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace commands {

struct Settings;

/// A declared option.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required();
  Option range(int least, int most);
  Option one_of(const std::vector<std::string>& words);
  /// Refused without, or with, another option.
  Option needs(Option other);
  Option excludes(Option other);
  /// The heading in help, instead of "Options".
  Option heading(const char* text);
  /// Whether the command line has it, after parsing.
  [[nodiscard]] bool given() const;

 private:
  CLI::Option* option_;
};

/// The command line of one command, as it declares it. Values are written while the line is parsed, before
/// the command runs, and keep their defaults if an option is not given. `form` is the value in help: "FILE".
///
/// T: std::string, std::filesystem::path, integers, std::chrono::seconds, and optional ones; of lists:
/// vectors.
class Line {
 public:
  Line(CLI::App& parser, Settings& settings) : parser_(parser), settings_(settings) {}

  /// A word without a name; of a vector: any number.
  template <class T>
  Option argument(const char* name, T& value, const std::string& summary);
  /// `--to FILE`
  template <class T>
  Option value(const char* names, T& value, const char* form, const std::string& summary);
  /// `--watch` or `--watch=5`; `without`: the value of the former.
  template <class T>
  Option attached(const char* name, T& value, const char* without, const char* form, const char* summary);
  /// `--demo` or `--demo NAME`; without a name: empty.
  Option maybe(const char* name, std::optional<std::string>& value, const char* form, const char* summary);
  /// A list separated by commas, "A,B"; repetitions append.
  template <class T>
  Option list(const char* name, T& values, const char* form, const char* summary);
  /// One value, which can be given several times.
  template <class T>
  Option repeated(const char* names, T& values, const char* form, const char* summary);

  /// A list of words of a closed list; `add` is called with each.
  Option words(const char* name, const std::vector<std::string>& allowed,
               std::function<void(const std::string&)> add, const char* form, const char* summary);

  Option flag(const char* names, bool& value, const char* summary);
  /// A flag that selects one of several values.
  template <class E>
  Option flag(const char* names, E& value, E selected, const char* summary) {
    return flag_calls(names, [&value, selected] { value = selected; }, summary);
  }

  template <class E>
  using Choices = std::vector<std::pair<std::string, E>>;
  /// A word of a closed list, shown as "A|B".
  template <class T, class E>
  Option choice(const char* names, T& value, const Choices<E>& choices, const char* summary) {
    std::vector<std::string> words;
    for (const auto& [word, one] : choices) words.push_back(word);
    return word_calls(
        names,
        [&value, choices](const std::string& given) {
          for (const auto& [word, one] : choices)
            if (word == given) value = one;
        },
        words, summary);
  }

  /// A flag without effect, which help does not show.
  void ignored(const char* name);
  /// The words after `--`.
  void command(std::vector<std::string>& words);
  /// The directory of --assets.
  void assets(std::filesystem::path& folder);
  /// Called after parsing, before the command, which does not run if it fails.
  void complete(std::function<base::Result<>()> call);
  /// `--diff`
  Option diff();
  /// Another name of the command.
  void alias(const char* name);

 private:
  Option flag_calls(const char* names, std::function<void()> set, const char* summary);
  Option word_calls(const char* names, std::function<void(const std::string&)> set,
                    const std::vector<std::string>& words, const char* summary);

  CLI::App& parser_;
  Settings& settings_;
};

}  // namespace commands
