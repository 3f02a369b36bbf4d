#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

/// Settings of the control plane and the kubelet that the CIS Kubernetes Benchmark covers.
namespace facts {

/// A static pod of the control plane, from its manifest.
struct StaticPod {
  std::string image;
  std::map<std::string, std::string, std::less<>> flags;  ///< by name without dashes; the last value of each
};

/// Mode and owner of a file.
struct FileMode {
  unsigned bits = 0;  ///< 0644
  std::string user, group;
};

using FileModes = std::map<std::string, FileMode, std::less<>>;  ///< by path; those that exist

/// One entry of the API server's encryption configuration.
struct EncryptedResources {
  std::vector<std::string> resources;
  std::vector<std::string> providers;  ///< "secretbox"; the first one encrypts
};

/// `anonymous` in the API server's authentication configuration.
struct AnonymousAccess {
  bool is_set = false;  ///< otherwise --anonymous-auth decides
  bool enabled = false;
  std::vector<std::string> paths;  ///< the paths for anonymous requests; empty: all
};

/// The API server's admission configuration.
struct AdmissionConfig {
  std::vector<std::string> plugins;    ///< plugins with a configuration
  std::optional<std::string> enforce;  ///< the default Pod Security level; nothing: not read or not set
  bool pod_security_unread = false;    ///< PodSecurity is configured in a file that was not read
};

/// The parts that a probe read. A member without a value was not read, or does not exist.
struct Hardening {
  std::map<std::string, StaticPod, std::less<>>
      static_pods;                   ///< by name; those whose flags were read completely
  std::optional<FileModes> files;    ///< files in the benchmark
  std::optional<FileModes> folders;  ///< directories with files and programs of root
  std::optional<std::vector<EncryptedResources>> encryption;
  std::optional<std::vector<std::string>> audit_levels;  ///< of the audit policy's rules, in order
  std::optional<std::vector<std::string>> authorizers;   ///< types in the authorization configuration
  std::optional<AnonymousAccess> anonymous;
  std::optional<AdmissionConfig> admission;
  std::vector<std::string> unit_flags;  ///< of the kubelet, in drop-ins of its unit: "--config=FILE"
};

}  // namespace facts
