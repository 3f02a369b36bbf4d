#pragma once

#include "gpuadm/base/version.hpp"
#include "gpuadm/checks/checks.hpp"

#include "checks/data.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A check is one function, one row of a table, an article (data/checks), and a folder of cases
/// (tests/cases/checks/<id>).
namespace checks {

using report::Severity;

constexpr unsigned preflight = static_cast<unsigned>(Stage::preflight);
constexpr unsigned node = static_cast<unsigned>(Stage::node);
constexpr unsigned in_cluster = static_cast<unsigned>(Stage::cluster);
constexpr unsigned security = static_cast<unsigned>(Stage::security);

/// Input of a check of one host.
struct Subject {
  const spec::Cluster& cluster;
  const spec::Decisions& decisions;
  const spec::Host& host;
  const facts::Facts& facts;
  const Data& data;
  Stage stage;
  std::optional<base::Version> kubernetes;  ///< the decided, requested, installed, or default version
};

/// Input of a check across hosts; the reachable hosts by name.
struct Group {
  const spec::Cluster& cluster;
  std::map<std::string, const facts::Facts*> hosts;
};

/// Input of a check of the cluster: its reported state, and the reachable hosts.
struct Whole {
  const spec::Cluster& cluster;
  const facts::ClusterFacts& facts;
  std::map<std::string, const facts::Facts*> hosts;  ///< by node name; without a node, by their own
  const Data& data;
};

/// Output of a check. Without output it has passed.
class Verdicts {
 public:
  /// `texts`: shared by the findings of one examination.
  Verdicts(std::string_view id, base::SharedText host, std::vector<report::Finding>& into,
           base::SharedTexts& texts)
      : id_(id), host_(std::move(host)), into_(into), texts_(texts) {}

  /// `remedy`: what to type, or the id of the playbook step that fixes it.
  void fail(Severity severity, const std::string& message, const std::string& evidence,
            const std::string& remedy);
  /// The last failure follows from that of this check, if that fails on the same host.
  void follows(std::string_view check);
  void pass(const std::string& message);
  /// Does not apply, according to facts of the host; with the reason.
  void skip(const std::string& why);
  /// Does not apply, according to the cluster file or the PCI bus, regardless of unread facts.
  void not_applicable(const std::string& why);
  /// Required facts could not be read.
  void unknown(const std::string& why);
  [[nodiscard]] bool silent() const { return count_ == 0; }
  /// Changes passed and skipped to unknown, because the underlying facts could not be read. Failures and "not
  /// applicable" are kept.
  void withhold(const std::string& why);

 private:
  void add(report::Verdict verdict, Severity severity, const std::string& message,
           const std::string& evidence, const std::string& remedy);
  std::string_view id_;
  base::SharedText host_;
  std::vector<report::Finding>& into_;
  base::SharedTexts& texts_;
  int count_ = 0;
  bool decided_ = false;  ///< not_applicable() was called
};

struct Check {
  std::string_view id;
  std::string_view title;  ///< what is true if it passes
  std::string_view why;
  /// Sections of the probe, or of the cluster's state, that it depends on, separated by blanks; with a star
  /// at the end: a prefix. If one of them could not be read, the result is unknown.
  std::string_view reads;
  unsigned stages = 0;
  void (*examine)(const Subject&, Verdicts&) = nullptr;  ///< of one host
  void (*across)(const Group&, Verdicts&) = nullptr;     ///< of all hosts together
  void (*whole)(const Whole&, Verdicts&) = nullptr;      ///< of the cluster
};

/// The rows of every area: src/checks/table.cpp lists the functions X_checks() that return them.
[[nodiscard]] const std::vector<Check>& all_checks();

}  // namespace checks
