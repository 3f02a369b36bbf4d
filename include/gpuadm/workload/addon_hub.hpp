#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/workload/gpus.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The add-on jupyterhub: its users, its login, and what users choose from.
namespace workload {

/// The user of the proof, which the file of users must not have.
inline constexpr std::string_view proof_user = "gpuadm-proof";

struct HubUser {
  std::string name;
  base::Secret password;
  bool admin = false;
};
/// A line each: NAME:PASSWORD or NAME:PASSWORD:admin; empty lines and lines with # are skipped. Fault::usage
/// names the line and never what is in it.
[[nodiscard]] base::Result<std::vector<HubUser>> parse_hub_users(const base::Secret& text,
                                                                 const std::string& source);
/// users.json for the hub: {NAME: {salt, digest, admin}} with scrypt, N = 16384, r = 8, p = 1, 32 bytes, as
/// templates/addons/jupyterhub_config.py computes it. Fault::bug without random numbers.
[[nodiscard]] base::Result<base::Secret> hash_hub_users(const std::vector<HubUser>& users);

/// Settings of OpenID Connect for OAuthenticator's GenericOAuthenticator, from YAML with its names.
/// Fault::usage for unknown and missing keys, addresses that are not https, and if nobody may log in; never
/// with a value.
[[nodiscard]] base::Result<base::Tree> parse_oidc(const base::Secret& text, const std::string& source);

/// What users choose from, and the objects that their choices need: a ResourceClaimTemplate for each choice
/// of GPUs, if GPUs are allocated by claims.
struct HubChoices {
  base::Tree gpus, image, memory;  ///< lists of rows; the first one is the default
  std::vector<base::Tree> objects;
};
/// `catalog`: playbooks/catalog.yaml; `ns`: the namespace of the notebooks.
[[nodiscard]] base::Result<HubChoices> hub_choices(const base::Tree& catalog,
                                                   const facts::ClusterFacts& cluster,
                                                   const GpuSupply& supply, const std::string& ns);
/// The choice for the proof: one GPU or a share that is free now; otherwise "0".
[[nodiscard]] std::string proof_choice(const GpuSupply& supply);

}  // namespace workload
