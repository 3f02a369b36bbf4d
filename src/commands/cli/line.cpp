#include "commands/line.hpp"

#include "gpuadm/base/text.hpp"

#include "commands/cli/settings.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>

namespace commands {

namespace {

using Words = std::vector<std::string>;

void set_form(CLI::Option* option, const std::string& form) {
  if (!form.empty()) option->option_text(form);
}

}  // namespace

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::heading(const char* text) {
  option_->group(text);
  return *this;
}

bool Option::given() const {
  return option_->count() > 0;
}

void Line::complete(std::function<base::Result<>()> call) {
  settings_.completes.push_back(std::move(call));
}

template <class T>
Option Line::value(const char* names, T& value, const char* form, const std::string& summary) {
  CLI::Option* option = nullptr;
  if constexpr (std::is_same_v<T, std::chrono::seconds>)
    option = parser_.add_option_function<int>(
        names, [&value](int seconds) { value = std::chrono::seconds(seconds); }, summary);
  else
    option = parser_.add_option(names, value, summary);
  set_form(option, form);
  return Option(*option);
}

template <class T>
Option Line::argument(const char* name, T& value, const std::string& summary) {
  return this->value(name, value, "", summary);
}

template <class T>
Option Line::attached(const char* name, T& value, const char* without, const char* form,
                      const char* summary) {
  return Option(
      *parser_.add_flag(std::string(name) + "{" + without + "}", value, summary)->option_text(form));
}

Option Line::maybe(const char* name, std::optional<std::string>& value, const char* form,
                   const char* summary) {
  return Option(*parser_
                     .add_option_function<std::string>(
                         name, [&value](const std::string& given) { value = given; }, summary)
                     ->expected(0, 1)
                     ->option_text(form));
}

template <class T>
Option Line::list(const char* name, T& values, const char* form, const char* summary) {
  return Option(
      *parser_.add_option(name, values, summary)->delimiter(',')->allow_extra_args(false)->option_text(form));
}

template <class T>
Option Line::repeated(const char* names, T& values, const char* form, const char* summary) {
  return Option(*parser_.add_option(names, values, summary)->allow_extra_args(false)->option_text(form));
}

Option Line::words(const char* name, const Words& allowed, std::function<void(const std::string&)> add,
                   const char* form, const char* summary) {
  const auto add_all = [add = std::move(add)](const Words& given) {
    for (const std::string& word : given) add(word);
  };
  return Option(*parser_.add_option_function<Words>(name, add_all, summary)
                     ->check(CLI::IsMember(allowed))
                     ->delimiter(',')
                     ->allow_extra_args(false)
                     ->option_text(form));
}

Option Line::flag(const char* names, bool& value, const char* summary) {
  return Option(*parser_.add_flag(names, value, summary));
}

Option Line::flag_calls(const char* names, std::function<void()> set, const char* summary) {
  return Option(*parser_.add_flag_callback(names, std::move(set), summary));
}

Option Line::word_calls(const char* names, std::function<void(const std::string&)> set,
                        const std::vector<std::string>& words, const char* summary) {
  return Option(*parser_.add_option_function<std::string>(names, set, summary)
                     ->option_text(base::join(words, "|"))
                     ->check(CLI::IsMember(words)));
}

void Line::ignored(const char* name) {
  parser_.add_flag(name)->group("");
}

void Line::command(std::vector<std::string>& words) {
  settings_.takes_command.insert(&parser_);
  settings_.completes.emplace_back([&words, &settings = settings_]() -> base::Result<> {
    words = settings.command;
    return {};
  });
}

void Line::assets(std::filesystem::path& folder) {
  settings_.completes.emplace_back([&folder, &settings = settings_]() -> base::Result<> {
    folder = settings.assets;
    return {};
  });
}

Option Line::diff() {
  return flag("--diff", settings_.diff, "Show the changes of files in full before asking");
}

void Line::alias(const char* name) {
  parser_.alias(name);
}

using Path = std::filesystem::path;

template Option Line::argument(const char*, std::string&, const std::string&);
template Option Line::argument(const char*, Path&, const std::string&);
template Option Line::argument(const char*, Words&, const std::string&);
template Option Line::value(const char*, std::string&, const char*, const std::string&);
template Option Line::value(const char*, Path&, const char*, const std::string&);
template Option Line::value(const char*, int&, const char*, const std::string&);
template Option Line::value(const char*, std::uint16_t&, const char*, const std::string&);
template Option Line::value(const char*, std::optional<int>&, const char*, const std::string&);
template Option Line::value(const char*, std::chrono::seconds&, const char*, const std::string&);
template Option Line::attached(const char*, int&, const char*, const char*, const char*);
template Option Line::attached(const char*, std::string&, const char*, const char*, const char*);
template Option Line::list(const char*, Words&, const char*, const char*);
template Option Line::list(const char*, std::vector<Path>&, const char*, const char*);
template Option Line::list(const char*, std::optional<Words>&, const char*, const char*);
template Option Line::repeated(const char*, Words&, const char*, const char*);
template Option Line::repeated(const char*, std::vector<Path>&, const char*, const char*);

}  // namespace commands
