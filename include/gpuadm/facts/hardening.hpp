#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

/// What the control plane and the kubelet are configured with, as far as the CIS Kubernetes Benchmark asks.
namespace facts {

/// A static pod of the control plane, as its manifest starts it.
struct StaticPod {
  std::string image;
  std::map<std::string, std::string, std::less<>> flags;  ///< by name without dashes; the last value of each
};

/// Who may do what with a file.
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

/// `anonymous` of the API server's authentication configuration.
struct AnonymousAccess {
  bool is_set = false;  ///< else --anonymous-auth decides
  bool enabled = false;
  std::vector<std::string> paths;  ///< the only ones for anonymous requests; empty: all
};

/// The API server's admission configuration.
struct AdmissionConfig {
  std::vector<std::string> plugins;    ///< those with a configuration
  std::optional<std::string> enforce;  ///< the Pod Security level by default; nothing: not read or not set
  bool pod_security_unread = false;    ///< PodSecurity is configured in a file that was not read
};

/// What a probe read of it. A member without a value was not read, or is not there.
struct Hardening {
  std::map<std::string, StaticPod, std::less<>> static_pods;  ///< by name; those whose flags were all read
  std::optional<FileModes> files;                             ///< the files that the benchmark lists
  std::optional<FileModes> folders;                           ///< directories with files and programs of root
  std::optional<std::vector<EncryptedResources>> encryption;
  std::optional<std::vector<std::string>> audit_levels;  ///< of the audit policy's rules, in order
  std::optional<std::vector<std::string>> authorizers;   ///< types in the authorization configuration
  std::optional<AnonymousAccess> anonymous;
  std::optional<AdmissionConfig> admission;
  std::vector<std::string> unit_flags;  ///< of the kubelet, in drop-ins of its unit: "--config=FILE"
};

}  // namespace facts
