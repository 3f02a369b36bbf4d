#include "spec/hosts.hpp"

#include "gpuadm/base/network.hpp"

#include <algorithm>
#include <set>

namespace spec {

namespace {

const std::string hosts_prefix = "hosts[].";

/// "SHA256:" and 32 bytes in base64 without padding, the format of `ssh-keygen -l`.
bool is_fingerprint(const std::string& text) {
  constexpr std::string_view start = "SHA256:";
  return text.starts_with(start) && text.size() == start.size() + 43 &&
         std::ranges::all_of(text.substr(start.size()),
                             [](char c) { return is_alphanumeric(c) || c == '+' || c == '/'; });
}

/// A name in reports: a DNS name, or the address of a host without one.
bool is_host_name(const std::string& text) {
  return base::is_dns_name(text) || (is_address(text) && text.find(':') != std::string::npos);
}

Type<Role> role() {
  return choice<Role>({{"controlPlane", Role::control_plane}, {"worker", Role::worker}});
}

void judge_login(const Host& host, const Tree& tree, HostKeys host_keys, Problems& problems) {
  if (host.endpoint.local) {
    for (const char* key : {"address", "port", "user", "identityFile", "hostKey"})
      if (const Tree* value = tree.find(key))
        problems.add(value->key_mark,
                     fmt::format("{}{}: cannot be combined with 'local: true'", hosts_prefix, key));
  } else if (tree.is_map() && !tree.find("name") && !tree.find("address")) {
    problems.add(tree.mark, "hosts[]: requires a name, an address or 'local: true'");
  } else if (tree.is_map() && !tree.find("address") && base::is_partial_ipv4(host.name)) {
    problems.add(host.mark, fmt::format("{}address: missing for {}, which is an incomplete IPv4 address",
                                        hosts_prefix, host.name));
  } else if (host_keys == HostKeys::pinned && tree.is_map() && !tree.find("hostKey")) {
    problems.add(tree.mark, fmt::format("{}hostKey: missing for {}, but ssh.hostKeys is pinned", hosts_prefix,
                                        host.name));
  }
}

}  // namespace

const std::vector<Field<Host>>& host_fields() {
  static const std::vector<Field<Host>> fields = {
      field<Host>(hosts_prefix + "name", text_where("DNS name", is_host_name),
                  {"Name of the host in reports; unique.", "the address; localhost for this machine"},
                  &Host::name),
      field<Host>(hosts_prefix + "local", only_if_true(), {"This machine, without SSH.", "false"},
                  &Host::endpoint, &Endpoint::local),
      field<Host>(hosts_prefix + "address", address(), {"Address of the host.", "the name"}, &Host::endpoint,
                  &Endpoint::address),
      field<Host>(hosts_prefix + "port", port(), {"SSH port.", "ssh.port"}, &Host::endpoint, &Endpoint::port),
      field<Host>(hosts_prefix + "user", user_name(), {"Login user.", "ssh.user"}, &Host::endpoint,
                  &Endpoint::user),
      field<Host>(hosts_prefix + "identityFile", text("path"),
                  {"Private key for the login.", "ssh.identityFile"}, &Host::endpoint,
                  &Endpoint::identity_file),
      field<Host>(hosts_prefix + "hostKey",
                  text_where("fingerprint such as SHA256:… of ssh-keygen -l", is_fingerprint,
                             R"(^SHA256:[A-Za-z0-9+/]{43}$)"),
                  {"Accepted host key.", "see ssh.hostKeys"}, &Host::endpoint, &Endpoint::host_key),
      field<Host>(hosts_prefix + "role", role(),
                  {"Role in the cluster.", "worker; if no host is controlPlane, the first host is"},
                  &Host::role),
      field<Host>(hosts_prefix + "labels", labels(), {"Labels of its node."}, &Host::labels),
      field<Host>(hosts_prefix + "gpu.sharing", perhaps(sharing()),
                  {"How pods share the host's GPUs.", "gpu.models, else gpu.sharing"}, &Host::gpu,
                  &GpuOverrides::sharing),
      field<Host>(hosts_prefix + "gpu.mig", perhaps(mig()),
                  {"MIG instances of the host's GPUs.", "gpu.models, else gpu.mig"}, &Host::gpu,
                  &GpuOverrides::mig),
  };
  return fields;
}

namespace {

/// A host has a name, an address, or is this machine (judge_login).
Tree host_schema() {
  Tree schema = schema_of_fields(hosts_prefix, host_fields());
  schema.set("type", "object");
  Tree::List any;
  for (const char* key : {"name", "address", "local"})
    any.push_back(Tree::map_of({{"required", Tree::list_of({key})}}));
  schema.set("anyOf", std::move(any));
  return schema;
}

}  // namespace

Type<std::vector<Host>> hosts() {
  auto type = list_of_maps("hosts", hosts_prefix, "name, address, role …", host_fields, host_schema());
  type.schema.set("minItems", 1);
  return type;
}

void complete_hosts(Cluster& cluster, const Tree& list) {
  const auto sets = [&](std::size_t index, std::initializer_list<std::string_view> path) {
    const Tree* value = list.items()[index].at(path);
    return value && !value->is_null();
  };
  std::vector<Host>& hosts = cluster.hosts;
  bool led = false;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    if (sets(i, {"role"}))
      led = led || hosts[i].role == Role::control_plane;
    else
      hosts[i].role = Role::worker;
  if (!led && !hosts.empty() && !sets(0, {"role"})) hosts.front().role = Role::control_plane;

  for (std::size_t i = 0; i < hosts.size(); ++i) {
    Host& host = hosts[i];
    Endpoint& at = host.endpoint;
    if (host.name.empty()) host.name = at.local ? "localhost" : at.address;
    if (at.local) continue;
    if (at.address.empty()) at.address = host.name;
    if (at.port == 0) at.port = cluster.ssh.port;
    if (at.user.empty()) at.user = cluster.ssh.user;
    if (at.identity_file.empty()) at.identity_file = cluster.ssh.identity_file;
  }
}

void judge_hosts(const Cluster& cluster, const Tree& list, Problems& problems) {
  if (list.is_list() && list.items().empty()) problems.add(list.mark, "hosts: at least one is required");
  std::set<std::string> names, addresses;
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i) {
    const Host& host = cluster.hosts[i];
    const Endpoint& at = host.endpoint;
    judge_login(host, list.items()[i], cluster.ssh.host_keys, problems);
    if (!host.name.empty() && !names.insert(host.name).second)
      problems.add(host.mark, fmt::format("{}name: duplicate host name {}", hosts_prefix, host.name));
    const std::string where = at.local             ? "local"
                              : at.address.empty() ? ""
                                                   : fmt::format("{} port {}", at.address, at.port);
    if (!where.empty() && !addresses.insert(where).second)
      problems.add(host.mark, at.local
                                  ? "hosts[].local: only one host can be this machine"
                                  : fmt::format("{}address: duplicate address {}", hosts_prefix, at.address));
  }
}

void judge_control_planes(const Cluster& cluster, const Tree& list, Problems& problems) {
  Problems unreadable("");
  for (const Tree& item : list.items())
    if (const Tree* value = item.find("role"); value && !value->is_null())
      (void)role().read(*value, "", unreadable);
  if (!unreadable.empty() || cluster.hosts.empty()) return;
  const auto count = std::ranges::count(cluster.hosts, Role::control_plane, &Host::role);
  if (count == 0)
    problems.add(list.mark, "hosts: none has the role controlPlane");
  else if (count % 2 == 0)
    problems.add(
        list.mark,
        fmt::format("hosts: {0} control-plane nodes; etcd requires an odd number, because {0} tolerate no "
                    "more failures than {1}",
                    count, count - 1));
}

}  // namespace spec
