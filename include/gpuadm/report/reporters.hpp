#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/report/event.hpp"
#include "gpuadm/report/style.hpp"

#include <filesystem>
#include <memory>
#include <vector>

namespace report {

/// For people. In a pipe, and with `verbose` anywhere: a heading a phase, a line a step and host that
/// changed, failed or waits; satisfied steps are counted (`verbose` names them, `quiet` leaves failures
/// only). On a terminal: a preview as a table of phases, and in a run one changing line a host that is busy.
/// Why a step failed is for the report at the end: to_text(Report).
[[nodiscard]] std::unique_ptr<Reporter> terminal(Write write, Style style);

/// For what is written to a terminal on which terminal() may draw, through another Write: begins at the start
/// of a line, and erases the changing lines.
[[nodiscard]] Write above_live_lines(Write write, const Style& style);

/// For machines: one JSON object a line, each flushed before on() returns.
[[nodiscard]] std::unique_ptr<Reporter> json_lines(Write write);
/// The same into a file (0600, its folder must exist). Fault::usage where it cannot be made.
[[nodiscard]] base::Result<std::unique_ptr<Reporter>> json_lines(const std::filesystem::path& file);

/// Tells each of several, in order, without the secrets in what hosts say and files hold. They must outlive
/// it.
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
