#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace workload {

/// What has been read of the log of a container that is read again and again. Each line begins with its time
/// (`kubectl logs --timestamps`). Logs can only be requested from a whole second on, so the lines of the last
/// second are read twice, and are recognized.
class PodLog {
 public:
  /// The time to request lines from; empty: all.
  [[nodiscard]] const std::string& since() const { return since_; }
  enum class End { complete, cut };  ///< cut: more lines exist, but the answer was limited
  enum class Writer { runs, ended };
  /// The new lines of an answer, without times. A last line without an end is left for the next answer,
  /// unless the container has ended.
  [[nodiscard]] std::vector<std::string> take(std::string_view answer, Writer writer,
                                              End end = End::complete);

 private:
  std::string since_;
  std::string first_;      ///< the first line since then, to recognize a log that was rotated
  std::string last_;       ///< time of the last line
  std::size_t lines_ = 0;  ///< lines since then that were returned
};

}  // namespace workload
