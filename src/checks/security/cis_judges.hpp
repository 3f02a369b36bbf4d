#pragma once

#include "checks/security/cis.hpp"

/// Judges for single items; the rows contain their requirements.
namespace checks::cis {

// --- The API server

/// Anonymous requests are off, or limited to health endpoints by the authentication configuration.
void anonymous(const Item& item, const Subject& subject, Verdicts& out);
/// The authorization modes of the API server include `want`.
void authorizer_is_present(const Item& item, const Subject& subject, Verdicts& out);
/// The authorization modes of the API server do not include `want`.
void authorizer_is_absent(const Item& item, const Subject& subject, Verdicts& out);
/// The flag's list includes `want`; skipped with the reason if that is not required.
void always_pull(const Item& item, const Subject& subject, Verdicts& out);
/// The flag's number is at least `want`; `unset`: effect of an audit log without the limit.
void audit_limit(const Item& item, const Subject& subject, Verdicts& out);
/// The flag's duration is at most `want` seconds.
void request_timeout(const Item& item, const Subject& subject, Verdicts& out);
/// The first provider of secrets is one of `want`.
void encryption(const Item& item, const Subject& subject, Verdicts& out);

// --- Files

/// files_have_mode for the data directory of etcd.
void etcd_mode(const Item& item, const Subject& subject, Verdicts& out);
/// files_have_mode for the kubelet's client CA file.
void authority_mode(const Item& item, const Subject& subject, Verdicts& out);
/// files_have_owner for that file.
void authority_owner(const Item& item, const Subject& subject, Verdicts& out);
/// The data directory of etcd is owned by `want`; explains why it is not with kubeadm otherwise.
void etcd_data_owner(const Item& item, const Subject& subject, Verdicts& out);

// --- The kubelet and kube-proxy

/// The kubelet's setting `name`, or `flag`, has the value `want`; if neither is set, `unset` is.
void setting_is(const Item& item, const Subject& subject, Verdicts& out);
/// The setting does not have the value `want`.
void setting_is_not(const Item& item, const Subject& subject, Verdicts& out);
/// The setting has a value.
void has_client_authority(const Item& item, const Subject& subject, Verdicts& out);
/// The setting's duration is not 0.
void streams_end(const Item& item, const Subject& subject, Verdicts& out);
/// The flag is not set, or is the host's name.
void has_no_other_name(const Item& item, const Subject& subject, Verdicts& out);
/// The setting's number is 0 (no limit) or at least `want`.
void records_events(const Item& item, const Subject& subject, Verdicts& out);
/// The kubelet has a signed serving certificate, or requests one from the cluster.
void has_certificate(const Item& item, const Subject& subject, Verdicts& out);
/// The feature gate RotateKubeletServerCertificate is not off.
void rotates_certificate(const Item& item, const Subject& subject, Verdicts& out);
/// Only TLS cipher suites without known weaknesses.
void has_strong_ciphers(const Item& item, const Subject& subject, Verdicts& out);
/// The setting's number is more than 0.
void limits_processes(const Item& item, const Subject& subject, Verdicts& out);
/// kube-proxy, which has no file on the host, serves its metrics on the loopback address.
void proxy_listens_on_loopback(const Item& item, const Subject& subject, Verdicts& out);

}  // namespace checks::cis
