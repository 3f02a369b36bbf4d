#pragma once

#include "transport/session.hpp"
#include "transport/ssh/config/config.hpp"
#include "transport/ssh/keys/agent.hpp"
#include "transport/ssh/keys/key_file.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transport {

/// A key for logins.
struct Identity {
  std::string blob;   ///< as offered to the server
  std::string label;  ///< "ssh-ed25519 /home/me/.ssh/id_ed25519"
  std::function<base::Result<std::string>(std::string_view data)> sign;
};

/// The operator's keys: each file is read, each passphrase prompted for and each agent listed once per run.
class KeyRing {
 public:
  explicit KeyRing(Session& session) : session_(session) {}

  struct Offer {
    std::vector<Identity> identities;   ///< in the order of attempts
    std::vector<std::string> left_out;  ///< keys that only OpenSSH supports: "hardware-backed key …"
  };
  /// The keys for one host, in OpenSSH's order: those of the agent that the configuration lists, the agent's
  /// others, files. The endpoint's `identity_file`, if any, is first; Fault::spec if it cannot be used.
  [[nodiscard]] base::Result<Offer> offer(const Config& config, const std::string& typed_host,
                                          const std::string& identity_file);
  /// This key has logged in to a host: it is offered first from now on.
  void prefer(const std::string& blob) { preferred_ = blob; }

 private:
  struct Slot {
    std::optional<base::Result<KeyFile>> file;
    PrivateKey key;
    std::optional<base::Error> refused;
  };
  [[nodiscard]] Slot& slot(const std::string& path);
  [[nodiscard]] base::Result<EVP_PKEY*> open(Slot& slot);
  [[nodiscard]] base::Result<std::optional<Identity>> from_file(const std::string& path, Agent* agent,
                                                                Offer& offer);
  [[nodiscard]] std::optional<Identity> listed(const std::string& path, Agent* agent, Offer& offer);
  [[nodiscard]] static bool may_offer(const Identity& identity, const Config& config, Offer& offer);
  [[nodiscard]] Identity from_agent(Agent& agent, const Agent::Key& key);
  [[nodiscard]] Agent* agent_for(const Config& config, const std::string& typed_host);

  Session& session_;
  std::map<std::string, Slot> files_;
  std::map<std::string, Agent> agents_;
  std::string preferred_;
};

}  // namespace transport
