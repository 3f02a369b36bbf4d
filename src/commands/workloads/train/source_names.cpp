#include "commands/workloads/train/source_names.hpp"

#include "gpuadm/base/text.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>

namespace commands {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view version_control = "version control", secret = "may contain secrets",
                           cache = "cache";

struct Rule {
  const char* pattern;  ///< of a name in lower case
  std::string_view why;
};

constexpr std::array rules = {
    Rule{".git", version_control},
    Rule{".hg", version_control},
    Rule{".svn", version_control},
    Rule{".bzr", version_control},
    Rule{".jj", version_control},
    Rule{"cvs", version_control},
    Rule{"_darcs", version_control},
    Rule{"__pycache__", cache},
    Rule{"*.pyc", cache},
    Rule{".venv", cache},
    Rule{"venv", cache},
    Rule{".ipynb_checkpoints", cache},
    Rule{".mypy_cache", cache},
    Rule{".pytest_cache", cache},
    Rule{".ruff_cache", cache},
    Rule{"node_modules", cache},
    // Variables of the environment.
    Rule{".env", secret},
    Rule{".env.*", secret},
    Rule{"*.env", secret},
    Rule{".envrc", secret},
    // Keys, and files of keys.
    Rule{".ssh", secret},
    Rule{".gnupg", secret},
    Rule{"id_rsa*", secret},
    Rule{"id_dsa*", secret},
    Rule{"id_ecdsa*", secret},
    Rule{"id_ed25519*", secret},
    Rule{"*.pem", secret},
    Rule{"*.key", secret},
    Rule{"*.ppk", secret},
    Rule{"*.p12", secret},
    Rule{"*.pfx", secret},
    Rule{"*.jks", secret},
    Rule{"*.keystore", secret},
    Rule{"*.kdbx", secret},
    // Logins of programs.
    Rule{".netrc", secret},
    Rule{"_netrc", secret},
    Rule{".git-credentials", secret},
    Rule{".npmrc", secret},
    Rule{".yarnrc.yml", secret},
    Rule{".pypirc", secret},
    Rule{"pip.conf", secret},
    Rule{".htpasswd", secret},
    Rule{".pgpass", secret},
    Rule{".my.cnf", secret},
    Rule{"kaggle.json", secret},
    Rule{".kaggle", secret},
    // Hugging Face: ~/.huggingface/token, ~/.cache/huggingface/token.
    Rule{".huggingface", secret},
    Rule{"hf_token*", secret},
    Rule{".hf_token*", secret},
    // Clusters and clouds.
    Rule{".kube", secret},
    Rule{"kubeconfig", secret},
    Rule{"kubeconfig.*", secret},
    Rule{"*.kubeconfig", secret},
    Rule{"admin.conf", secret},
    Rule{".docker", secret},
    Rule{".dockercfg", secret},
    Rule{".dockerconfigjson", secret},
    Rule{".aws", secret},
    Rule{".azure", secret},
    Rule{".gcloud", secret},
    Rule{"gcloud", secret},
    Rule{".boto", secret},
    Rule{".s3cfg", secret},
    Rule{"rclone.conf", secret},
    Rule{".vault-token", secret},
    Rule{"credentials", secret},
    Rule{"credentials.json", secret},
    Rule{"application_default_credentials.json", secret},
    Rule{"client_secret*.json", secret},
    Rule{"service-account*.json", secret},
    Rule{"service_account*.json", secret},
    Rule{"secrets.toml", secret},
    Rule{"secrets.json", secret},
    Rule{"secrets.yaml", secret},
    Rule{"secrets.yml", secret},
};

bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), FNM_PATHNAME) == 0;
}

}  // namespace

std::string_view why_left_out(const fs::path& relative) {
  const std::string name = base::lower(relative.filename().string());
  if (name == "token" && base::lower(relative.parent_path().filename().string()) == "huggingface")
    return secret;
  const auto rule = std::ranges::find_if(rules, [&](const Rule& one) { return matches(one.pattern, name); });
  return rule == rules.end() ? std::string_view() : rule->why;
}

bool begins_with_private_key(std::string_view content) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (content.starts_with(mark)) content.remove_prefix(mark.size());
  content.remove_prefix(std::min(content.find_first_not_of(" \t\r\n"), content.size()));
  const std::string_view line = content.substr(0, content.find_first_of("\r\n"));
  return (line.starts_with("-----BEGIN ") && line.find("PRIVATE KEY") != std::string_view::npos) ||
         line.starts_with("PuTTY-User-Key-File-");
}

int find_pattern(const std::vector<std::string>& patterns, const fs::path& relative) {
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    std::string pattern = patterns[i];
    if (pattern.starts_with("./")) pattern.erase(0, 2);
    while (pattern.ends_with('/')) pattern.pop_back();
    const bool whole = pattern.find('/') != std::string::npos;
    for (fs::path path = relative; !path.empty(); path = path.parent_path())
      if (matches(pattern, whole ? path.string() : path.filename().string())) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace commands
