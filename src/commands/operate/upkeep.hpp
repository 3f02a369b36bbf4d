#pragma once

#include "commands/app.hpp"

#include <filesystem>

/// Maintenance of an existing cluster: `gpuadm certs`, `etcd`, `repair`.
namespace commands {

// --- gpuadm certs ------------------------------------------------------------------------------------

struct CertsOptions {
  Common common;
  Hosts hosts;
  int within = 30;   ///< renew: days; satisfied if nothing expires within them
  bool all = false;  ///< renew: regardless of expiration dates
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Prints the expiration dates of all certificates of control planes and kubelets, and of the certificate
/// that each API server uses. Changes nothing.
[[nodiscard]] Result<Outcome> certs_status(const CertsOptions& options, Io& io);
/// Renews what kubeadm renews, and restarts the control plane: playbooks/certs.yaml, one control-plane node
/// after the other.
[[nodiscard]] Result<Outcome> certs_renew(const CertsOptions& options, Io& io);
/// Rotates the encryption key of the Secrets of a cluster with security.profile hardened:
/// playbooks/rotate-encryption-key.yaml, on all control-plane nodes.
[[nodiscard]] Result<Outcome> certs_rotate_encryption_key(const CertsOptions& options, Io& io);

// --- gpuadm etcd -------------------------------------------------------------------------------------

struct EtcdOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path file;     ///< snapshot: the new file, empty: named by the time; restore: the snapshot
  std::vector<std::string> lost;  ///< restore: hosts of members that are left out
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Saves a verified snapshot of the first control-plane node's etcd to a local file (0600), with its SHA-256
/// in a second file.
[[nodiscard]] Result<Outcome> etcd_snapshot(const EtcdOptions& options, Io& io);
/// Restores etcd on all control-plane nodes from a snapshot. Fault::blocked, before anything is changed, for
/// a damaged file, and if another member would keep its data.
[[nodiscard]] Result<Outcome> etcd_restore(const EtcdOptions& options, Io& io);
/// Defragments etcd, one member after the other.
[[nodiscard]] Result<Outcome> etcd_defrag(const EtcdOptions& options, Io& io);

// --- gpuadm repair -----------------------------------------------------------------------------------

struct RepairOptions {
  Common common;
  Hosts hosts;
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Repairs a cluster of one node whose host has a new address or name: regenerates everything that contains
/// the old one. Fault::blocked for a cluster of several nodes.
[[nodiscard]] Result<Outcome> repair_address(const RepairOptions& options, Io& io);

}  // namespace commands
