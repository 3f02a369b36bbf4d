#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/cluster/usage_record.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// `gpuadm usage`: GPU hours and energy from the records of the nodes. Pure.
namespace cluster {

inline constexpr double seconds_an_hour = 3600, seconds_a_day = 86400;

/// What a line of the report is.
enum class UsageBy { user, workload, gpu, node };
[[nodiscard]] std::string_view name_of(UsageBy by);

/// GPU seconds by state; those that are held also by utilization. Energy of all states.
struct UsageSum {
  double held = 0, free = 0, unknown = 0;
  double used = 0, used_of = 0;      ///< weighted by utilization; used_of: those whose utilization is known
  double energy = 0, energy_of = 0;  ///< J; energy_of: GPU seconds whose power is known
  [[nodiscard]] double all() const { return held + free + unknown; }
};
struct UsageGroup {
  std::string name;  ///< "anna", "namespace ci", "(free)", "gpu1"
  UsageSum sum;
  std::vector<UsageSum> over_time;  ///< for each step of the report, from the beginning of the scope
};
struct UsageHost {
  std::string host;
  std::string problem;  ///< why its hours are not in the report, or not all of them; empty: they are
  bool reached = false;
};

/// What a report is about.
struct UsageScope {
  UsageBy by = UsageBy::user;
  double from = 0, to = 0;                   ///< seconds since 1970; from: the beginning of an hour
  std::map<std::string, std::string> users;  ///< owner of a namespace; others are named by the namespace
};

/// Adds up the records of nodes.
class UsageReport {
 public:
  explicit UsageReport(UsageScope scope) : scope_(std::move(scope)) {}
  /// A host that has answered. Rows before the scope are ignored.
  void add(const std::string& host, const UsageRecord& record);
  /// A host whose hours are unknown.
  void add_unreached(const std::string& host, const std::string& problem);

  [[nodiscard]] const UsageScope& scope() const { return scope_; }
  /// In descending order of what is held; those in parentheses last. By node and by GPU: by name.
  [[nodiscard]] std::vector<UsageGroup> groups() const;
  [[nodiscard]] const UsageSum& total() const { return total_; }
  /// Since its first row in the scope, GPU seconds in which a GPU was not recorded.
  [[nodiscard]] double gaps() const { return gaps_; }
  [[nodiscard]] std::size_t gpus() const { return gpus_; }
  /// Seconds of a step of UsageGroup::over_time: an hour, or a day where the scope is longer than three days.
  [[nodiscard]] double step() const;
  [[nodiscard]] const std::vector<UsageHost>& hosts() const { return hosts_; }

 private:
  UsageScope scope_;
  std::map<std::string, UsageSum> sums_;
  std::map<std::string, std::map<std::size_t, UsageSum>> steps_;  ///< by group and number of the step
  UsageSum total_;
  double gaps_ = 0;
  std::size_t gpus_ = 0;
  std::vector<UsageHost> hosts_;
};

/// A table, the total, and a line for each host with a problem. `width`: of the terminal; 0: any.
[[nodiscard]] std::string to_text(const UsageReport& report, std::size_t width);
/// A page with the table, and a chart of the GPUs held and used over time for each group.
[[nodiscard]] std::string to_html(const UsageReport& report);
/// GPU hours and kWh. Unknown values are null.
[[nodiscard]] base::Tree to_tree(const UsageReport& report);
/// A header, and a line for each group and for the total (RFC 4180). Unknown values are empty. A name that
/// spreadsheets would take as a formula begins with an apostrophe.
[[nodiscard]] std::string to_csv(const UsageReport& report);

}  // namespace cluster
