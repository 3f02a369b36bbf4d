#pragma once

#include "gpuadm/app/app.hpp"

#include <filesystem>

/// What a cluster's life needs after it was made: `gpuadm certs`, `etcd`, `repair`.
namespace app {

// --- gpuadm certs ------------------------------------------------------------------------------------

struct CertsOptions {
  Common common;
  Hosts hosts;
  int within = 30;   ///< renew: days; satisfied where nothing ends within them
  bool all = false;  ///< renew: whenever they end
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// When every certificate of control planes and kubelets ends, and the one that each API server serves.
/// Changes nothing.
[[nodiscard]] Result<Outcome> certs_status(const CertsOptions& options, Io& io);
/// Renews what kubeadm renews, and starts the control plane with it: playbooks/certs.yaml, one control plane
/// after the other.
[[nodiscard]] Result<Outcome> certs_renew(const CertsOptions& options, Io& io);
/// Gives the Secrets of a cluster with security.profile hardened a new key:
/// playbooks/rotate-encryption-key.yaml, on all control planes.
[[nodiscard]] Result<Outcome> certs_rotate_encryption_key(const CertsOptions& options, Io& io);

// --- gpuadm etcd -------------------------------------------------------------------------------------

struct EtcdOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path file;  ///< snapshot: to be made, empty: named by the time; restore: to be restored
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// A verified snapshot of the first control plane's etcd, in a file of this machine (0600) with its SHA-256
/// beside it.
[[nodiscard]] Result<Outcome> etcd_snapshot(const EtcdOptions& options, Io& io);
/// Makes a snapshot the state of a cluster with one etcd. Fault::blocked for a file that is damaged and for
/// an etcd of several members, before anything is changed.
[[nodiscard]] Result<Outcome> etcd_restore(const EtcdOptions& options, Io& io);
/// Gives etcd's free space back to the disk, one member after the other.
[[nodiscard]] Result<Outcome> etcd_defrag(const EtcdOptions& options, Io& io);

// --- gpuadm repair -----------------------------------------------------------------------------------

struct RepairOptions {
  Common common;
  Hosts hosts;
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// A cluster of one node whose host has another address or name now: what names the old one is made anew.
/// Fault::blocked for a cluster of several nodes.
[[nodiscard]] Result<Outcome> repair_address(const RepairOptions& options, Io& io);

}  // namespace app
