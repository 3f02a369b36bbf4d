#pragma once

#include <string>
#include <string_view>

/// One line of a program's log: what it says of itself.
namespace kube {

/// `none`: the line does not name one.
enum class Level { none, info, warning, error, fatal };

struct LogLine {
  Level level = Level::none;
  std::string text;  ///< the message: of a record in JSON or logfmt without its other fields
};

/// Recognizes records in JSON and logfmt, glog and klog ("E1126 14:54:58"), and words such as ERROR,
/// "[error]", 错误 and "Fehler:". NCCL reports its errors as WARN.
[[nodiscard]] LogLine read_log_line(std::string_view line);

}  // namespace kube
