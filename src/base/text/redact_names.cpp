#include "base/text/redact_names.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

namespace base {

namespace {

/// The words of a setting's name in lower case: of "AWS_SECRET_ACCESS_KEY", "client-key-data" and
/// "dbPassword".
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool begins = true;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_alnum(name[i])) {
      begins = true;
      continue;
    }
    const bool hump = is_upper(name[i]) && i > 0 && !is_upper(name[i - 1]);
    if (begins || hump) words.emplace_back();
    words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
    begins = false;
  }
  return words;
}

bool ends_with(const std::vector<std::string>& words, std::initializer_list<std::string_view> last) {
  return words.size() >= last.size() &&
         std::equal(last.begin(), last.end(), words.end() - static_cast<std::ptrdiff_t>(last.size()));
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const auto words = words_of(name);
  if (words.empty()) return false;
  const std::string& last = words.back();
  if (last == "nopasswd") return false;  // sudoers' tag: commands follow it
  for (const std::string_view ending : {"password", "passwd", "passphrase"})
    if (last.ends_with(ending)) return true;
  for (const std::string_view whole :
       {"secret", "token", "identitytoken", "registrytoken", "authtoken", "accesstoken", "apitoken", "apikey",
        "credential", "credentials", "sshpass", "dockerconfigjson", "dockercfg", "passcode", "authtok",
        "rootpw", "bindpw"})
    if (last == whole) return true;
  // Words that alone have other meanings: PWD is a directory, `pass: 12` a count.
  for (const std::string_view second : {"pass", "pwd", "pat", "signature"})
    if (words.size() > 1 && last == second && !(words.size() == 2 && words[0] == "old")) return true;
  for (const std::string_view before :
       {"api", "auth", "secret", "access", "private", "account", "certificate", "encryption", "signing",
        "license", "storage", "master"})
    if (ends_with(words, {before, "key"})) return true;
  if (ends_with(words, {"client", "key", "data"}) || ends_with(words, {"shared", "key"})) return true;
  return words.size() == 1 && (last == "auth" || last == "psk");
}

namespace {

/// Formats of keys of known services; recognized without a name before them.
struct Form {
  std::string_view prefix;
  std::size_t least;  ///< characters in all
};
constexpr std::array forms = std::to_array<Form>({{"ghp_", 20},
                                                  {"gho_", 20},
                                                  {"ghu_", 20},
                                                  {"ghs_", 20},
                                                  {"ghr_", 20},
                                                  {"github_pat_", 20},
                                                  {"glpat-", 20},
                                                  {"glrt-", 20},
                                                  {"hvs.", 20},
                                                  {"hvb.", 20},
                                                  {"dop_v1_", 20},
                                                  {"SG.", 40},
                                                  {"lin_api_", 20},
                                                  {"gldt-", 20},
                                                  {"hf_", 20},
                                                  {"sk-", 20},
                                                  {"sk_live_", 20},
                                                  {"rk_live_", 20},
                                                  {"AKIA", 20},
                                                  {"ASIA", 20},
                                                  {"xoxb-", 20},
                                                  {"xoxp-", 20},
                                                  {"xapp-", 20},
                                                  {"nvapi-", 20},
                                                  {"npm_", 20},
                                                  {"dckr_pat_", 20},
                                                  {"AIza", 30},
                                                  {"ya29.", 20},
                                                  {"AGE-SECRET-KEY-", 20},
                                                  {"pypi-", 40},
                                                  {"eyJ", 41}});

}  // namespace

// kubeadm's bootstrap token is [a-z0-9]{6}.[a-z0-9]{16}.
bool is_key(std::string_view word) {
  for (const Form& form : forms)
    if (word.starts_with(form.prefix) && word.size() >= form.least) {
      const std::string_view rest = word.substr(form.prefix.size());
      // Only letters are a name: "sk-learn-example-notebook".
      return std::ranges::any_of(rest, is_digit) || std::ranges::any_of(rest, is_upper);
    }
  return word.size() == 23 && word[6] == '.' &&
         std::ranges::all_of(word, [](char c) { return c == '.' || (c >= 'a' && c <= 'z') || is_digit(c); });
}

bool is_block_sign(std::string_view value) {
  return !value.empty() && value.size() <= 3 && (value[0] == '|' || value[0] == '>') &&
         value.find_first_not_of("+-123456789", 1) == std::string_view::npos;
}

}  // namespace base
