#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Exceptions of Python in a log, in which several processes may write.
namespace kube::pod {

struct Frame {
  std::string file, line, function, source;
};

struct Exception {
  std::string process;        ///< what begins the lines of its process: "[rank1]:", "(Worker_TP0 pid=93)"
  std::string name, text;     ///< "ValueError", "ValueError: 3 is odd"
  std::string module;         ///< "cupy.cuda.memory"; empty: none
  std::string message;        ///< `text` and the lines after it that belong to it
  std::vector<Frame> frames;  ///< the outermost first
  std::size_t first = 0, last = 0;  ///< its lines in the log
  std::size_t past = 0;             ///< after the last line of its message
  bool has_cause = false;           ///< the exception before it was its cause, or was being handled
};

/// The tracebacks that end with an exception, in the order of the log.
[[nodiscard]] std::vector<Exception> exceptions_in(std::span<const std::string> log);

/// "(Worker_TP0 pid=93)" of "(Worker_TP0 pid=93) ERROR ...", "[rank1]:" of "[rank1]: ..."; may be empty.
[[nodiscard]] std::string_view process_of(std::string_view line);

/// "Name: text" or "Name", as the last line of a traceback has it: the name; empty: it is another line.
[[nodiscard]] std::string_view exception_name(std::string_view line);

/// The frame of a line `File "train.py", line 41, in step`; its file is empty if the line is another.
[[nodiscard]] Frame frame_in(std::string_view line);

/// "train.py, line 41, in step: loss.backward()": the innermost frame that is not of Python or of a package;
/// empty: there is none.
[[nodiscard]] std::string own_frame(std::span<const Frame> frames);

}  // namespace kube::pod
