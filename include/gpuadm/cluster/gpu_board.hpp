#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/cluster/gpu_top.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace cluster {

/// GPUs of all hosts as a page shows them: the last values of each, also of hosts that do not answer any
/// more, and the values of the last samples. In bounded memory.
class GpuBoard {
 public:
  /// Points of a plot, one for each sample; GPUs with plots.
  static constexpr std::size_t most_points = 450, most_plots = 256;

  /// A sample: a point in each plot.
  void add(const TopFrame& frame);
  /// Between two samples: only the state of the hosts.
  void refresh(const TopFrame& frame);
  [[nodiscard]] std::size_t samples() const { return samples_; }

  /// `gpus`: a list, by host and index; `old` says why values are not current, and is otherwise empty.
  [[nodiscard]] base::Tree gpus() const;
  /// Time, distance and number of the points, and the GPUs without a plot.
  [[nodiscard]] base::Tree plots() const;
  /// States of the hosts without current readings, by host: state, since, why.
  [[nodiscard]] base::Tree silent() const;

 private:
  static constexpr std::size_t values = 4;  ///< utilization, memory, power, temperature
  using Point = std::array<float, values>;
  struct Gpu {
    TopGpu last;
    std::string seen;           ///< time of its last values
    bool current = false;       ///< the last frame has it
    std::vector<Point> points;  ///< a ring; empty: it has no plot
  };
  struct Host {
    TopHost::State state = TopHost::State::silent;
    std::string since, why;
  };

  [[nodiscard]] base::Tree gpu_tree(const Gpu& gpu) const;
  [[nodiscard]] base::Tree plot_tree(const Gpu& gpu) const;
  [[nodiscard]] std::string old_because(const Gpu& gpu) const;

  std::map<std::pair<std::string, std::string>, Gpu> gpus_;  ///< by host and UUID
  std::map<std::string, Host> silent_;
  std::vector<std::string> times_;  ///< a ring of the times of the points
  std::size_t samples_ = 0, plots_ = 0;
};

}  // namespace cluster
