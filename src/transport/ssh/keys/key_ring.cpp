#include "transport/ssh/keys/key_ring.hpp"

#include "gpuadm/base/text.hpp"

#include "transport/ssh/keys/bytes.hpp"

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
    socket = expand(socket, config, typed_host);
  }
  if (socket.empty()) return nullptr;
  return &agents_.try_emplace(socket, socket).first->second;
}

base::Result<KeyRing::Offer> KeyRing::offer(const Config& config, const std::string& typed_host,
                                            const std::string& identity_file) {
  Offer offer;
  Agent* agent = agent_for(config, typed_host);
  const auto add = [&](Identity identity) {
    const std::string type(Reader(identity.blob).string());
    const auto& allowed = config.key_algorithms;
    if (!allowed.empty() && std::ranges::find(allowed, type) == allowed.end()) return;
    if (type.starts_with("rsa-") && config.least_rsa_bits > Config::usual_rsa_bits) {
      offer.left_out.push_back(fmt::format("{} (RequiredRSASize {})", identity.label, config.least_rsa_bits));
      return;
    }
    if (std::none_of(offer.identities.begin(), offer.identities.end(),
                     [&](const Identity& other) { return other.blob == identity.blob; }))
      offer.identities.push_back(std::move(identity));
  };
  std::vector<Identity> files;
  if (!identity_file.empty()) {
    auto named = from_file(expand(identity_file, config, typed_host), agent, offer);
    if (!named)
      return base::fail(Fault::auth, named.error().what,
                        named.error().hint.empty() ? "specify a private key with -i FILE or identityFile"
                                                   : named.error().hint);
    auto identity = std::move(*named);
    if (identity) add(std::move(*identity));
  }
  for (const auto& name : config.identity_files) {
    const std::string path = expand(name, config, typed_host);
    if (!std::filesystem::exists(path)) continue;
    auto identity = from_file(path, agent, offer);
    if (identity && *identity) files.push_back(std::move(**identity));
    if (!identity)
      session_.notify_once(identity.error().what +
                           (identity.error().hint.empty() ? "" : ": " + identity.error().hint));
    if (std::filesystem::exists(path + "-cert.pub"))
      offer.left_out.push_back("certificate " + path + "-cert.pub");
  }
  for (const auto& path : config.certificate_files) offer.left_out.push_back("certificate " + path);
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
