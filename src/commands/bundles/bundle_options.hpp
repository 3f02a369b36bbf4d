#pragma once

#include "commands/shared_options.hpp"

#include <string>
#include <vector>

/// Options that commands of `gpuadm bundle` share.
namespace commands {

/// Source of downloads.
struct BundleSource {
  std::string place;  ///< bundle::Source::place; empty: the cluster file's mirrors, otherwise public
  std::vector<std::string> mirrors;  ///< REGISTRY=URL
  /// File with registry logins, mode 0600; empty: $DOCKER_CONFIG/config.json or ~/.docker/config.json, if it
  /// exists.
  std::filesystem::path logins;
};

struct BundleCreateOptions {
  Common common;
  std::vector<std::filesystem::path>
      hosts;                     ///< cluster files, and facts.json as `gpuadm facts -o json` writes it
  std::filesystem::path output;  ///< an empty or new directory, or a .tar.zst
  BundleSource source;
  std::string kubernetes_version, architecture;
  std::string driver;                  ///< as InitOptions::driver
  std::vector<std::string> skip;       ///< parts, as data/sources.yaml names them, and coredns
  std::vector<std::string> images;     ///< additional images
  std::vector<std::string> notebooks;  ///< frameworks, whose images of the catalog are included
  std::vector<std::string> engines;    ///< that serve models, whose images of the catalog are included
  std::vector<std::string> addons;     ///< whose images of the catalog are included
  std::filesystem::path sign;  ///< a private key for ssh-keygen, or the public half of one in the agent
};

/// `--source`, `--mirror` and `--registry-logins`. `summary`: of the first.
void add_source(Line& line, BundleSource& source, const char* summary);
/// `-o`
void add_bundle_output(Line& line, std::filesystem::path& output);
/// `--sign`
void add_sign(Line& line, std::filesystem::path& key);
/// `--signers`
void add_signers(Line& line, std::filesystem::path& signers);

}  // namespace commands
