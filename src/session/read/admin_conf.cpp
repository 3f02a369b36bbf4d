#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {

namespace {

using base::Fault;
using base::Tree;

constexpr const char* mark = "gpuadm";  // the extension that marks gpuadm's contexts

std::string text_of(const Tree* tree) {
  return tree ? tree->text() : std::string();
}

/// The entry of a list ("clusters") by its name.
Tree* entry(Tree& config, std::string_view list, std::string_view name) {
  Tree* items = config.find(list);
  if (!items) return nullptr;
  for (Tree& item : items->items())
    if (text_of(item.find("name")) == name) return &item;
  return nullptr;
}

const Tree* inside(const Tree& config, std::string_view list, std::string_view name, std::string_view key) {
  const Tree* items = config.find(list);
  if (!items) return nullptr;
  for (const Tree& item : items->items())
    if (text_of(item.find("name")) == name) return item.find(key);
  return nullptr;
}

bool is_ours(const Tree* context) {
  const Tree* extensions = context ? context->at({"context", "extensions"}) : nullptr;
  return extensions && std::ranges::any_of(extensions->items(), [](const Tree& extension) {
           return text_of(extension.find("name")) == mark;
         });
}

Tree context_of(const std::string& cluster, const std::string& user, const Tree* before) {
  Tree context = Tree::map_of({{"cluster", cluster}, {"user", user}});
  // The namespace is the operator's choice.
  if (const Tree* ns = before ? before->at({"context", "namespace"}) : nullptr) context.set("namespace", *ns);
  Tree extensions = Tree::list();
  extensions.push(Tree::map_of({{"name", mark}, {"extension", Tree::map_of({{"cluster", cluster}})}}));
  context.set("extensions", extensions);
  return context;
}

void put(Tree& config, const char* list, const char* key, const std::string& name, Tree value) {
  Tree made = Tree::map_of({{"name", name}, {key, std::move(value)}});
  if (Tree* there = entry(config, list, name))
    *there = std::move(made);
  else
    config[list].push(std::move(made));
}

Result<> may_take(const Tree& config, const char* list, const std::string& name, bool ours) {
  const Tree* items = config.find(list);
  if (ours || !items) return {};
  for (const Tree& item : items->items())
    if (text_of(item.find("name")) == name)
      return base::fail(Fault::usage,
                        fmt::format("the kubeconfig already has {} named {} that gpuadm did not write",
                                    std::string_view(list) == "contexts"   ? "a context"
                                    : std::string_view(list) == "clusters" ? "a cluster"
                                                                           : "a user",
                                    base::printable(name)),
                        "use another name: --context NAME");
  return {};
}

/// Only server and credentials of a kubeconfig from another machine: a kubeconfig can also run programs
/// (exec), and redirect requests (proxy-url).
Tree only(const Tree& from, std::initializer_list<const char*> keys) {
  Tree made = Tree::map();
  for (const char* key : keys)
    if (const Tree* value = from.find(key); value && value->is_scalar()) made.set(key, value->text());
  return made;
}

}  // namespace

Result<std::string> read_admin_conf(const spec::Cluster& cluster, transport::Fleet& fleet,
                                    const assets::Store& assets) {
  const Query query{.label = "read the kubeconfig", .asset = "playbooks/read/admin-conf.sh"};
  std::vector<base::Error> errors;
  for (const spec::Host& host : cluster.hosts) {
    if (host.role != spec::Role::control_plane) continue;
    auto exit = ask(host.name, query, fleet, assets);
    if (!exit && exit.error().fault == Fault::interrupted) return std::unexpected(exit.error());
    if (!exit)
      errors.push_back(std::move(exit).error());
    else if (exit->status == 0 && !exit->out.empty())
      return std::move(exit->out);
  }
  return std::unexpected(errors.empty() ? no_control_plane() : base::joined(errors));
}

Result<Tree> with_context(Tree config, const Tree& admin, const std::string& name, Current current) {
  const std::string user = name + "-admin";
  const Tree* context = inside(admin, "contexts", text_of(admin.find("current-context")), "context");
  const Tree* cluster_in =
      context ? inside(admin, "clusters", text_of(context->find("cluster")), "cluster") : nullptr;
  const Tree* user_in = context ? inside(admin, "users", text_of(context->find("user")), "user") : nullptr;
  if (!cluster_in || !user_in)
    return base::fail(Fault::parse, "the control plane's admin.conf has no current context");
  if (!config.is_null() && !config.is_map())
    return base::fail(Fault::usage, "not a kubeconfig", "specify another file: --output FILE");
  for (const char* list : {"clusters", "users", "contexts"})
    if (Tree* items = config.find(list)) {
      if (items->is_null()) *items = Tree::list();
      if (!items->is_list())
        return base::fail(Fault::usage, fmt::format("not a kubeconfig: {} is not a list", list),
                          "specify another file: --output FILE");
    }
  const Tree* before = entry(config, "contexts", name);
  const bool ours = is_ours(before);
  TRY(may_take(config, "contexts", name, ours));
  TRY(may_take(config, "clusters", name, ours));
  TRY(may_take(config, "users", user, ours));
  if (!config.find("apiVersion")) config.set("apiVersion", "v1");
  if (!config.find("kind")) config.set("kind", "Config");
  Tree made = context_of(name, user, before);
  put(config, "clusters", "cluster", name,
      only(*cluster_in, {"server", "certificate-authority-data", "tls-server-name"}));
  put(config, "users", "user", user, only(*user_in, {"client-certificate-data", "client-key-data", "token"}));
  put(config, "contexts", "context", name, std::move(made));
  if (current == Current::becomes) config.set("current-context", name);
  return config;
}

}  // namespace session
