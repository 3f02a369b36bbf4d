#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/replace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace session {

namespace {

using base::Fault;
using base::Tree;

constexpr const char* asset = "playbooks/objects.sh";
constexpr int status_no_kubeconfig = 3;
constexpr std::size_t objects_limit = 64u << 20;  // pods of 1,000 nodes as JSON

/// Variables of playbooks/objects.sh, all of which are set.
base::Variables variables_of(const std::string& action, base::Variables given) {
  base::Variables all{{"action", action}, {"namespace", ""}, {"kinds", ""},  {"selector", ""},
                      {"objects", ""},    {"object", ""},    {"patch", ""},  {"seconds", "0"},
                      {"path", ""},       {"input", ""},     {"command", ""}};
  for (auto& [name, value] : given) all[name] = std::move(value);
  return all;
}

Result<transport::Command> command_for(const std::string& label, const std::string& action,
                                       base::Variables given, const assets::Store& assets) {
  transport::Command command = TRY(command_of(
      {.label = label, .asset = asset, .variables = variables_of(action, std::move(given))}, assets));
  command.timeout = std::chrono::seconds(90);
  command.api = true;
  constexpr std::string_view reading[] = {"find", "get", "named", "raw"};
  command.effect = std::ranges::find(reading, action) != std::end(reading) ? transport::Effect::reads
                                                                           : transport::Effect::changes;
  return command;
}

/// As Kubernetes guesses it (apimachinery pkg/api/meta, UnsafeGuessKindToResource).
std::string resource_of(std::string_view kind) {
  const std::string name = base::lower(kind);
  if (name.ends_with('s')) return name + "es";
  if (name.ends_with('y')) return name.substr(0, name.size() - 1) + "ies";
  return name + "s";
}

/// The path of an object in the API and its uid. Fault::parse if a name could lead elsewhere.
Result<std::string> path_and_uid(const Tree& object) {
  const std::string version = text_of(object, "apiVersion"), kind = text_of(object, "kind"),
                    ns = text_at(object, {"metadata", "namespace"}),
                    name = text_at(object, {"metadata", "name"}), uid = text_at(object, {"metadata", "uid"});
  const auto is_plain = [](std::string_view text, std::string_view more) {
    return !text.empty() && !text.starts_with('.') && std::ranges::all_of(text, [&](unsigned char c) {
      return std::isalnum(c) != 0 || more.contains(static_cast<char>(c));
    });
  };
  if (!is_plain(version, "./-") || !is_plain(kind, "") || !is_plain(name, ".:-") || !is_plain(uid, "-") ||
      (!ns.empty() && !is_plain(ns, "-")))
    return base::fail(Fault::parse, fmt::format("the API server has described an object without a valid "
                                                "name or uid: {}",
                                                base::printable(kind + " " + name, 200)));
  return fmt::format("{}/{}{}/{}/{} {}", version.contains('/') ? "/apis" : "/api", version,
                     ns.empty() ? "" : "/namespaces/" + ns, resource_of(kind), name, uid);
}

}  // namespace

std::vector<std::string> object_names(std::string_view output) {
  std::vector<std::string> names;
  for (const std::string_view line : base::lines(output)) {
    const std::size_t slash = line.find('/');
    const bool is_name = slash != 0 && slash < line.size() - 1 &&
                         line.find_first_of(" \t\r") == std::string_view::npos &&
                         line.find('/', slash + 1) == std::string_view::npos;
    if (is_name) names.push_back(base::printable(line, 300));
  }
  return names;
}

std::string list_of(const std::vector<Tree>& objects) {
  return base::json::write(Tree::map_of({{"apiVersion", "v1"}, {"kind", "List"}, {"items", Tree(objects)}}),
                           0);
}

Result<transport::Command> objects_command(const ObjectQuery& query, const assets::Store& assets) {
  const std::string kinds = base::join(query.kinds, ",");
  transport::Command command = TRY(command_for("read " + kinds, "get",
                                               {{"kinds", kinds},
                                                {"namespace", query.ns},
                                                {"selector", query.selector},
                                                {"seconds", std::to_string(query.available_within.count())}},
                                               assets));
  command.output_limit = objects_limit;
  return command;
}

Result<std::vector<Tree>> objects_in(const std::string& output, const std::string& source) {
  if (base::trim(output).empty()) return std::vector<Tree>();
  const Tree list = TRY(base::json::read(output, source));
  const Tree* items = list.find("items");
  // kubectl prints a single object that was asked for by its name without a list.
  if (!items && list.at({"metadata", "name"})) return std::vector<Tree>{list};
  if (!items || !items->is_list())
    return base::fail(Fault::parse, fmt::format("{}: the answer is not a list", source));
  return items->items();
}

Result<ClusterClient> ClusterClient::open(const spec::Cluster& cluster, transport::Fleet& fleet,
                                          const assets::Store& assets) {
  std::vector<const spec::Host*> hosts;
  for (const spec::Host& host : cluster.hosts) hosts.push_back(&host);
  std::ranges::stable_partition(
      hosts, [](const spec::Host* host) { return host->role == spec::Role::control_plane; });
  std::vector<base::Error> errors;
  for (const spec::Host* host : hosts) {
    auto exit = session::ask(host->name, TRY(command_for("find the kubeconfig", "find", {}, assets)), fleet);
    if (!exit && exit.error().fault == Fault::interrupted) return std::unexpected(exit.error());
    if (exit && exit->status == 0) return ClusterClient(*host, fleet, assets);
    if (exit && !host->endpoint.kubeconfig.empty())
      return base::fail(Fault::usage, base::tail(exit->err, 3) + ", and --kubeconfig needs it",
                        "https://kubernetes.io/docs/tasks/tools/");
    if (exit && exit->status != status_no_kubeconfig)
      exit = base::fail(Fault::remote, fmt::format("{}: cannot look for the kubeconfig: {}", host->name,
                                                   base::tail(exit->err, 3)));
    if (!exit) errors.push_back(std::move(exit).error());
  }
  return std::unexpected(errors.empty() ? no_control_plane() : base::joined(errors));
}

Result<std::string> ClusterClient::run(transport::Command command) {
  command.output_limit = objects_limit;
  const std::string label = command.label;
  transport::Exit exit = TRY(session::ask(host_, std::move(command), *fleet_));
  if (exit.dropped > 0)
    return base::fail(Fault::remote,
                      fmt::format("{}: cannot {}: the answer of the API server is larger than {}", host_,
                                  label, base::human_bytes(objects_limit)));
  if (exit.status == 0) return std::move(exit.out);
  const std::string why = base::tail(exit.err.empty() ? exit.out : exit.err, 5);
  if (limited_)
    return std::unexpected(
        request_error(label, why.empty() ? fmt::format("exit status {}, no output", exit.status) : why));
  return base::fail(Fault::remote,
                    fmt::format("{}: cannot {}: {}", host_, label,
                                why.empty() ? fmt::format("exit status {}, no output", exit.status) : why),
                    "gpuadm doctor --stage cluster");
}

Result<facts::ClusterFacts> ClusterClient::read_nodes_and_pods() {
  transport::Command command = TRY(view_command(*assets_));
  command.script = base::assignments({{"purpose", "workload"}}) + command.script.text();
  facts::ClusterFacts facts = TRY(facts::parse_cluster(TRY(run(std::move(command)))));
  // The reason, which the tables do not have.
  if (limited_ && !facts.nodes) TRY(get({.kinds = {"nodes"}, .ns = {}, .selector = {}}));
  if (limited_ && !facts.pods) TRY(get({.kinds = {"pods"}, .ns = facts.pods_of, .selector = {}}));
  return facts;
}

Result<std::vector<Tree>> ClusterClient::get(const ObjectQuery& query, transport::Purpose purpose) {
  transport::Command command = TRY(objects_command(query, *assets_));
  command.purpose = purpose;
  return objects_in(TRY(run(std::move(command))), host_ + ": kubectl get " + base::join(query.kinds, ","));
}

Result<std::vector<std::string>> ClusterClient::create(const std::string& ns,
                                                       const std::vector<Tree>& objects,
                                                       transport::Purpose purpose) {
  transport::Command command = TRY(command_for("create the objects", "create",
                                               {{"namespace", ns}, {"objects", list_of(objects)}}, *assets_));
  command.purpose = purpose;
  return object_names(TRY(run(std::move(command))));
}

Result<> ClusterClient::patch(const std::string& ns, const std::string& object, const Tree& patch,
                              transport::Purpose purpose) {
  transport::Command command = TRY(
      command_for("change " + object, "patch",
                  {{"namespace", ns}, {"object", object}, {"patch", base::json::write(patch, 0)}}, *assets_));
  command.purpose = purpose;
  TRY(run(std::move(command)));
  return {};
}

Result<> ClusterClient::approve(const std::string& request) {
  TRY(run(TRY(command_for("approve the certificate request " + request, "approve", {{"object", request}},
                          *assets_))));
  return {};
}

Result<std::vector<std::string>> ClusterClient::remove(const std::string& ns,
                                                       const std::vector<std::string>& kinds,
                                                       const std::string& selector,
                                                       std::chrono::seconds timeout) {
  const std::string all = base::join(kinds, ",");
  transport::Command command = TRY(command_for("delete " + all, "delete",
                                               {{"namespace", ns},
                                                {"kinds", all},
                                                {"selector", selector},
                                                {"seconds", std::to_string(timeout.count())}},
                                               *assets_));
  command.timeout = timeout + std::chrono::seconds(20);
  command.purpose = transport::Purpose::clean_up;
  return object_names(TRY(run(std::move(command))));
}

Result<> ClusterClient::apply(const std::vector<Tree>& objects, transport::Purpose purpose) {
  transport::Command command =
      TRY(command_for("apply the objects", "apply", {{"objects", list_of(objects)}}, *assets_));
  command.purpose = purpose;
  TRY(run(std::move(command)));
  return {};
}

Result<> replace(ClusterClient& client, const std::vector<Tree>& objects, transport::Purpose purpose) {
  transport::Command command =
      TRY(command_for("replace the objects", "replace", {{"objects", list_of(objects)}}, client.assets()));
  command.purpose = purpose;
  const transport::Exit exit = TRY(session::ask(client.host(), std::move(command), client.fleet()));
  if (exit.status == 0) return {};
  return base::fail(Fault::remote,
                    fmt::format("{}: cannot replace the objects: {}", client.host(), base::tail(exit.err, 5)),
                    "gpuadm doctor --stage cluster");
}

Result<std::vector<Tree>> ClusterClient::find(const std::vector<Tree>& references,
                                              transport::Purpose purpose) {
  if (references.empty()) return std::vector<Tree>();
  transport::Command command =
      TRY(command_for("read the objects", "named", {{"objects", list_of(references)}}, *assets_));
  command.purpose = purpose;
  return objects_in(TRY(run(std::move(command))), host_ + ": kubectl get");
}

Result<> ClusterClient::remove_objects(const std::vector<Tree>& objects, std::chrono::seconds timeout) {
  if (objects.empty()) return {};
  std::vector<std::string> lines;
  for (const Tree& object : objects) lines.push_back(TRY(path_and_uid(object)));
  transport::Command command = TRY(command_for(
      "delete the objects", "delete-exact",
      {{"objects", base::join(lines, "\n")}, {"seconds", std::to_string(timeout.count())}}, *assets_));
  command.timeout = timeout + std::chrono::seconds(120);
  command.purpose = transport::Purpose::clean_up;
  TRY(run(std::move(command)));
  return {};
}

Result<std::string> ClusterClient::raw(const std::string& path) {
  return run(TRY(command_for("read " + path, "raw", {{"path", path}}, *assets_)));
}

Result<transport::Exit> ClusterClient::exec(const std::string& ns, const std::string& object,
                                            const std::vector<std::string>& command, std::string input,
                                            std::chrono::seconds timeout) {
  transport::Command made = TRY(command_for("run a program in " + object, "exec",
                                            {{"namespace", ns},
                                             {"object", object},
                                             {"command", base::join(command, "\n")},
                                             {"input", std::move(input)},
                                             {"seconds", std::to_string(timeout.count())}},
                                            *assets_));
  made.timeout = timeout + std::chrono::seconds(20);
  return session::ask(host_, std::move(made), *fleet_);
}

Result<transport::Exit> ClusterClient::ask(const Query& query) {
  return session::ask(host_, query, *fleet_, *assets_);
}

}  // namespace session
