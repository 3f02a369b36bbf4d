#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/watch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {

namespace {

using base::Clock;
using std::chrono::seconds;

/// Time between two readings of the same kind, in the order of Reading. A probe starts about 100 programs.
constexpr seconds pauses[] = {seconds(30), seconds(60), seconds(30), seconds(15), seconds(15)};
/// Each command in the scripts has a shorter limit.
constexpr seconds reading_limit{60}, after_timeout{300};

}  // namespace

Result<ClusterReadings> ClusterReadings::open(const spec::Cluster& cluster, const assets::Store& assets,
                                              const WorkloadKinds& workloads) {
  ClusterReadings readings;
  readings.survey_.cluster = cluster;
  auto& commands = readings.commands_;
  commands[probe] = TRY(probe_command(assets));
  commands[probe].script = base::assignments({{"purpose", "status"}}) + commands[probe].script.text();
  commands[health_state] = TRY(command_of(
      {.label = "read the health", .asset = "playbooks/read/health.sh", .variables = {{"what", "recent"}}},
      assets));
  commands[view] = TRY(view_command(assets));
  commands[view].script = base::assignments({{"purpose", "dashboard"}}) + commands[view].script.text();
  commands[objects] =
      TRY(objects_command({.kinds = workloads.kinds, .ns = {}, .selector = workloads.selector}, assets));
  commands[queue_objects] =
      TRY(objects_command({.kinds = workloads.queue_kinds, .ns = {}, .selector = {}}, assets));
  readings.has_queued_ = workloads.has_queued;
  for (transport::Command& command : commands) command.timeout = std::min(command.timeout, reading_limit);
  for (const spec::Host& host : cluster.hosts) readings.hosts_[host.name];
  return readings;
}

OtherReadings ClusterReadings::others() {
  return {
      .next = [this](const std::string& host, const facts::GpuSample& sample) { return next(host, sample); },
      .take = [this](const std::string& host,
                     Result<transport::Exit> result) { take(host, std::move(result)); },
      .outstanding =
          [this](const std::string& name, const facts::GpuSample& sample) {
            const Host& host = hosts_.at(name);
            for (const Reading reading : {probe, health_state, view, objects})
              if (!host.taken[reading] && applies(name, reading, sample)) return true;
            return false;
          }};
}

void ClusterReadings::lose(const std::string& name, const base::Error& error) {
  for (base::Instant& due : hosts_.at(name).due) due = {};
  note(name, error);
}

void ClusterReadings::note(const std::string& name, const base::Error& error) {
  const auto known = survey_.survey.census.find(name);
  if (known != survey_.survey.census.end() && !known->second && known->second.error().what == error.what)
    return;
  survey_.survey.census.insert_or_assign(name, std::unexpected(error));
  ++version_;
}

/// The first control-plane node that answers. One whose API server does not answer is the last choice.
std::string ClusterReadings::control_plane() const {
  std::string other;
  for (const spec::Host& host : survey_.cluster.hosts) {
    if (!facts::is_control_plane(survey_.survey.census, host.name)) continue;
    if (!hosts_.at(host.name).view_failed) return host.name;
    if (other.empty()) other = host.name;
  }
  return other;
}

/// The probe starts nvidia-smi, and must not while another one hangs.
bool ClusterReadings::applies(const std::string& host, Reading reading,
                              const facts::GpuSample& sample) const {
  switch (reading) {
    case probe:
      return !sample.hangs;
    case view:
    case objects:
      return control_plane() == host;
    case queue_objects:
      return has_queued_ && workloads_ && has_queued_(*workloads_) && control_plane() == host;
    default:
      return true;
  }
}

std::optional<transport::Command> ClusterReadings::next(const std::string& name,
                                                        const facts::GpuSample& sample) {
  Host& host = hosts_.at(name);
  const base::Instant now = Clock::now();
  for (const Reading reading : {probe, view, objects, queue_objects, health_state}) {
    if (host.due[reading] > now || !applies(name, reading, sample)) continue;
    host.due[reading] = now + pauses[reading];
    host.asked = reading;
    return commands_[reading];
  }
  return std::nullopt;
}

void ClusterReadings::take(const std::string& name, Result<transport::Exit> result) {
  Host& host = hosts_.at(name);
  const auto reading = std::exchange(host.asked, std::nullopt);
  if (!reading) return;
  host.taken[*reading] = true;
  if (!result) {
    if (result.error().fault == base::Fault::timeout) host.due[*reading] = Clock::now() + after_timeout;
    if (*reading == probe) note(name, result.error());
    if (*reading == queue_objects) queues_.reset();
    if (*reading == view || *reading == objects) {
      host.view_failed = true;
      problem_ = result.error().what;
    }
    return;
  }
  ++version_;
  if (*reading == probe)
    survey_.survey.census.insert_or_assign(name, read_probe(name, *result, base::now()));
  else if (*reading == health_state)
    health_[name] = std::move(result->out);
  else if (*reading == view)
    take_view(name, host, *result);
  else if (*reading == queue_objects)
    take_queues(name, *result);
  else
    take_objects(name, host, *result);
}

/// Another view is kept where this API server does not answer: it is marked as old.
void ClusterReadings::take_view(const std::string& name, Host& host, const transport::Exit& exit) {
  const auto read = facts::parse_cluster(exit.out);
  host.view_failed = !read || !read->nodes;
  problem_.clear();
  if (host.view_failed)
    problem_ = read ? name + ": the API server does not list the nodes" : read.error().what;
  if (host.view_failed && survey_.view && asked_ != name) return;
  if (!read) return;
  survey_.view = exit.out;
  asked_ = name;
  viewed_ = base::now();
}

void ClusterReadings::take_objects(const std::string& name, Host& host, const transport::Exit& exit) {
  auto objects_read = exit.status == 0 && exit.dropped == 0
                          ? objects_in(exit.out, name)
                          : Result<std::vector<base::Tree>>(base::fail(
                                base::Fault::remote, fmt::format("{}: cannot read the workloads: {}", name,
                                                                 base::tail(exit.err, 3))));
  host.view_failed = !objects_read;
  if (objects_read)
    workloads_ = std::move(*objects_read);
  else
    problem_ = objects_read.error().what;
}

void ClusterReadings::take_queues(const std::string& name, const transport::Exit& exit) {
  queues_.reset();
  if (exit.status != 0 || exit.dropped != 0) return;
  if (auto read = objects_in(exit.out, name)) queues_ = std::move(*read);
}

}  // namespace session
