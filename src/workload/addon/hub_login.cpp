#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/random.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/addon_hub.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace workload {

namespace {

using base::Fault;
using base::Result;
using base::Tree;

constexpr std::size_t shortest_password = 8;
constexpr std::size_t salt_bytes = 16;

Result<HubUser> parse_user(std::string_view line, const std::string& place) {
  constexpr const char* form = "NAME:PASSWORD[:admin]";
  HubUser user;
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos)
    return base::fail(Fault::usage, fmt::format("{}: not a user", place), form);
  user.name = std::string(line.substr(0, colon));
  std::string_view rest = line.substr(colon + 1);
  constexpr std::string_view admin = ":admin";
  user.admin = rest.ends_with(admin);
  if (user.admin) rest.remove_suffix(admin.size());
  user.password = base::Secret(std::string(rest));
  if (const auto valid = check_name("user", user.name); !valid)
    return base::fail(Fault::usage, fmt::format("{}: the name of the user is invalid", place),
                      valid.error().hint);
  if (user.name == proof_user)
    return base::fail(Fault::usage, fmt::format("{}: the name {} is reserved", place, proof_user),
                      "choose another name");
  if (rest.size() < shortest_password)
    return base::fail(Fault::usage,
                      fmt::format("{}: the password is shorter than {} characters", place, shortest_password),
                      form);
  return user;
}

/// Settings of GenericOAuthenticator (oauthenticator/generic.py and oauth2.py).
struct OidcKey {
  std::string_view name;
  enum class Kind { text, url, list, flag } kind;
  bool required = false;
};
constexpr OidcKey oidc_keys[] = {
    {"client_id", OidcKey::Kind::text, true},       {"client_secret", OidcKey::Kind::text, true},
    {"authorize_url", OidcKey::Kind::url, true},    {"token_url", OidcKey::Kind::url, true},
    {"userdata_url", OidcKey::Kind::url, true},     {"oauth_callback_url", OidcKey::Kind::url, true},
    {"username_claim", OidcKey::Kind::text, false}, {"login_service", OidcKey::Kind::text, false},
    {"scope", OidcKey::Kind::list, false},          {"allowed_users", OidcKey::Kind::list, false},
    {"admin_users", OidcKey::Kind::list, false},    {"allow_all", OidcKey::Kind::flag, false},
};

Result<> check_oidc_value(const OidcKey& key, const Tree& value, const std::string& place) {
  const auto refuse = [&](const char* expected) {
    return base::fail(Fault::usage, fmt::format("{}: {} is invalid", place, key.name),
                      fmt::format("expected {}", expected));
  };
  switch (key.kind) {
    case OidcKey::Kind::text:
      if (!value.is_string() || value.text().empty()) return refuse("a text");
      break;
    case OidcKey::Kind::url:
      if (!value.is_string() || !value.text().starts_with("https://"))
        return refuse("an address with https://");
      break;
    case OidcKey::Kind::list:
      if (!value.is_list() || value.items().empty() ||
          !std::ranges::all_of(value.items(), [](const Tree& one) { return one.is_string(); }))
        return refuse("a list of texts");
      break;
    case OidcKey::Kind::flag:
      if (!value.is_bool()) return refuse("true or false");
      break;
  }
  return {};
}

}  // namespace

Result<std::vector<HubUser>> parse_hub_users(const base::Secret& text, const std::string& source) {
  std::vector<HubUser> users;
  std::set<std::string> names;
  int number = 0;
  const std::string_view all = text.reveal();
  for (std::string_view line : base::lines(all)) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (base::trim(line).empty() || line.starts_with('#')) continue;
    const std::string place = fmt::format("{}:{}", source, number);
    HubUser user = TRY(parse_user(line, place));
    if (!names.insert(user.name).second)
      return base::fail(Fault::usage, fmt::format("{}: the user {} occurs twice", place, user.name),
                        "delete one of the lines");
    users.push_back(std::move(user));
  }
  if (users.empty())
    return base::fail(Fault::usage, source + ": no users", "a line each: NAME:PASSWORD[:admin]");
  return users;
}

Result<base::Secret> hash_hub_users(const std::vector<HubUser>& users) {
  Tree all = Tree::map();
  for (const HubUser& user : users) {
    const base::Secret salt = TRY(base::random_secret(salt_bytes));
    all.set(user.name, Tree::map_of({{"salt", salt.reveal()},
                                     {"digest", base::scrypt(user.password.reveal(), salt.reveal())},
                                     {"admin", user.admin}}));
  }
  return base::Secret(base::json::write(all, 0));
}

Result<Tree> parse_oidc(const base::Secret& text, const std::string& source) {
  // A message of the parser could quote a secret.
  const auto tree = base::yaml::read(text.reveal(), source);
  if (!tree || !tree->is_map())
    return base::fail(Fault::usage, source + ": not a YAML map of settings",
                      "for example client_id: jupyterhub");
  std::vector<std::string> known;
  for (const OidcKey& key : oidc_keys) known.emplace_back(key.name);
  for (const auto& [name, value] : tree->entries()) {
    const std::string place = fmt::format("{}:{}", source, value.key_mark.line);
    const auto key = std::ranges::find(oidc_keys, std::string_view(name), &OidcKey::name);
    if (key == std::end(oidc_keys)) {
      const auto near = base::nearest(name, known);
      return base::fail(Fault::usage, fmt::format("{}: unknown key {}", place, base::printable(name, 80)),
                        near ? fmt::format("did you mean {}?", *near) : "known: " + base::join(known, ", "));
    }
    TRY(check_oidc_value(*key, value, place));
  }
  for (const OidcKey& key : oidc_keys)
    if (key.required && !tree->find(key.name))
      return base::fail(Fault::usage, fmt::format("{}: {} is missing", source, key.name),
                        "the client and the addresses are from your identity provider");
  const Tree* all = tree->find("allow_all");
  if (!tree->find("allowed_users") && !(all && all->as_bool().value_or(false)))
    return base::fail(Fault::usage, source + ": nobody may log in", "set allowed_users, or allow_all: true");
  return *tree;
}

}  // namespace workload
