#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/operate/user/user.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr const char* roles_asset = "templates/user-role.yaml";
constexpr std::size_t largest_kubeconfig = 1u << 20;

Result<Tree> read_kubeconfig(const std::filesystem::path& file) {
  return base::yaml::read(TRY(base::read_file(file, largest_kubeconfig)), file.string());
}

}  // namespace

void add_user_target(Line& line, UserTarget& target) {
  line.argument("NAME", target.name, "Name of the user").required();
  add_hosts(line, target.hosts);
  add_connection(line, target.common);
}

void add_user_limits(Line& line, workload::UserLimits& limits, const char* gpus_summary) {
  line.value("--gpus", limits.gpus, "GPUS", gpus_summary);
  line.value("--cpus", limits.cpus, "CPUS", "CPUs that all pods together may request, such as 16");
  line.value("--memory", limits.memory, "SIZE",
             "Memory that all pods together may request, such as 128Gi; a container without a limit gets a "
             "quarter of it");
  line.value("--storage", limits.storage, "SIZE", "Size of all volumes together, such as 500Gi");
}

Result<std::vector<workload::UserState>> read_users(session::ClusterClient& client) {
  std::vector<Tree> objects = TRY(client.get(
      {.kinds = workload::user_kinds(), .ns = {}, .selector = workload::selector_of(workload::user_kind)}));
  for (Tree& ns : TRY(client.get({.kinds = {"namespaces"}, .ns = {}, .selector = {}})))
    objects.push_back(std::move(ns));
  return workload::users_in(objects);
}

Result<workload::UserState> find_user(session::ClusterClient& client, const std::string& name) {
  std::vector<std::string> names;
  for (workload::UserState& user : TRY(read_users(client))) {
    if (user.name == name) return std::move(user);
    names.push_back(user.name);
  }
  const auto near = base::nearest(name, names);
  return base::fail(Fault::usage, fmt::format("the cluster has no user {}", base::printable(name, 80)),
                    near            ? fmt::format("did you mean {}?", *near)
                    : names.empty() ? "gpuadm user add NAME --gpus 1"
                                    : "its users: " + base::printable(base::join(names, ", "), 300));
}

Result<base::Version> api_version_of(session::ClusterClient& client) {
  const Tree answer = TRY(base::json::read(TRY(client.raw("/version")), client.host() + ": /version"));
  const auto version = base::Version::parse(text_of(answer, "gitVersion"));
  if (!version)
    return base::fail(Fault::parse,
                      fmt::format("{}: the version of the API server is invalid: {}", client.host(),
                                  base::printable(text_of(answer, "gitVersion"), 80)));
  return *version;
}

std::string note_of_exceeded(const std::vector<std::string>& exceeded) {
  return fmt::format("the user holds more: {}. Running pods stay; new ones are refused",
                     base::printable(base::join(exceeded, ", "), 300));
}

std::string user_command(const char* verb, const UserTarget& target) {
  return fmt::format("gpuadm user {} {}{}", verb, target.name,
                     session::typed(target.hosts, target.common.connection));
}

std::filesystem::path kubeconfig_file_of(const spec::Cluster& cluster, const std::string& user) {
  return base::state_directory() / cluster.name / "users" / (user + ".kubeconfig");
}

Result<> check_kubeconfig_file(const std::filesystem::path& file, const std::string& user,
                               const std::string& identity, const workload::ApiServer& api) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(file, error))) return {};
  const std::string hint = "choose another file: --output FILE";
  const std::string shown = base::printable(file.string(), 300);
  const auto config = read_kubeconfig(file);
  if (!config) return base::fail(Fault::usage, config.error().what, hint);
  const auto certificate = base::read_certificate(workload::certificate_in_kubeconfig(*config));
  if (!certificate || workload::user_in_identity(certificate->common_name) != user)
    return base::fail(Fault::usage,
                      fmt::format("{} exists, and is not a kubeconfig of the user {}", shown, user), hint);
  if (certificate->common_name == identity || workload::authority_in_kubeconfig(*config) == api.authority)
    return {};
  return base::fail(
      Fault::usage,
      fmt::format("{} exists, and is a kubeconfig of the user {} in another cluster", shown, user), hint);
}

std::string identity_in(const std::filesystem::path& file) {
  const auto config = read_kubeconfig(file);
  if (!config) return {};
  const auto certificate = base::read_certificate(workload::certificate_in_kubeconfig(*config));
  return certificate ? certificate->common_name : "";
}

std::optional<base::CertificateSubject> valid_certificate_in(const std::filesystem::path& file,
                                                             const std::string& identity) {
  const auto config = read_kubeconfig(file);
  if (!config) return std::nullopt;
  const auto certificate = base::read_certificate(workload::certificate_in_kubeconfig(*config));
  if (!certificate || certificate->common_name != identity || certificate->ends <= base::now())
    return std::nullopt;
  return *certificate;
}

Result<workload::ApiServer> read_api_server(session::ClusterClient& client, const std::string& server) {
  const auto maps =
      TRY(client.find({workload::reference_to({"v1", "ConfigMap", "kube-public", "cluster-info"}),
                       workload::reference_to({"v1", "ConfigMap", "kube-system", "kube-root-ca.crt"})}));
  return workload::api_server_of(maps, server);
}

Result<std::vector<Tree>> read_roles(const assets::Store& assets) {
  return base::yaml::read_all(TRY(assets.read(roles_asset)), roles_asset, base::yaml::Dialect::kubernetes);
}

}  // namespace commands
