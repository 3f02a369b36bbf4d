#include "transport/ssh/keys/host_key.hpp"

#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"

#include "transport/ssh/keys/bytes.hpp"
#include "transport/ssh/state.hpp"

#include <fmt/format.h>
#include <libssh2.h>

#include <algorithm>

namespace transport {

namespace {
using base::Fault;
using Mark = KnownHosts::Mark;

std::string short_type(std::string_view type) {
  if (type.starts_with("ssh-")) type.remove_prefix(4);
  if (type.starts_with("ecdsa-")) return "ecdsa";
  return std::string(type);
}
}  // namespace

HostKeyCheck::HostKeyCheck(Session& session, std::string host, const Config& config,
                           const std::string& typed_host, std::string pinned)
    : session_(session),
      config_(config),
      host_(std::move(host)),
      pinned_(std::move(pinned)),
      policy_(session.options.host_keys),
      port_(config.port) {
  const bool no_user_file = session.options.known_hosts.empty() && config.user_known_hosts.empty();
  if (policy_ == spec::HostKeys::accept_new && (config.strict || no_user_file))
    policy_ = spec::HostKeys::strict;
  bare_name_ = config.key_alias.empty() ? config.host_name : config.key_alias;
  name_ = config.key_alias.empty() ? known_name(config.host_name, config.port) : config.key_alias;
  hash_ = config.hash_known_hosts ? KnownHosts::Hash::yes : KnownHosts::Hash::no;
  if (!session.options.known_hosts.empty()) {
    files_ = {session.options.known_hosts.string()};
  } else {
    for (const auto* files : {&config.user_known_hosts, &config.global_known_hosts})
      for (const auto& file : *files) files_.push_back(expand(file, config, typed_host));
  }
  session.ssh->known_hosts.read(files_);
  known_ = session.ssh->known_hosts.find(name_, files_);
  std::vector<std::string> types;
  for (const auto* entry : known_)
    if (entry->mark == Mark::none) types.push_back(entry->type);
  algorithms_ = algorithms_for(config, types);
}

bool HostKeyCheck::is_known() const {
  return !pinned_.empty() ||
         std::ranges::any_of(known_, [](const auto* entry) { return entry->mark != Mark::revoked; });
}

std::optional<std::string> HostKeyCheck::unserved() const {
  if (!config_.revoked_host_keys.empty())
    return fmt::format("the ssh configuration sets RevokedHostKeys {}", config_.revoked_host_keys);
  if (pinned_.empty() && !config_.known_hosts_command.empty())
    return "the ssh configuration sets KnownHostsCommand for it";
  for (const auto& [name, value] :
       {std::pair{"BindAddress", &config_.bind_address}, {"BindInterface", &config_.bind_interface}})
    if (!value->empty()) return fmt::format("the ssh configuration sets {} {}", name, *value);
  for (const auto& [name, value] : {std::pair{"KexAlgorithms", &algorithms_.key_exchange},
                                    {"HostKeyAlgorithms", &algorithms_.host_keys},
                                    {"Ciphers", &algorithms_.ciphers},
                                    {"MACs", &algorithms_.macs}})
    if (value->empty())
      return fmt::format("libssh2 {} supports none of the algorithms in {} of the ssh configuration",
                         ::libssh2_version(0), name);
  if (!pinned_.empty() || known_.empty()) return std::nullopt;
  const auto all = [&](auto predicate) { return std::all_of(known_.begin(), known_.end(), predicate); };
  if (all([](const auto* entry) { return entry->mark == Mark::authority; }))
    return "its host key is verified by a certificate authority";
  if (::libssh2_version(0x010b00) == nullptr &&
      all([](const auto* entry) { return entry->type == "ssh-rsa"; }))
    return fmt::format("only an RSA host key is known for it, which libssh2 {} cannot check",
                       ::libssh2_version(0));
  return std::nullopt;
}

Result<> HostKeyCheck::verify(const std::string& blob) {
  const std::string type(Reader(blob).string());
  const std::string shown = fingerprint(blob);
  if (!pinned_.empty() || policy_ == spec::HostKeys::pinned) {
    TRY(pinned_is_not_revoked());
    return verify_pinned(type, shown);
  }
  // Another host of this run may have added a key for the same name meanwhile.
  if (known_.empty()) known_ = session_.ssh->known_hosts.find(name_, files_);
  const auto same = [&](const KnownHosts::Entry* entry) { return entry->blob == blob; };
  for (const auto* entry : known_)
    if (same(entry) && entry->mark == Mark::revoked)
      return base::fail(Fault::host_key, fmt::format("{}: the host key is revoked in {}:{} ({})", host_,
                                                     entry->file, entry->line, shown));
  const KnownHosts::Entry* other = nullptr;
  for (const auto* entry : known_) {
    if (entry->mark != Mark::none) continue;
    if (same(entry)) {
      if (entry->line == 0) session_.note_new_key(host_);
      return {};
    }
    if (!other || entry->type == type) other = entry;
  }
  if (other) return changed(*other, type, shown);
  if (name_ != bare_name_) {
    const auto bare = session_.ssh->known_hosts.find(bare_name_, files_);
    if (std::any_of(bare.begin(), bare.end(),
                    [&](const auto* entry) { return same(entry) && entry->mark == Mark::none; }))
      return {};
  }
  if (policy_ == spec::HostKeys::accept_new) return accept_new(type, blob);
  return base::fail(
      Fault::host_key,
      fmt::format("{}: the host key is not known, and {}: {} {}", host_,
                  policy_ == session_.options.host_keys
                      ? std::string("only known keys are accepted")
                      : fmt::format("the ssh configuration accepts only known keys ({})",
                                    config_.strict ? "StrictHostKeyChecking yes" : "UserKnownHostsFile none"),
                  short_type(type), shown),
      fmt::format(
          "compare it with `ssh-keygen -lf /etc/ssh/ssh_host_{}_key.pub` on the host, then: ssh-keyscan "
          "-t {} -p {} {} >> {}",
          short_type(type), short_type(type), port_, bare_name_,
          files_.empty() ? "~/.ssh/known_hosts" : files_[0]));
}

Result<> HostKeyCheck::pinned_is_not_revoked() const {
  for (const auto* entry : known_)
    if (entry->mark == Mark::revoked && is_pinned(fingerprint(entry->blob)))
      return base::fail(Fault::host_key, fmt::format("{}: the pinned key is revoked in {}:{}", host_,
                                                     entry->file, entry->line));
  return {};
}

bool HostKeyCheck::is_pinned(const std::string& shown) const {
  std::string_view wanted = pinned_;
  while (wanted.ends_with('=')) wanted.remove_suffix(1);
  return wanted == shown || "SHA256:" + std::string(wanted) == shown;
}

Result<> HostKeyCheck::verify_pinned(const std::string& type, const std::string& shown) const {
  if (is_pinned(shown)) return {};
  if (pinned_.empty())
    return base::fail(
        Fault::host_key,
        fmt::format("{}: no host key is pinned; the host has {} {}", host_, short_type(type), shown),
        fmt::format("verify it on the host, then add to its entry in the cluster file: hostKey: \"{}\"",
                    shown));
  return base::fail(Fault::host_key,
                    fmt::format("{}: the host key is {} {}, but {} is pinned", host_, short_type(type), shown,
                                base::printable(pinned_, 100)),
                    fmt::format("if the host was reinstalled, pin its new key: hostKey: \"{}\"; otherwise, "
                                "possible man-in-the-middle attack",
                                shown));
}

Result<> HostKeyCheck::accept_new(const std::string& type, const std::string& blob) {
  session_.note_new_key(host_);
  const std::string file = files_.empty() ? "" : files_[0];
  const auto stored = session_.ssh->known_hosts.add(name_, type, blob, file, hash_);
  session_.notify(host_,
                  fmt::format("new host key of {}: {} {}{}", name_, short_type(type), fingerprint(blob),
                              stored ? fmt::format(", added to {}", file)
                                     : fmt::format("; not stored: {}", stored.error().what)));
  return {};
}

std::unexpected<base::Error> HostKeyCheck::changed(const KnownHosts::Entry& entry, const std::string& type,
                                                   const std::string& shown) const {
  return base::fail(
      Fault::host_key,
      fmt::format("{}: the host key has changed: {}:{} has {} {}, the host has {} {}", host_, entry.file,
                  entry.line, short_type(entry.type), fingerprint(entry.blob), short_type(type), shown),
      fmt::format("possible man-in-the-middle attack; if the host was reinstalled: ssh-keygen -f {} -R {}",
                  base::quote(entry.file), base::quote(name_)));
}

}  // namespace transport
