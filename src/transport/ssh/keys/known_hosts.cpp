#include "transport/ssh/keys/known_hosts.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "transport/descriptor.hpp"
#include "transport/ssh/config/host_patterns.hpp"
#include "transport/ssh/keys/bytes.hpp"
#include "transport/ssh/keys/public_key.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace transport {

namespace {
std::string hmac_sha1(const std::string& salt, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  ::HMAC(EVP_sha1(), salt.data(), static_cast<int>(salt.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return {reinterpret_cast<char*>(digest), size};
}

bool is_pattern(std::string_view name) {
  return name.find_first_of("*?!") != std::string_view::npos;
}

/// Whether a line's name of a type stands for a key of that type.
bool names_type(std::string_view name, std::string_view type) {
  return name == type || (type == "ssh-rsa" && (name == "rsa-sha2-256" || name == "rsa-sha2-512"));
}

std::optional<std::string> exact_base64(std::string_view text) {
  std::string bytes = unbase64(text);
  if (base::base64(bytes) != text) return std::nullopt;
  return bytes;
}

/// "|1|SALT|HASH". Whether it is valid.
bool read_hash(std::string_view name, KnownHosts::Entry& entry) {
  constexpr std::size_t salt_size = 20;
  const auto parts = base::split(name, '|');
  if (parts.size() != 4 || parts[1] != "1") return false;
  const auto salt = exact_base64(parts[2]);
  if (!salt || salt->size() != salt_size) return false;
  entry.salt = *salt;
  entry.hash = parts[3];
  return true;
}

/// As OpenSSH's hostfile.c reads it.
std::optional<KnownHosts::Entry> read_line(std::string_view line) {
  line = line.substr(0, line.find('\0'));
  auto words = base::words(line);
  if (words.empty() || words[0].starts_with('#')) return std::nullopt;
  KnownHosts::Entry entry;
  if (words[0] == "@revoked" || words[0] == "@cert-authority") {
    entry.mark = words[0] == "@revoked" ? KnownHosts::Mark::revoked : KnownHosts::Mark::authority;
    words.erase(words.begin());
  }
  if (words.empty() || words[0].starts_with('@')) return std::nullopt;
  if (words[0].starts_with('|')) {
    if (!read_hash(words[0], entry)) return std::nullopt;
  } else {
    for (auto name : base::split(words[0], ',')) entry.names.push_back(base::lower(name));
  }
  const auto blob = words.size() < 3 ? std::nullopt : exact_base64(words[2]);
  if (blob && is_public_key(*blob) && names_type(words[1], Reader(*blob).string())) {
    entry.type = Reader(*blob).string();
    entry.blob = *blob;
    return entry;
  }
  if (entry.mark != KnownHosts::Mark::none) return std::nullopt;
  entry.mark = KnownHosts::Mark::damaged;
  return entry;
}

base::Result<> append(const std::string& file, const std::string& line) {
  std::error_code ignored;
  const auto folder = std::filesystem::path(file).parent_path();
  if (std::filesystem::create_directories(folder, ignored))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ignored);
  const Descriptor out(::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  char last = '\n';
  struct stat about{};
  if (out.is_open() && ::fstat(out.get(), &about) == 0 && about.st_size > 0) [[maybe_unused]]
    const ssize_t got = ::pread(out.get(), &last, 1, about.st_size - 1);
  const std::string text = (last == '\n' ? "" : "\n") + line + "\n";
  if (!out.is_open() || ::write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return base::fail(base::Fault::spec,
                      fmt::format("cannot add the key to {}: {}", file, std::strerror(errno)));
  return {};
}
}  // namespace

void KnownHosts::keep(Entry entry) {
  entries_.push_back(std::make_unique<Entry>(std::move(entry)));
  const Entry* kept = entries_.back().get();
  if (kept->names.empty() || std::any_of(kept->names.begin(), kept->names.end(), is_pattern)) {
    searched_.push_back(kept);
    return;
  }
  for (const auto& name : kept->names) plain_[name].push_back(kept);
}

void KnownHosts::read(const std::vector<std::string>& files) {
  for (const auto& file : files) {
    const auto [at, is_new] = read_.try_emplace(file);
    if (!is_new) continue;
    const auto text = base::read_file(file);
    std::error_code missing;
    if (!text && std::filesystem::exists(std::filesystem::status(file, missing)))
      at->second = text.error().what;
    if (!text) continue;
    int number = 0;
    for (auto line : base::lines(*text)) {
      ++number;
      auto entry = read_line(line);
      if (!entry) continue;
      entry->file = file;
      entry->line = number;
      keep(std::move(*entry));
    }
  }
}

std::string KnownHosts::unread(const std::vector<std::string>& files) const {
  for (const auto& file : files)
    if (const auto found = read_.find(file); found != read_.end() && !found->second.empty())
      return found->second;
  return {};
}

std::vector<const KnownHosts::Entry*> KnownHosts::find(const std::string& name,
                                                       const std::vector<std::string>& files) const {
  std::vector<const Entry*> found;
  const auto take = [&](const Entry* entry) {
    if (std::find(files.begin(), files.end(), entry->file) != files.end()) found.push_back(entry);
  };
  const std::string lower = base::lower(name);
  if (const auto plain = plain_.find(lower); plain != plain_.end())
    for (const Entry* entry : plain->second) take(entry);
  for (const Entry* entry : searched_)
    if (entry->names.empty() ? base::base64(hmac_sha1(entry->salt, lower)) == entry->hash
                             : matches_list(lower, entry->names))
      take(entry);
  return found;
}

base::Result<> KnownHosts::add(const std::string& name, const std::string& type, const std::string& blob,
                               const std::string& file, Hash hash) {
  Entry entry;
  entry.file = file;
  entry.type = type;
  entry.blob = blob;
  entry.names = {base::lower(name)};
  keep(std::move(entry));
  std::string written = base::lower(name);
  if (hash == Hash::yes) {
    std::string salt(20, '\0');
    if (::getrandom(salt.data(), salt.size(), 0) < 0)
      return base::fail(base::Fault::bug, "no random numbers");
    written = fmt::format("|1|{}|{}", base::base64(salt), base::base64(hmac_sha1(salt, written)));
  }
  return append(file, fmt::format("{} {} {}", written, type, base::base64(blob)));
}

std::string known_name(const std::string& host, std::uint16_t port) {
  return port == 22 ? host : fmt::format("[{}]:{}", host, port);
}

}  // namespace transport
