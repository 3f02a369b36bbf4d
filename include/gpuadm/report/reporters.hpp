#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/report/event.hpp"
#include "gpuadm/report/style.hpp"

#include <filesystem>
#include <memory>
#include <vector>

namespace report {

/// For people. In a pipe, and with `verbose`: a heading per phase, a line per step and host that changed,
/// failed or waits; satisfied steps are counted (`verbose` lists them, `quiet` shows only failures). On a
/// terminal: a preview as a table of phases, and in a run one changing line per busy host. The causes of
/// failures are in the report at the end: to_text(Report).
[[nodiscard]] std::unique_ptr<Reporter> terminal(Write write, Style style);

/// For output through another Write to a terminal on which terminal() may draw: starts at the beginning of a
/// line, and erases the changing lines.
[[nodiscard]] Write above_live_lines(Write write, const Style& style);

/// For programs: one JSON object per line, each flushed before on() returns.
[[nodiscard]] std::unique_ptr<Reporter> json_lines(Write write);
/// The same to a file (0600, its directory must exist). Fault::usage if it cannot be created.
[[nodiscard]] base::Result<std::unique_ptr<Reporter>> json_lines(const std::filesystem::path& file);

/// Forwards events to several reporters in order, with secrets redacted in the output of hosts and contents
/// of files. They must outlive it.
[[nodiscard]] std::unique_ptr<Reporter> fan_out(std::vector<Reporter*> to);

/// Keeps every event, for fold().
class Collector final : public Reporter {
 public:
  void on(const Event& event) override { events_.push_back(event); }
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }

 private:
  std::vector<Event> events_;
};

}  // namespace report
