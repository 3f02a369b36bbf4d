#include "dns.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace dns {
namespace {

constexpr std::size_t header_size = 12, longest_label = 63, longest_name = 253;
constexpr std::size_t most_servers = 3, most_domains = 32;  // resolv.conf(5); Kubernetes allows 32 domains

void put16(std::vector<std::uint8_t>& out, unsigned value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}

/// Reads a message from front to back. Past its end every value is 0, and `ok` is false.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool ok = true;

  unsigned byte() {
    if (at_ >= bytes_.size()) ok = false;
    return ok ? bytes_[at_++] : 0;
  }
  unsigned two() {
    const unsigned high = byte();
    return high << 8 | byte();
  }
  std::span<const std::uint8_t> take(std::size_t size) {
    if (size > bytes_.size() - at_) ok = false;
    if (!ok) return {};
    at_ += size;
    return bytes_.subspan(at_ - size, size);
  }
  /// A pointer ends a name (RFC 1035, 4.1.4); where it points to does not matter here.
  void skip_name() {
    while (ok) {
      const unsigned size = byte();
      if (size == 0) return;
      if ((size & 0xc0) == 0xc0) return void(byte());
      if (size > longest_label) ok = false;
      take(size);
    }
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

std::string text_of(std::span<const std::uint8_t> address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text, sizeof text);
  return text;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (const char c : line)
    if (c == ' ' || c == '\t' || c == '\r')
      words.emplace_back();
    else if (words.empty())
      words.emplace_back(1, c);
    else
      words.back() += c;
  std::erase(words, "");
  return words;
}

}  // namespace

std::vector<std::uint8_t> query(std::uint16_t id, std::string_view name, Type type) {
  while (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty() || name.size() > longest_name) return {};
  std::vector<std::uint8_t> out;
  put16(out, id);
  put16(out, 0x0100);  // recursion desired
  for (const unsigned count : {1U, 0U, 0U, 0U}) put16(out, count);
  while (!name.empty()) {
    const std::string_view label = name.substr(0, name.find('.'));
    if (label.empty() || label.size() > longest_label) return {};
    out.push_back(static_cast<std::uint8_t>(label.size()));
    out.insert(out.end(), label.begin(), label.end());
    name.remove_prefix(std::min(label.size() + 1, name.size()));
  }
  out.push_back(0);
  put16(out, static_cast<unsigned>(type));
  put16(out, 1);  // the Internet
  return out;
}

std::optional<Answer> parse(std::span<const std::uint8_t> message, std::uint16_t id, Type type) {
  Reader reader(message);
  const unsigned got = reader.two(), flags = reader.two();
  const unsigned questions = reader.two(), answers = reader.two();
  reader.take(4);  // authorities, additional records
  if (!reader.ok || got != id || (flags & 0x8000) == 0 || questions > 1) return std::nullopt;
  Answer answer{static_cast<int>(flags & 0xf), (flags & 0x0200) != 0, {}};
  if (questions == 1) {
    reader.skip_name();
    if (reader.two() != static_cast<unsigned>(type) || !reader.ok) return std::nullopt;
    reader.two();
  }
  for (unsigned i = 0; i < answers && reader.ok; ++i) {
    reader.skip_name();
    const unsigned record = reader.two();
    reader.take(6);  // class, time to live
    const auto data = reader.take(reader.two());
    const std::size_t size = type == Type::a ? 4 : 16;
    if (reader.ok && record == static_cast<unsigned>(type) && data.size() == size)
      answer.addresses.push_back(text_of(data));
  }
  if (!reader.ok && !answer.truncated) return std::nullopt;
  return answer;
}

Config read_config(std::string_view text) {
  Config config;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::vector<std::string> words = words_of(line);
    if (words.size() < 2) continue;
    const std::string key = words.front();
    words.erase(words.begin());
    if (key == "nameserver" && config.servers.size() < most_servers) {
      config.servers.push_back(words.front());
    } else if (key == "search") {  // the last line counts
      words.resize(std::min(words.size(), most_domains));
      config.search = std::move(words);
    } else if (key == "options") {
      for (const std::string& word : words)
        if (word.starts_with("ndots:")) {
          int dots = 0;
          std::from_chars(word.data() + 6, word.data() + word.size(), dots);
          config.ndots = std::clamp(dots, 0, 15);
        }
    }
  }
  return config;
}

std::vector<std::string> candidates(std::string_view name, const Config& config) {
  if (name.ends_with('.')) return {std::string(name.substr(0, name.size() - 1))};
  std::vector<std::string> names;
  for (const std::string& domain : config.search) names.push_back(std::string(name) + "." + domain);
  const bool as_is_first = std::ranges::count(name, '.') >= config.ndots;
  names.insert(as_is_first ? names.begin() : names.end(), std::string(name));
  return names;
}

}  // namespace dns
