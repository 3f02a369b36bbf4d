#include "gpuadm/facts/redact.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "facts/secrets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace facts {

namespace {

bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_name(char c) {
  return is_word(c) || c == '-' || c == '.';
}

/// Words that a host may well be called by, and that mean something else in the text.
constexpr std::array common = std::to_array<std::string_view>(
    {"localhost",  "localdomain", "root",   "nvidia",        "gpu",    "node",  "host",    "kubelet",
     "kubernetes", "containerd",  "docker", "debian",        "ubuntu", "linux", "default", "none",
     "system",     "local",       "master", "control-plane", "worker", "admin"});

/// What playbooks/cluster.sh says of nodes; in a name of Kubernetes every letter is small, unlike in a kind.
bool is_table(std::string_view section) {
  return section == "nodes" || section == "leases" || section == "pods" || section == "events" ||
         section == "resourceslices";
}

bool is_ambiguous(std::string_view name) {
  return name.size() < 3 || std::ranges::find(common, name) != common.end();
}

/// How many leading bits of an address say what kind it is, and stay; 32 and more: all of it.
int kept_bits(const base::Cidr& cidr) {
  const auto& a = cidr.address;
  if (cidr.v6) {
    const bool zero = std::all_of(a.begin(), a.begin() + 15, [](std::uint8_t byte) { return byte == 0; });
    return zero || a[0] == 0xff ? 128 : 16;
  }
  if (a[0] == 0 || a[0] == 127 || a[0] >= 224 || (a[0] == 169 && a[1] == 254)) return 32;
  if (a[0] == 10) return 8;
  if (a[0] == 172 && (a[1] & 0xf0) == 16) return 12;
  if (a[0] == 100 && (a[1] & 0xc0) == 64) return 10;
  // So that nothing public becomes private.
  return a[0] == 192 || a[0] == 172 || a[0] == 100 || a[0] == 169 ? 16 : 8;
}

/// The characters of a kind from `at` on.
std::string_view run(std::string_view text, std::size_t at, bool (*is)(char)) {
  std::size_t end = at;
  while (end < text.size() && is(text[end])) ++end;
  return text.substr(at, end - at);
}

/// Whether a text has the form of a pattern in which x stands for a hex digit.
bool has_form(std::string_view text, std::string_view form) {
  return text.size() == form.size() && std::ranges::equal(text, form, [](char have, char want) {
           return want == 'x' ? is_hex(have) : have == want;
         });
}

constexpr std::string_view uuid_form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
constexpr std::string_view mac_form = "xx:xx:xx:xx:xx:xx";

}  // namespace

/// Where in a line the reading is, and what was written so far.
struct Redactor::Place {
  std::string_view text;
  bool names = false;  ///< it is known to hold names
  bool cells = false;  ///< a whole cell of it may be a name
  std::size_t at = 0;
  std::string out;
  /// Whether the name stands here alone, as a column of a table or as a text in JSON.
  [[nodiscard]] bool is_cell(std::string_view name) const {
    const std::string_view rest = text.substr(at);
    const char before = at > 0 ? text[at - 1] : '\t',
               after = rest.size() > name.size() ? rest[name.size()] : '\t';
    const bool begins = before == '\t' || before == '"' || at == 2;
    return rest.starts_with(name) && begins && (after == '\t' || after == '"');
  }
  void replace(std::size_t length, std::string_view by) {
    out += by;
    at += length;
  }
};

void Redactor::learn(std::string_view name, std::string_view kind) {
  const std::string key = base::lower(name);
  if (key.empty() || key == "localhost" || base::Cidr::parse(key) || names_.contains(key)) return;
  names_.emplace(key, fmt::format("{}{}", kind, ++counts_[std::string(kind)]));
}

void Redactor::learn_host(std::string_view name) {
  learn(name.substr(0, name.find('.')), "host");
  if (const auto dot = name.find('.'); dot != name.npos) learn(name.substr(dot + 1), "domain");
}

void Redactor::learn_from(std::string_view probe) {
  std::string section;
  for (const std::string_view line : base::lines(probe)) {
    if (line.starts_with("=== ")) section = line.substr(4);
    if (!line.starts_with("| ")) continue;
    const std::string_view text = line.substr(2);
    if (section == "/proc/sys/kernel/hostname") learn_host(text);
    if (section == "people") learn(text, "user");
    if (section == "nodes") learn_host(text.substr(0, text.find('\t')));
    if (section.ends_with("resolv.conf") && (text.starts_with("search ") || text.starts_with("domain "))) {
      const auto words = base::words(text);
      for (const std::string_view word : std::span(words).subspan(1)) learn(word, "domain");
    }
    for (auto at = text.find("/home/"); at != text.npos; at = text.find("/home/", at + 6))
      learn(run(text, at + 6, is_name), "user");
  }
}

std::string Redactor::name(std::string_view name) {
  if (base::Cidr::parse(name)) return address(name);
  const auto known = names_.find(base::lower(name));
  return known == names_.end() ? std::string(name) : known->second;
}

/// Other hex digits in the same places; zeros and ones alone ("not set") stay.
std::string Redactor::digits(std::string_view like) {
  const auto filler = [&](char c) {
    return std::ranges::all_of(like, [&](char have) { return !is_hex(have) || have == c; });
  };
  if (filler('0') || filler('f') || filler('F')) return std::string(like);
  ++ids_;
  const std::string hash = base::sha256(salt_ + base::lower(like)) + base::sha256(base::lower(like) + salt_);
  std::string text(like);
  for (std::size_t i = 0; i < text.size(); ++i)
    if (is_hex(text[i])) text[i] = hash[i % hash.size()];
  return text;
}

/// Each bit is turned or not by what stands before it, so addresses that share a network go on sharing one.
std::string Redactor::address(std::string_view text) {
  if (const auto known = seen_.find(text); known != seen_.end()) return known->second;
  const auto slash = text.find('/');
  auto cidr = *base::Cidr::parse(text);
  const bool network = slash != text.npos && cidr.is_network();
  const int width = cidr.v6 ? 128 : 32;
  const auto original = cidr.address;
  std::string before(salt_);
  for (int bit = 0; bit < width; ++bit) {
    const auto byte = static_cast<std::size_t>(bit) / 8;
    const auto mask = static_cast<std::uint8_t>(0x80 >> (bit % 8));
    const bool set = (original[byte] & mask) != 0;
    const bool host_bit = network && bit >= cidr.prefix;
    if (bit >= kept_bits(base::Cidr{cidr.v6, original, width}) && !host_bit && base::sha256(before)[0] >= '8')
      cidr.address[byte] ^= mask;
    before += set ? '1' : '0';
  }
  std::string result = cidr.text();
  if (slash == text.npos) result = result.substr(0, result.find('/'));
  return seen_.emplace(text, result).first->second;
}

bool Redactor::take_number(Place& place) {
  const std::string_view uuid = place.text.substr(place.at, uuid_form.size());
  if (has_form(uuid, uuid_form)) {
    place.replace(uuid.size(), digits(uuid));
    return true;
  }
  const std::string_view mac = place.text.substr(place.at, mac_form.size());
  const std::string_view number =
      run(place.text, place.at, [](char c) { return is_hex(c) || c == ':' || c == '.'; });
  if (has_form(mac, mac_form) && number.size() == mac.size()) {
    const bool broadcast = base::lower(mac) == "ff:ff:ff:ff:ff:ff";
    place.replace(mac.size(),
                  broadcast ? std::string(mac) : std::string(mac.substr(0, 9)) + digits(mac).substr(9));
    return true;
  }
  const std::string_view hex = run(place.text, place.at, is_hex);
  if ((hex.size() == 32 || hex.size() == 64) && !place.text.substr(0, place.at).ends_with("sha256:")) {
    place.replace(hex.size(), digits(hex));
    return true;
  }
  // An address of /proc/net/tcp; 0100007F is 127.0.0.1.
  if (hex.size() == 8 && hex != "0100007F" && place.text.substr(place.at + 8).starts_with(':')) {
    place.replace(hex.size(), digits(hex));
    return true;
  }
  std::string_view found = number;
  while (!found.empty() && (found.ends_with('.') || (found.ends_with(':') && !found.ends_with("::"))))
    found.remove_suffix(1);
  const bool dotted = std::ranges::count(found, '.') == 3 && found.find(':') == found.npos;
  const auto colon = found.find(':');
  if (!dotted && colon != found.npos && std::ranges::count(found.substr(0, colon), '.') == 3)
    found = found.substr(0, colon);  // 192.0.2.1:6443
  if (place.at > 1 && place.text[place.at - 1] == '.' && is_hex(place.text[place.at - 2])) return false;
  if (std::ranges::count(found, '.') != 3 && std::ranges::count(found, ':') < 2) return false;
  if (!base::Cidr::parse(found)) return false;
  const std::string_view rest = place.text.substr(place.at + found.size());
  if (!rest.empty() && is_word(rest[0])) return false;
  std::string_view whole = found;
  if (rest.starts_with('/')) {
    const auto prefix = run(rest, 1, [](char c) { return c >= '0' && c <= '9'; });
    whole = place.text.substr(place.at, found.size() + 1 + prefix.size());
    if (prefix.empty() || !base::Cidr::parse(whole)) whole = found;
  }
  place.replace(whole.size(), address(whole));
  return true;
}

std::string_view Redactor::secret() {
  ++secrets_;
  return "***";
}

bool Redactor::take_word(Place& place) {
  const std::string_view word = run(place.text, place.at, is_name);
  if (word.empty()) return false;
  // The longest learned name that ends where a part of the word ends.
  for (std::size_t end = word.size(); end > 0; --end) {
    if (end < word.size() && word[end] != '.' && word[end] != '-') continue;
    const auto known = names_.find(base::lower(word.substr(0, end)));
    if (known == names_.end()) continue;
    if (is_ambiguous(known->first) && !place.names && !(place.cells && place.is_cell(known->first))) continue;
    used_.insert(known->first);
    place.replace(end, known->second);
    return true;
  }
  // kubeadm's bootstrap token, and a JSON web token.
  if (word.size() == 23 && word[6] == '.' && std::ranges::all_of(word, [](char c) {
        return c == '.' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      })) {
    place.replace(word.size(), secret());
    return true;
  }
  if (word.starts_with("eyJ") && word.size() > 40) {
    place.replace(word.size(), secret());
    return true;
  }
  return false;
}

namespace {

/// `<serial>1650</serial>` of nvidia-smi's XML, and `Serial Number: 1650`.
std::string_view serial_in(std::string_view text) {
  const std::string low = base::lower(text);
  const auto at = low.find("serial");
  if (at == low.npos) return {};
  const auto from = text.find_first_of(">:", at);
  if (from == text.npos) return {};
  const std::string_view value = base::trim(text.substr(from + 1, text.find('<', from) - from - 1));
  return value == "N/A" || value.size() < 4 ? std::string_view() : value;
}

}  // namespace

std::string Redactor::line(std::string_view text, std::string_view section) {
  std::string plain = without_secrets(text, secrets_);
  if (const std::string_view serial = serial_in(plain); !serial.empty()) plain = starred(plain, serial);
  const bool names = section == "/proc/sys/kernel/hostname" || section == "resolves";
  Place place{plain, names && plain.starts_with("| "), is_table(section), 0, {}};
  while (place.at < plain.size()) {
    const bool begins = begins_word(plain, place.at);
    if (begins && (take_number(place) || take_word(place))) continue;
    place.out += plain[place.at++];
  }
  return place.out;
}

std::string Redactor::operator()(std::string_view text) {
  std::string all;
  bool key = false;
  std::string_view section;
  for (const std::string_view one : base::lines(text)) {
    if (one.starts_with("=== ")) {
      section = one.substr(4);
      key = false;
    }
    if (section == "/proc/net/route" || section == "/proc/net/fib_trie") continue;
    const bool ends = one.find("-----END ") != one.npos;
    if (one.find("-----BEGIN ") != one.npos) key = true;
    if (!key) all += line(one, section) + "\n";
    if (key && ends) all += std::string(one.starts_with("| ") ? "| " : "") + std::string(secret()) + "\n";
    if (ends) key = false;
  }
  return all;
}

Replaced Redactor::replaced() const {
  const auto changed =
      std::ranges::count_if(seen_, [](const auto& pair) { return pair.first != pair.second; });
  return {used_.size(), static_cast<std::size_t>(changed), ids_, secrets_};
}

}  // namespace facts
