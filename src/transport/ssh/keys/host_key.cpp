#include "transport/ssh/keys/host_key.hpp"

#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"

#include "transport/ssh/config/tokens.hpp"
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

/// Characters of a pattern or a list: no key is stored for a name that contains one.
constexpr std::string_view unstorable = "!@?*#[]|'\"\\, \t\r\n";

/// The known_hosts files, the user's first. If gpuadm cannot separate their names, each text that may be a
/// name.
std::vector<std::string> known_hosts_files(const Config& config, const std::string& typed_host,
                                           const std::filesystem::path& instead) {
  std::vector<std::string> files;
  const auto add = [&](const std::vector<std::string>& names, Expansion expansion) {
    const std::size_t longest = config.unclear_files.empty() ? 1 : names.size();
    for (std::size_t from = 0; from < names.size(); ++from)
      for (std::size_t count = 1; count <= longest && from + count <= names.size(); ++count) {
        const std::string name = base::join(std::span(names).subspan(from, count), " ");
        files.push_back(expand(name, config, typed_host, expansion).value_or(name));
      }
  };
  if (instead.empty())
    add(config.user_known_hosts, Expansion::completed);
  else
    files.push_back(instead.string());
  add(config.global_known_hosts, Expansion::tilde);
  return files;
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
  if (bare_name_.find_first_of(unstorable) != std::string::npos && policy_ == spec::HostKeys::accept_new)
    policy_ = spec::HostKeys::strict;
  files_ = known_hosts_files(config, typed_host, session.options.known_hosts);
  session.ssh->known_hosts.read(files_);
  known_ = session.ssh->known_hosts.find(name_, files_);
  if (bare_name_ != name_) bare_ = session.ssh->known_hosts.find(bare_name_, files_);
  std::vector<std::string> types;
  for (const auto* entry : known_)
    if (entry->mark == Mark::none) types.push_back(entry->type);
  algorithms_ = algorithms_for(config, types);
}

bool HostKeyCheck::is_known() const {
  return !pinned_.empty() ||
         (config_.unclear_files.empty() && std::ranges::any_of(known_, [](const auto* entry) {
            return entry->mark == Mark::none || entry->mark == Mark::authority;
          }));
}

std::optional<std::string> HostKeyCheck::unserved() const {
  for (const auto& [name, value] : {std::pair{"KexAlgorithms", &algorithms_.key_exchange},
                                    {"HostKeyAlgorithms", &algorithms_.host_keys},
                                    {"Ciphers", &algorithms_.ciphers},
                                    {"MACs", &algorithms_.macs}})
    if (value->empty())
      return fmt::format("libssh2 {} supports none of the algorithms in {} of the ssh configuration",
                         ::libssh2_version(0), name);
  if (const std::string why = session_.ssh->known_hosts.unread(files_); !why.empty()) return why;
  if (!pinned_.empty()) return std::nullopt;
  if (!config_.known_hosts_command.empty()) return "the ssh configuration sets KnownHostsCommand for it";
  for (const Entries* entries : {&known_, &bare_})
    if (std::ranges::any_of(*entries, [](const auto* entry) { return entry->mark == Mark::authority; }))
      return "its host key is verified by a certificate authority";
  return no_usable_key();
}

/// Lines name the host, but none of them has a key that libssh2 can verify.
std::optional<std::string> HostKeyCheck::no_usable_key() const {
  const KnownHosts::Entry* damaged = nullptr;
  std::string types;
  for (const auto* entry : known_) {
    if (entry->mark == Mark::damaged && !damaged) damaged = entry;
    if (entry->mark != Mark::none) continue;
    if (can_verify(algorithms_, entry->type)) return std::nullopt;
    if (types.find(entry->type) == std::string::npos) types += (types.empty() ? "" : ", ") + entry->type;
  }
  if (types == "ssh-rsa")
    return fmt::format("only an RSA host key is known for it, which libssh2 {} cannot check",
                       ::libssh2_version(0));
  if (!types.empty())
    return fmt::format("only host keys of other types are known for it ({})", base::printable(types, 200));
  if (damaged)
    return fmt::format("{}:{} names it, but has no key that gpuadm can read", damaged->file, damaged->line);
  return std::nullopt;
}

Result<> HostKeyCheck::verify(const std::string& blob, const std::string& address) {
  const std::string type(Reader(blob).string());
  const std::string shown = fingerprint(blob);
  if (!pinned_.empty() || policy_ == spec::HostKeys::pinned) {
    TRY(pinned_is_not_revoked());
    return verify_pinned(type, shown);
  }
  // Another host of this run may have added a key for the same name meanwhile.
  if (known_.empty()) known_ = session_.ssh->known_hosts.find(name_, files_);
  TRY(is_not_revoked(blob, known_));
  TRY(is_not_revoked(blob, bare_));
  TRY(is_not_changed_at(address, blob));
  const auto same = [&](const KnownHosts::Entry* entry) {
    return entry->mark == Mark::none && entry->blob == blob;
  };
  const KnownHosts::Entry* other = nullptr;
  for (const auto* entry : known_) {
    if (entry->mark != Mark::none) continue;
    if (same(entry)) {
      if (entry->line == 0) session_.note_new_key(host_);
      return {};
    }
    if (!other || entry->type == type) other = entry;
  }
  if (other) return changed(*other, name_, type, shown);
  if (std::ranges::any_of(bare_, same)) return {};
  if (policy_ == spec::HostKeys::accept_new) return accept_new(type, blob);
  return base::fail(
      Fault::host_key,
      fmt::format("{}: the host key is not known, and {}: {} {}", host_, why_strict(), short_type(type),
                  shown),
      fmt::format(
          "compare it with `ssh-keygen -lf /etc/ssh/ssh_host_{}_key.pub` on the host, then: ssh-keyscan "
          "-t {} -p {} {} >> {}",
          short_type(type), short_type(type), port_, bare_name_,
          files_.empty() ? "~/.ssh/known_hosts" : files_[0]));
}

std::string HostKeyCheck::why_strict() const {
  if (policy_ == session_.options.host_keys) return "only known keys are accepted";
  if (bare_name_.find_first_of(unstorable) != std::string::npos)
    return "no key is stored for a name with such characters";
  return fmt::format("the ssh configuration accepts only known keys ({})",
                     config_.strict ? "StrictHostKeyChecking yes" : "UserKnownHostsFile none");
}

Result<> HostKeyCheck::is_not_revoked(const std::string& blob, const Entries& entries) const {
  for (const auto* entry : entries)
    if (entry->blob == blob && entry->mark == Mark::revoked)
      return base::fail(Fault::host_key, fmt::format("{}: the host key is revoked in {}:{} ({})", host_,
                                                     entry->file, entry->line, fingerprint(blob)));
  return {};
}

/// CheckHostIP: a key that is known for the address must be the same, except on this machine.
Result<> HostKeyCheck::is_not_changed_at(const std::string& address, const std::string& blob) const {
  if (!config_.check_ip || address.empty() || address == config_.host_name || address == "::1" ||
      address.starts_with("127."))
    return {};
  const std::string name = known_name(address, port_);
  const auto entries = session_.ssh->known_hosts.find(name, files_);
  TRY(is_not_revoked(blob, entries));
  const KnownHosts::Entry* other = nullptr;
  for (const auto* entry : entries) {
    if (entry->mark != Mark::none) continue;
    if (entry->blob == blob) return {};
    other = entry;
  }
  if (!other) return {};
  return changed(*other, name, std::string(Reader(blob).string()), fingerprint(blob));
}

Result<> HostKeyCheck::pinned_is_not_revoked() const {
  for (const Entries* entries : {&known_, &bare_})
    for (const auto* entry : *entries)
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

std::unexpected<base::Error> HostKeyCheck::changed(const KnownHosts::Entry& entry, const std::string& name,
                                                   const std::string& type, const std::string& shown) const {
  return base::fail(
      Fault::host_key,
      fmt::format("{}: the host key has changed: {}:{} has {} {}, the host has {} {}", host_, entry.file,
                  entry.line, short_type(entry.type), fingerprint(entry.blob), short_type(type), shown),
      fmt::format("possible man-in-the-middle attack; if the host was reinstalled: ssh-keygen -f {} -R {}",
                  base::quote(entry.file), base::quote(name)));
}

}  // namespace transport
