#include "transport/ssh/keys/key_ring.hpp"

#include "gpuadm/base/text.hpp"

#include "transport/ssh/config/tokens.hpp"
#include "transport/ssh/keys/bytes.hpp"
#include "transport/ssh/keys/public_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace transport {

namespace {
using base::Fault;
constexpr int tries = 3;  // of a passphrase, as OpenSSH

bool served(std::string_view type) {
  return type == "ssh-ed25519" || type == "ssh-rsa" || type == "ecdsa-sha2-nistp256" ||
         type == "ecdsa-sha2-nistp384" || type == "ecdsa-sha2-nistp521";
}

// libssh2 uses the key's name as the signature algorithm, so an RSA key is offered under its name in RFC
// 8332.
std::string offered(const std::string& blob) {
  Reader reader(blob);
  if (reader.string() != "ssh-rsa") return blob;
  std::string renamed;
  put_string(renamed, "rsa-sha2-512");
  return renamed + std::string(reader.rest());
}

Identity* find(std::vector<Identity>& identities, const std::string& blob) {
  const auto found = std::find_if(identities.begin(), identities.end(),
                                  [&](const Identity& identity) { return identity.blob == offered(blob); });
  return found == identities.end() ? nullptr : &*found;
}
}  // namespace

KeyRing::Slot& KeyRing::slot(const std::string& path) {
  Slot& slot = files_[path];
  if (!slot.file) slot.file = read_key_file(path);
  return slot;
}

base::Result<EVP_PKEY*> KeyRing::open(Slot& slot) {
  if (slot.key) return slot.key.get();
  if (slot.refused) return std::unexpected(*slot.refused);
  const KeyFile& file = **slot.file;
  const std::string path = file.path.string();
  for (int i = 0; i < (file.encrypted ? tries : 1); ++i) {
    std::optional<base::Secret> passphrase = base::Secret{};
    if (file.encrypted) passphrase = session_.ask("key " + path, fmt::format("Passphrase for {}: ", path));
    if (!passphrase || (file.encrypted && passphrase->empty())) break;
    auto key = session_.waiting([&] { return open_key(file, *passphrase); });  // bcrypt is slow
    session_.forget("key " + path);
    if (!key) {
      slot.refused = key.error();
      return std::unexpected(*slot.refused);
    }
    if (!*key) continue;
    slot.key = std::move(**key);
    return slot.key.get();
  }
  slot.refused = file.encrypted ? base::Error{Fault::auth, fmt::format("{}: wrong passphrase", path),
                                              "load it into ssh-agent: ssh-add " + path}
                                : base::Error{Fault::spec, fmt::format("{}: invalid private key", path), ""};
  return std::unexpected(*slot.refused);
}

base::Result<std::optional<Identity>> KeyRing::from_file(const std::string& path, Agent* agent,
                                                         Offer& offer) {
  Slot& held = slot(path);
  if (!*held.file) return std::unexpected(held.file->error());
  KeyFile& file = **held.file;
  if (file.blob.empty()) {
    EVP_PKEY* key = TRY(open(held));
    file.blob = public_blob(key);
    file.type = Reader(file.blob).string();
  }
  if (agent)
    for (const auto& key : agent->keys())
      if (key.blob == file.blob && served(file.type)) return from_agent(*agent, key);
  if (!served(file.type)) {
    offer.left_out.push_back(fmt::format("{} key {}", base::printable(file.type, 60), path));
    return std::nullopt;
  }
  return Identity{offered(file.blob), file.type + " " + path,
                  [this, &held](std::string_view data) -> base::Result<std::string> {
                    EVP_PKEY* key = TRY(open(held));
                    return transport::sign(key, data);
                  }};
}

Identity KeyRing::from_agent(Agent& agent, const Agent::Key& key) {
  return {offered(key.blob),
          fmt::format("{} {} (agent)", Reader(key.blob).string(), base::printable(key.comment, 80)),
          [this, &agent, blob = key.blob](std::string_view data) {
            return session_.waiting([&] { return agent.sign(blob, data); });
          }};
}

Agent* KeyRing::agent_for(const Config& config, const std::string& typed_host) {
  std::string socket = config.identity_agent;
  if (socket == "none") return nullptr;
  if (socket.empty() || socket == "SSH_AUTH_SOCK") socket = "$SSH_AUTH_SOCK";
  if (socket.starts_with('$')) {
    const char* value = std::getenv(socket.substr(1).c_str());
    socket = value ? value : "";
  } else {
    socket = expand(socket, config, typed_host, Expansion::completed).value_or("");
  }
  if (socket.empty()) return nullptr;
  return &agents_.try_emplace(socket, socket).first->second;
}

/// Whether OpenSSH would offer it under this configuration. If only libssh2 cannot, it is left out.
bool KeyRing::may_offer(const Identity& identity, const Config& config, Offer& offer) {
  const std::string type(Reader(identity.blob).string());
  const auto allows = [&](std::string_view name) {
    return config.key_algorithms.empty() ||
           std::ranges::find(config.key_algorithms, name) != config.key_algorithms.end();
  };
  const bool is_rsa = type.starts_with("rsa-");
  if (is_rsa && rsa_bits(identity.blob) < std::max(config.least_rsa_bits, Config::usual_rsa_bits))
    return false;
  if (allows(type)) return true;
  if (is_rsa && allows("rsa-sha2-256")) offer.left_out.push_back(identity.label + " with rsa-sha2-256");
  return false;
}

/// The key of an IdentityFile. Nothing: there is none, with a notice if the file cannot be used.
std::optional<Identity> KeyRing::listed(const std::string& path, Agent* agent, Offer& offer) {
  for (const char* ending : {"-cert", "-cert.pub"})
    if (std::filesystem::exists(path + ending)) offer.left_out.push_back("certificate " + path + ending);
  // As OpenSSH, which finds the private key in the agent if the file has only the public one.
  for (const std::string& file : {path, path + ".pub"})
    if (const std::string blob = read_public_key(file); agent && !blob.empty())
      for (const auto& key : agent->keys())
        if (key.blob == blob && served(Reader(blob).string())) return from_agent(*agent, key);
  if (!std::filesystem::exists(path) || !read_public_key(path).empty()) return std::nullopt;
  auto identity = from_file(path, agent, offer);
  if (!identity)
    session_.notify_once(identity.error().what +
                         (identity.error().hint.empty() ? "" : ": " + identity.error().hint));
  return identity ? std::move(*identity) : std::nullopt;
}

base::Result<KeyRing::Offer> KeyRing::offer(const Config& config, const std::string& typed_host,
                                            const std::string& identity_file) {
  Offer offer;
  Agent* agent = agent_for(config, typed_host);
  const auto add = [&](Identity identity) {
    if (may_offer(identity, config, offer) &&
        std::none_of(offer.identities.begin(), offer.identities.end(),
                     [&](const Identity& other) { return other.blob == identity.blob; }))
      offer.identities.push_back(std::move(identity));
  };
  std::vector<Identity> files;
  if (!identity_file.empty()) {
    auto named = from_file(expand(identity_file, config, typed_host).value_or(identity_file), agent, offer);
    if (!named)
      return base::fail(Fault::auth, named.error().what,
                        named.error().hint.empty() ? "specify a private key with -i FILE or identityFile"
                                                   : named.error().hint);
    auto identity = std::move(*named);
    if (identity) add(std::move(*identity));
  }
  for (const auto& name : config.identity_files) {
    const auto path = expand(name, config, typed_host);
    if (!path)
      offer.left_out.push_back(fmt::format("key {}, whose name only OpenSSH expands", name));
    else if (auto identity = listed(*path, agent, offer))
      files.push_back(std::move(*identity));
  }
  for (const auto& path : config.certificate_files) offer.left_out.push_back("certificate " + path);
  if (!config.pkcs11_provider.empty()) offer.left_out.push_back("keys of " + config.pkcs11_provider);
  if (agent) {
    for (const auto& key : agent->keys())
      if (Identity* known = find(files, key.blob)) add(*known);
    for (const auto& key : agent->keys()) {
      if (config.identities_only) break;
      const std::string type(Reader(key.blob).string());
      if (served(type))
        add(from_agent(*agent, key));
      else
        offer.left_out.push_back(fmt::format("{} key of the agent", base::printable(type, 60)));
    }
  }
  for (auto& identity : files) add(std::move(identity));
  std::stable_partition(offer.identities.begin(), offer.identities.end(),
                        [&](const Identity& identity) { return identity.blob == preferred_; });
  return offer;
}

}  // namespace transport
