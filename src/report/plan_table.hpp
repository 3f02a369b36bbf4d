#pragma once

#include "gpuadm/report/event.hpp"
#include "gpuadm/report/style.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace report {

/// What a preview says, as a table: phases with the number of steps that are needed, and below them the files
/// that change.
class PlanTable {
 public:
  /// A step that is needed. `title`: of its phase.
  void add(const Event& event, const std::string& title);
  /// Empty where no step is needed. About 24 rows at most; files that do not fit are counted.
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
