#pragma once

#include "gpuadm/report/event.hpp"
#include "gpuadm/report/style.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace report {

/// A preview as a table: phases with the number of needed steps, and below them the number of changed files.
class PlanTable {
 public:
  /// A needed step. `title`: of its phase.
  void add(const Event& event, const std::string& title);
  /// Empty if no step is needed. Many phases are grouped, and existing files that change are named first, so
  /// that the question stays on a screen of 24 rows. Names are wrapped, never truncated.
  [[nodiscard]] std::string text(const Style& style) const;
  [[nodiscard]] bool empty() const { return phases_.empty(); }

 private:
  struct Phase {
    std::string name, title;
    std::size_t steps = 0;
  };
  struct File {
    std::string path, change;  ///< "+3 -1"
    std::set<std::string> hosts;
  };
  struct Row {
    std::string name;
    std::size_t steps = 0;
    std::string what;
  };
  [[nodiscard]] std::vector<Row> grouped() const;
  [[nodiscard]] std::string files(const Style& style) const;

  std::vector<Phase> phases_;
  std::vector<File> files_;
  std::set<std::string> hosts_;
};

}  // namespace report
