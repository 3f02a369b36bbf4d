#include "gpuadm/base/text.hpp"
#include "gpuadm/report/reporters.hpp"

#include "report/live_lines.hpp"
#include "report/paint.hpp"
#include "report/plan_table.hpp"

#include <fmt/format.h>

#include <set>

namespace report {
namespace {

constexpr std::size_t widest_host = 24;
constexpr double changed_interval = 10, same_interval = 60;  // seconds between lines of a wait in a pipe

struct Word {
  std::string_view text;
  Ink ink;
};

Word word(Did did) {
  switch (did) {
    case Did::satisfied:
      return {"ok", Ink::green};
    case Did::needed:
      return {"needed", Ink::cyan};
    case Did::applied:
      return {"changed", Ink::yellow};
    case Did::waiting:
      return {"waiting", Ink::dim};
    case Did::skipped:
      return {"skipped", Ink::dim};
    case Did::failed:
      return {"failed", Ink::red};
    case Did::cause:
      return {"cause", Ink::red};
    default:
      return {"note", Ink::dim};
  }
}

/// Whether an event's detail is its step's title, not a reason.
bool is_titled(Did did) {
  return did == Did::satisfied || did == Did::needed || did == Did::applied;
}

class Terminal final : public Reporter {
 public:
  Terminal(Write write, Style style) : write_(std::move(write)), style_(style), live_(write_, style) {}
  ~Terminal() override {
    end_plan();
    end_stage();
  }

  void on(const Event& event) override {
    if (!is_of_plan(event)) end_plan();
    switch (event.did) {
      case Did::started:
        started(event);
        break;
      case Did::finished:
        finished(event);
        break;
      default:
        happened(event);
    }
    live_.draw(event.at);
  }

  void tick(base::Time now) override { live_.draw(now); }

 private:
  /// Whether steps are counted by phase and shown as a table.
  [[nodiscard]] bool folds() const { return is_brief(style_) && style_.diffs == Diffs::folded; }

  /// Whether a preview's table includes the event: a phase, or a needed step in one.
  static bool is_of_plan(const Event& event) {
    return event.did == Did::needed || event.did == Did::satisfied ||
           (event.did == Did::started && event.step.empty() && !event.stage.empty());
  }

  void end_plan() {
    if (plan_.empty()) return;
    live_.erase();
    write_(plan_.text(style_));
    plan_ = {};
    satisfied_ = 0;
  }

  void started(const Event& event) {
    if (!event.step.empty()) {
      titles_[event.step] = event.detail;
      live_.step_begins(event.host, title(event), event.at);
    } else if (!event.stage.empty()) {
      end_stage();
      stage_ = event.stage;
      stage_title_ = event.detail;
      live_.phase_begins(event.phase, event.phases);
    } else {
      live_.run_begins(event.at);
      if (style_.verbosity != Verbosity::quiet && !event.detail.empty())
        line(paint(style_, Ink::bold, first_line(event.detail)));
    }
  }

  void finished(const Event& event) {
    end_stage();
    live_.clear();
    if (!event.detail.empty() && style_.verbosity != Verbosity::quiet) line(first_line(event.detail));
  }

  /// An event of a step or a host, or a note.
  void happened(const Event& event) {
    if (event.did == Did::waiting) {
      live_.step_waits(event.host, title(event), first_line(event.detail), event.at);
      if (style_.view == View::live || !news(event)) return;
    } else {
      live_.step_ends(event.host);
    }
    if (event.did == Did::needed && folds()) return plan_.add(event, stage_title_);
    if (event.did == Did::satisfied) {
      ++satisfied_;
      if (style_.verbosity < Verbosity::verbose) return;
    }
    if (event.did == Did::cause) return;  // shown in the report at the end
    if (style_.verbosity == Verbosity::quiet && event.did != Did::failed) return;
    if (is_brief(style_) && (event.did == Did::applied || is_detail(event))) return;
    if (event.did == Did::note && event.host.empty()) return line(first_line(event.detail));
    head();
    line(fit(describe(event), event.did == Did::failed ? 0 : style_.width), event.did);
    if (!event.hint.empty() && event.did != Did::failed)
      line(fmt::format("{:{}}do: {}", "", margin(), indent_typed(event.hint, margin() + 4, style_)));
    if (event.did == Did::needed || style_.verbosity >= Verbosity::verbose) diff(event.diff);
    if (style_.verbosity >= Verbosity::commands) commands(event);
  }

  /// A note about a phase, such as how much was sent.
  static bool is_detail(const Event& event) {
    return event.did == Did::note && event.host.empty() && !event.stage.empty();
  }

  /// A step's program, once, and the output of each host.
  void commands(const Event& event) {
    if (!event.program.empty() && shown_.insert(event.step).second) block(event.program, "$ ");
    block(event.output, "| ");
  }

  void block(std::string_view text, std::string_view mark) {
    for (const std::string_view row : base::lines(text))
      line(paint(style_, Ink::dim, fmt::format("{:{}}{}{}", "", margin(), mark, base::printable(row))));
  }

  /// Whether a pipe gets a line of a wait: if its text has changed, at most every 10 s; otherwise every 60 s.
  bool news(const Event& event) {
    LastWait& last = last_waits_[event.host + "\n" + event.step];
    const double since = event.seconds - last.seconds;
    const bool other = last.detail != event.detail;
    if (event.seconds > 0 && since < (other ? changed_interval : same_interval)) return false;
    if (event.seconds == 0 && !other) return false;
    last = {event.detail, event.seconds};
    return true;
  }

  /// "the node to be Ready (45.0 s): NetworkNotReady"
  std::string waiting_for(const Event& event) const {
    std::string text = title(event);
    if (event.seconds >= 0.1) text += fmt::format(" ({})", base::human_seconds(event.seconds));
    const std::string detail = first_line(event.detail);
    return detail.empty() ? text : text + ": " + detail;
  }

  std::string title(const Event& event) const {
    const auto known = titles_.find(event.step);
    return base::printable(known == titles_.end() || known->second.empty() ? event.step : known->second);
  }

  std::size_t margin() const { return 2 + host_width_ + 2 + 9; }

  std::string describe(const Event& event) {
    const std::string host = base::printable(event.host);
    host_width_ = std::min(widest_host, std::max(host_width_, host.size()));
    std::string text = event.step.empty() ? std::string() : title(event);
    if (is_titled(event.did) && !event.detail.empty())
      text = first_line(event.detail);
    else if (event.did == Did::failed)
      text = text.empty() ? first_line(event.detail) : text;  // the reason is in the report at the end
    else if (event.did == Did::waiting)
      return fmt::format("  {:<{}}  {:<8} {}", host, host_width_, word(event.did).text, waiting_for(event));
    else if (!event.detail.empty())
      text += (text.empty() ? "" : ": ") + first_line(event.detail);
    if (event.seconds >= 0.1) text += fmt::format(" ({})", base::human_seconds(event.seconds));
    return fmt::format("  {:<{}}  {:<8} {}", host, host_width_, word(event.did).text, text);
  }

  void diff(const std::string& text) {
    for (const std::string_view row : base::lines(text)) {
      const std::string shown = fit(fmt::format("{:{}}{}", "", margin(), base::printable(row)), style_.width);
      const bool header = row.starts_with("+++") || row.starts_with("---");
      line(header                 ? paint(style_, Ink::dim, shown)
           : row.starts_with('+') ? paint(style_, Ink::green, shown)
           : row.starts_with('-') ? paint(style_, Ink::red, shown)
                                  : shown);
    }
  }

  /// The phase's name, once, before its first line.
  void head() {
    if (headed_ || stage_.empty() || is_brief(style_)) return;
    headed_ = true;
    line(paint(style_, Ink::bold, heading()));
  }

  std::string heading() const {
    const std::string name = base::printable(stage_);
    return stage_title_.empty() ? name : fmt::format("{}: {}", name, first_line(stage_title_));
  }

  /// Satisfied steps are summarized in the last line, or in the heading if there was nothing else.
  void end_stage() {
    if (satisfied_ > 0 && style_.verbosity == Verbosity::normal && !is_brief(style_)) {
      const std::string steps = count(satisfied_, "step");
      if (headed_)
        line(fmt::format("  {:<{}}  {:<8} {} more", "", host_width_, "ok", steps), Did::satisfied);
      else
        line(fmt::format("{}  {}", paint(style_, Ink::bold, heading()),
                         paint(style_, Ink::green, fmt::format("ok ({})", steps))));
    }
    satisfied_ = 0;
    headed_ = false;
    stage_.clear();
    last_waits_.clear();
  }

  void line(std::string text, Did did) {
    const Word of = word(did);
    const std::size_t at = text.find(of.text, 2 + host_width_);
    if (at != std::string::npos) text.replace(at, of.text.size(), paint(style_, of.ink, of.text));
    line(text);
  }

  void line(std::string_view text) {
    live_.erase();
    write_(fmt::format("{}\n", text));
  }

  Write write_;
  Style style_;
  LiveLines live_;
  PlanTable plan_;
  std::string stage_, stage_title_;
  bool headed_ = false;  ///< the phase's name has been written
  std::size_t satisfied_ = 0, host_width_ = 4;
  std::map<std::string, std::string> titles_;  ///< step -> title
  struct LastWait {
    std::string detail;
    double seconds = 0;  ///< duration of the wait
  };
  std::map<std::string, LastWait> last_waits_;  ///< host and step -> the last line of its wait
  std::set<std::string> shown_;                 ///< steps whose program was printed
};

}  // namespace

std::unique_ptr<Reporter> terminal(Write write, Style style) {
  return std::make_unique<Terminal>(std::move(write), style);
}

}  // namespace report
