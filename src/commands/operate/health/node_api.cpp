#include "commands/operate/health/node_api.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr int conflict_tries = 3;
constexpr std::chrono::seconds call_timeout{20};

std::string path_of(const std::string& node) {
  return "/api/v1/nodes/" + node;
}

bool is_conflict(const base::Error& error) {
  return error.what.contains("Conflict") || error.what.contains("has been modified");
}

}  // namespace

bool NodeApi::is_refused(const base::Error& error) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{"(Forbidden)", "(Invalid)",
                                                                     "(BadRequest)", "denied the request"},
                             [&](std::string_view message) { return error.what.contains(message); });
}

Result<std::string> NodeApi::call(const std::string& action, base::Variables given) {
  base::Variables all{{"config", config_}, {"action", action}, {"path", ""},
                      {"object", ""},      {"node", ""},       {"ns", ""},
                      {"pod", ""},         {"container", ""},  {"text", ""}};
  for (auto& [name, value] : given) all[name] = std::move(value);
  transport::Command command = TRY(session::command_of({.label = action + " for the health of nodes",
                                                        .asset = "playbooks/health-api.sh",
                                                        .variables = std::move(all),
                                                        .timeout = call_timeout},
                                                       *assets_));
  command.effect =
      action == "get" || action == "nodes" ? transport::Effect::reads : transport::Effect::changes;
  transport::Exit exit = TRY(session::ask(host_, std::move(command), *fleet_));
  if (exit.status == 0) return std::move(exit.out);
  const std::string why = base::tail(exit.err.empty() ? exit.out : exit.err, 2);
  return base::fail(Fault::remote,
                    why.empty()
                        ? fmt::format("the API server did not answer in time (exit status {})", exit.status)
                        : base::printable(why, 400));
}

Result<Tree> NodeApi::read(const std::string& node) {
  return base::json::read(TRY(call("get", {{"path", path_of(node)}})), "node " + node);
}

Result<Tree> NodeApi::read_path(const std::string& path) {
  return base::json::read(TRY(call("get", {{"path", path}})), path);
}

Result<> NodeApi::replace(const std::string& path, const Tree& object) {
  TRY(call("put", {{"path", path}, {"object", base::json::write(object, 0)}}));
  return {};
}

Result<> NodeApi::log(const std::string& ns, const std::string& pod, const std::string& container,
                      const std::string& line) {
  TRY(call("log", {{"ns", ns}, {"pod", pod}, {"container", container}, {"text", line}}));
  return {};
}

Result<> NodeApi::set_health(const std::string& node, const ReportedHealth& health) {
  for (int round = 1;; ++round) {
    Tree object = TRY(read(node));
    const bool is_idle_new = cluster::set_idle_pods(object, health.idle);
    if (!cluster::set_conditions(object, health.conditions, health.heartbeat) && !is_idle_new) return {};
    const auto done =
        call("put", {{"path", path_of(node) + "/status"}, {"object", base::json::write(object, 0)}});
    if (done) return {};
    if (!is_conflict(done.error()) || round == conflict_tries) return std::unexpected(done.error());
  }
}

Result<> NodeApi::send(const cluster::HealthEvent& event, const std::string& node) {
  const auto done = call("create", {{"path", "/api/v1/namespaces/default/events"},
                                    {"object", base::json::write(cluster::event_of(event, node), 0)}});
  // An earlier run has sent it, and did not get the answer.
  if (!done && !done.error().what.contains("AlreadyExists") && !done.error().what.contains("already exists"))
    return std::unexpected(done.error());
  return {};
}

Result<std::vector<cluster::NodeHealth>> NodeApi::nodes() {
  return cluster::read_node_health(TRY(call("nodes", {})));
}

Result<> NodeApi::taint(const std::string& node, Taint what) {
  TRY(call(what == Taint::add ? "taint" : "untaint", {{"node", node}}));
  return {};
}

std::string api_time(base::Time time) {
  constexpr std::size_t seconds = 19;
  return base::iso8601(time).substr(0, seconds) + "Z";
}

Result<> withdraw(NodeApi& api, const std::map<std::string, std::string>& nodes, Withdrawn what) {
  for (const cluster::NodeHealth& node : TRY(api.nodes())) {
    if (!std::ranges::any_of(nodes, [&](const auto& one) { return one.second == node.name; })) continue;
    if (node.tainted) TRY(api.taint(node.name, NodeApi::Taint::remove));
    if (node.watched && what == Withdrawn::everything)
      TRY(api.set_health(node.name, {{}, {}, api_time(base::now())}));
  }
  return {};
}

}  // namespace commands
