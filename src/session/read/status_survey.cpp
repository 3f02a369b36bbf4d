#include "gpuadm/base/shell.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/recording.hpp"

#include <algorithm>
#include <set>

namespace session {

namespace {

/// Each command in the scripts has a shorter limit.
constexpr std::chrono::seconds timeout{60};

/// The facts that status reads of a host: without an NVIDIA device a part, by which the host is not judged.
facts::Facts part_for_status(facts::Facts host) {
  const facts::Nvidia& nvidia = host.nvidia;
  if (nvidia.pci_gpus.empty() && nvidia.nvswitches.empty() && !nvidia.smi_status) host.os.id.clear();
  return host;
}

class Surveyor {
 public:
  Surveyor(const spec::Cluster& cluster, transport::Fleet& fleet, transport::Command probe,
           transport::Command view)
      : fleet_(fleet), probe_(std::move(probe)), view_(std::move(view)) {
    result_.survey.cluster = cluster;
  }

  Result<StatusSurvey> take(const facts::Census* known) {
    for (const std::string& host : fleet_.hosts())
      if (!take_known(host, known)) fleet_.submit(host, probe_);
    while (auto completion = fleet_.next()) {
      if (fleet_.interrupted())
        return base::fail(base::Fault::interrupted, "interrupted while reading the cluster");
      const std::string host = completion->host;
      if (host == asking_)
        viewed(std::move(*completion));
      else
        probed(std::move(*completion));
      ask();
    }
    const auto& census = result_.survey.survey.census;
    if (asked_.empty() && unreached_in(census).empty()) return std::unexpected(no_control_plane(census));
    return std::move(result_);
  }

 private:
  /// Whether the facts of a host need not be read again.
  bool take_known(const std::string& host, const facts::Census* known) {
    if (!known || facts::is_control_plane(*known, host)) return false;
    const auto place = known->find(host);
    if (place == known->end() || !place->second) return false;
    result_.survey.survey.census.insert_or_assign(host, part_for_status(*place->second));
    return true;
  }

  void probed(transport::Completion completion) {
    auto& census = result_.survey.survey.census;
    auto& [host, result, answered] = completion;
    census.insert_or_assign(host, result ? read_probe(host, *result, answered)
                                         : Result<facts::Facts>(std::unexpected(result.error())));
  }

  /// The view of a control-plane node whose API server responds is preferred; another is better than none.
  void viewed(transport::Completion completion) {
    asking_.clear();
    if (!completion.result) {
      result_.unread = completion.result.error();
      return;
    }
    const auto view = facts::parse_cluster(completion.result->out);
    has_nodes_ = view && view->nodes;
    if (!has_nodes_ && result_.survey.view) return;
    result_.survey.view = std::move(completion.result->out);
    result_.asked = completion.host;
  }

  void ask() {
    if (has_nodes_ || !asking_.empty()) return;
    for (const spec::Host& host : result_.survey.cluster.hosts) {
      if (!facts::is_control_plane(result_.survey.survey.census, host.name) || asked_.contains(host.name))
        continue;
      asking_ = host.name;
      asked_.insert(host.name);
      fleet_.submit(host.name, view_);
      return;
    }
  }

  transport::Fleet& fleet_;
  const transport::Command probe_, view_;
  StatusSurvey result_;
  std::string asking_;           ///< the control-plane node that is being queried
  std::set<std::string> asked_;  ///< those that were queried
  bool has_nodes_ = false;
};

/// A script with its purpose.
transport::Command for_status(transport::Command command) {
  command.script = base::assignments({{"purpose", "status"}}) + command.script.text();
  command.timeout = timeout;
  return command;
}

}  // namespace

Result<StatusSurvey> survey_cluster(const spec::Cluster& cluster, transport::Fleet& fleet,
                                    const assets::Store& assets, const facts::Census* known) {
  auto probe = for_status(TRY(probe_command(assets)));
  auto view = for_status(TRY(view_command(assets)));
  return Surveyor(cluster, fleet, std::move(probe), std::move(view)).take(known);
}

}  // namespace session
