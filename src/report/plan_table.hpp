#pragma once

#include "gpuadm/report/event.hpp"
#include "gpuadm/report/style.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace report {

/// A preview as a table: phases with the number of needed steps, and below them the changed files.
class PlanTable {
 public:
  /// A needed step. `title`: of its phase.
  void add(const Event& event, const std::string& title);
  /// Empty if no step is needed. At most about 24 rows; files that do not fit are counted.
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
  [[nodiscard]] std::string files(std::size_t rows, const Style& style) const;

  std::vector<Phase> phases_;
  std::vector<File> files_;
  std::set<std::string> hosts_;
};

}  // namespace report
