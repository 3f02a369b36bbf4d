#pragma once

#include <cstddef>
#include <span>
#include <string>

/// What the log of a program says of its end. Known words rank lines; a line without them is not lost.
namespace kube {

struct LastError {
  std::string text;     ///< "ValueError: 3 is odd", or a line; empty: the log is empty
  std::size_t end = 0;  ///< the number of lines up to its last one
  /// The text with the module of an exception and all lines of its message.
  std::string message;
  /// The lines [begin, past) that may say why. Of an error that is only the consequence of another one they
  /// begin before it, after the last line of a program that worked.
  std::size_t begin = 0, past = 0;
  /// "train.py, line 41, in step: loss.backward()": in the user's own file; may be empty
  std::string origin;
  /// The cause of the exception, or the first of the errors just before the line; may be empty
  std::string previous;
  bool is_handled = false;   ///< `previous` was handled: the program continued
  bool is_complete = false;  ///< an exception that says what is wrong, with which the log ends
  std::string rank;          ///< of the process that failed first, as a launcher numbers it; empty: unknown
  std::string host;          ///< of that process, as a launcher names it; empty: unknown
  int signal = 0;            ///< that ended the first process, according to its launcher; 0: none
};

/// The error that ended a program. Of a Python program it is the last exception that was not handled; a
/// launcher's own exception (torchrun, vLLM) leads to the one of the process that failed first. Of any other
/// program it is the line with the highest level, then the last line about an error, then the last line. At
/// most 1,000 bytes a text.
[[nodiscard]] LastError last_error(std::span<const std::string> log);

}  // namespace kube
