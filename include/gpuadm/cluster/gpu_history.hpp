#pragma once

#include "gpuadm/cluster/gpu_top.hpp"
#include "gpuadm/report/gpu_plot.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cluster {

/// Frames over time, in bounded memory: at most `most_points` points per GPU; if they do not suffice, each
/// two become one.
class GpuHistory {
 public:
  static constexpr std::size_t most_points = 400;

  /// Frames in the order of their times. A frame without a valid time is ignored.
  void add(const TopFrame& frame);
  [[nodiscard]] bool empty() const { return frames_ == 0; }
  [[nodiscard]] report::PlotPage page() const;

 private:
  static constexpr std::size_t utilization = 0, memory = 1, power = 2, temperature = 3, values = 4;
  struct Point {
    std::array<float, values> sum{}, most{};
    std::array<std::uint32_t, values> known{};
    std::uint32_t throttled = 0, clocks_known = 0;
    void merge(const Point& other);
  };
  struct Use {
    double from = 0, to = 0, most_mib = -1;
  };
  struct Gpu {
    std::string host, model, uuid;
    int index = 0;
    std::string quarantine;  ///< "since 2026-…: Xid 79"; empty: it is not in quarantine
    double total_mib = 0, power_limit = 0;
    std::vector<Point> points;
    std::set<std::string> reasons;
    std::map<std::string, Use> uses;
    std::size_t more_uses = 0;
  };
  struct Silence {
    double from = 0, to = 0;
    std::string why;
  };

  [[nodiscard]] double points_to(double seconds) const { return (seconds - first_) / step_; }
  [[nodiscard]] std::size_t place(double seconds);
  void halve();
  void add(Gpu& gpu, const TopGpu& top, double seconds);
  [[nodiscard]] report::GpuPlot plot_of(const Gpu& gpu, std::size_t points) const;

  std::map<std::pair<std::string, std::string>, Gpu> gpus_;  ///< by host and UUID
  std::map<std::string, Silence> silent_;
  double first_ = 0, last_ = 0;  ///< seconds since 1970
  double step_ = 0;              ///< seconds of a point
  std::size_t frames_ = 0;
};

}  // namespace cluster
