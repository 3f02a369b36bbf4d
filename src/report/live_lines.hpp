#pragma once

#include "gpuadm/base/time.hpp"
#include "gpuadm/report/style.hpp"

#include <map>
#include <string>

namespace report {

/// The last lines of a terminal: the activity of each busy host, rewritten every second. Never wider than the
/// terminal, because they could not be erased. The cursor stays at their beginning.
class LiveLines {
 public:
  LiveLines(Write write, Style style) : write_(std::move(write)), style_(style) {}
  ~LiveLines() { erase(); }
  LiveLines(const LiveLines&) = delete;
  LiveLines& operator=(const LiveLines&) = delete;

  /// Starts the elapsed time.
  void run_begins(base::Time at) { began_ = at; }
  void phase_begins(std::size_t number, std::size_t of) { phase_ = number, phases_ = of; }
  void step_begins(const std::string& host, std::string title, base::Time at);
  /// The condition that a step waits for; the elapsed time continues.
  void step_waits(const std::string& host, std::string title, std::string detail, base::Time at);
  void step_ends(const std::string& host) { busy_.erase(host); }
  void clear() { busy_.clear(); }

  void draw(base::Time now);
  void erase();

 private:
  struct Busy {
    std::string title, detail;
    base::Time since;
  };
  [[nodiscard]] std::string text_of(const std::string& host, const Busy& busy, std::size_t width,
                                    base::Time now) const;

  Write write_;
  Style style_;
  base::Time began_{};
  std::size_t phase_ = 0, phases_ = 0;
  std::map<std::string, Busy> busy_;  ///< by host
  std::string drawn_;                 ///< what is on the terminal, or empty
};

}  // namespace report
