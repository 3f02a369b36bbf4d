#include "gpuadm/kube/last_error.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/log_line.hpp"

#include "kube/log/error_line.hpp"
#include "kube/log/launcher.hpp"

#include <algorithm>
#include <ranges>
#include <vector>

namespace kube {

namespace {

using pod::Exception;

constexpr std::size_t longest = 1000, longest_message = 8000;

/// The exception that explains the end of the program; nothing: there is none.
const Exception* choose(const std::vector<Exception>& all, const pod::FirstFailure& first) {
  std::vector<const Exception*> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_cause = i + 1 < all.size() && all[i + 1].has_cause && !pod::is_of_launcher(all[i + 1]);
    if (!is_cause) left.push_back(&all[i]);
  }
  const auto keep = [&](auto&& wanted) {
    if (std::ranges::any_of(left, wanted))
      std::erase_if(left, [&](const Exception* one) { return !wanted(one); });
  };
  keep([](const Exception* one) { return !pod::is_of_launcher(*one); });
  keep([](const Exception* one) { return !pod::is_of_lost_peer(*one); });
  keep([&](const Exception* one) { return pod::has_rank(one->process, first.rank); });
  if (left.empty()) return nullptr;
  const bool has_several =
      std::ranges::any_of(left, [&](const Exception* one) { return one->process != left.front()->process; });
  const bool has_launcher = !first.rank.empty() || std::ranges::any_of(all, [](const Exception& one) {
    return one.name == "ChildFailedError";
  });
  // Of several processes the first one; of one that logs exceptions and continues, the last one.
  return has_several || (has_launcher && !pod::has_rank(left.front()->process, first.rank)) ? left.front()
                                                                                            : left.back();
}

/// Whether a program of one process printed other lines after an exception, and then an error: it handled the
/// exception.
bool is_handled(std::span<const std::string> log, const std::vector<Exception>& all,
                const Exception& chosen) {
  const bool is_alone = std::ranges::all_of(
      all, [](const Exception& one) { return one.process.empty() && !pod::is_of_launcher(one); });
  if (!is_alone) return false;
  const std::vector<pod::Writer> writers = pod::writers_of(log);
  bool continued = false;
  for (std::size_t i = chosen.last + 1; i < log.size(); ++i) {
    if (writers[i] != pod::Writer::program) continue;
    if (pod::is_ordinary(log[i], writers[i]))
      continued = true;
    else if (continued && pod::is_about_error(log[i]))
      return true;
  }
  return false;
}

/// Whether a line is an exception that says what is wrong, as programs print it without a traceback.
bool is_complete(std::string_view line) {
  Exception one;
  one.name = pod::exception_name(line);
  one.text = line;
  return (one.name.ends_with("Error") || one.name.ends_with("Exception")) && !pod::is_consequence(one);
}

LastError of_exception(std::span<const std::string> log, const std::vector<Exception>& all,
                       const Exception& chosen) {
  LastError error;
  error.text = chosen.text;
  error.message = chosen.message;
  error.end = chosen.last + 1;
  error.past = std::max(chosen.past, error.end);
  const bool is_complete = !pod::is_consequence(chosen);
  // Other processes report between the lines of the one that failed.
  error.begin = is_complete ? chosen.last : pod::begin_of_failure(log, chosen.first, log.size());
  const std::vector<pod::Writer> writers = pod::writers_of(log);
  error.is_complete = is_complete;
  for (std::size_t i = error.past; i < log.size(); ++i)
    if (pod::is_ordinary(log[i], writers[i])) error.is_complete = false;
  error.origin = pod::own_frame(chosen.frames);
  if (chosen.has_cause && &chosen > &all.front()) error.previous = std::prev(&chosen)->text;
  return error;
}

/// The error before an exception that says only that there is one.
void take_error_above(std::span<const std::string> log, const std::vector<Exception>& all,
                      const Exception& chosen, LastError& error) {
  // The exceptions that it was raised from say no more.
  std::size_t first = chosen.first;
  for (const Exception* one = &chosen; one->has_cause && one > &all.front(); --one)
    first = std::min(first, std::prev(one)->first);
  LastError above = pod::error_line(log.first(first), {});
  if (above.end == 0 || !pod::is_about_error(log[above.end - 1])) return;
  above.previous = error.text;
  above.origin = error.origin;
  error = std::move(above);
}

/// Without what pydantic writes around the reason: "1 validation error for Config", "[type=value_error,
/// input_value=…, input_type=…]".
void remove_inputs(std::string& text) {
  constexpr std::string_view counts = " validation error for ", value = "Value error, ";
  if (const std::size_t at = text.find(counts);
      at != std::string::npos && text.substr(0, at).ends_with(" 1")) {
    const std::size_t end = text.find_first_of(" \n", at + counts.size());
    if (end != std::string::npos) text.erase(at - 1, end - at + 2);
    if (const std::size_t words = text.find(value); words != std::string::npos)
      text.erase(words, value.size());
  }
  for (std::size_t at = text.find(" [type="); at != std::string::npos; at = text.find(" [type=", at)) {
    const std::size_t type = text.find("input_type=", at);
    const std::size_t end = text.find(']', type == std::string::npos ? at : type);
    text.erase(at, end == std::string::npos ? end : end + 1 - at);
  }
}

void shorten(LastError& error) {
  remove_inputs(error.text);
  for (std::string* text : {&error.text, &error.origin, &error.previous, &error.host})
    *text = base::printable(*text, longest);
  error.message.resize(std::min(error.message.size(), longest_message));
}

}  // namespace

LastError last_error(std::span<const std::string> log) {
  const pod::Lines lines = pod::lines_of(log);
  const pod::FirstFailure first = pod::first_failure(lines.texts);
  const std::vector<Exception> all = pod::exceptions_in(lines.texts);
  const Exception* chosen = choose(all, first);
  // A process that a signal ended has no exception; those are then of the launcher and of other processes.
  const bool is_explained =
      chosen && !pod::is_of_launcher(*chosen) && !(first.signal > 0 && pod::is_of_lost_peer(*chosen));
  LastError error;
  if (is_explained && is_handled(lines.texts, all, *chosen)) {
    error = pod::error_line(lines.texts, all, chosen->last + 1);
    error.previous = chosen->text;
    error.is_handled = true;
    error.begin = std::max(error.begin, chosen->last + 1);
    if (pod::is_summary(error.text)) error = of_exception(lines.texts, all, *chosen);
  } else if (is_explained) {
    error = of_exception(lines.texts, all, *chosen);
    if (pod::points_above(chosen->message) || pod::is_of_program(*chosen))
      take_error_above(lines.texts, all, *chosen, error);
  } else {
    error = pod::error_line(lines.texts, all);
    // The name of torchrun's exception says nothing.
    const bool is_useful = pod::is_about_error(error.text) || (chosen && chosen->name == "ChildFailedError");
    if (chosen && first.signal == 0 && (error.text.empty() || !is_useful))
      error = of_exception(lines.texts, all, *chosen);
    if (is_complete(error.text)) error.begin = error.end - 1;
  }
  const auto number_of = [&](std::size_t line) {
    return line < lines.numbers.size() ? lines.numbers[line] : log.size();
  };
  error.begin = number_of(error.begin);
  for (std::size_t* count : {&error.end, &error.past})
    if (*count > 0) *count = number_of(*count - 1) + 1;
  error.rank = first.rank;
  error.host = first.host;
  error.signal = is_explained ? 0 : first.signal;
  shorten(error);
  return error;
}

}  // namespace kube
