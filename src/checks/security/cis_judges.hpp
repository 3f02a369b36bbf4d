#pragma once

#include "checks/security/cis.hpp"

/// Judges of single items; what they want stands in the rows.
namespace checks::cis {

// --- The API server

/// Anonymous requests are off, or limited to health endpoints by the authentication configuration.
void anonymous(const Item& item, const Subject& subject, Verdicts& out);
/// The API server authorizes by `want`, among others.
void authorizer_is_present(const Item& item, const Subject& subject, Verdicts& out);
/// The API server does not authorize by `want`.
void authorizer_is_absent(const Item& item, const Subject& subject, Verdicts& out);
/// The list of the flag has `want`; says why it need not otherwise.
void always_pull(const Item& item, const Subject& subject, Verdicts& out);
/// The number of the flag is at least `want`; `unset`: what an audit log without the limit does.
void audit_limit(const Item& item, const Subject& subject, Verdicts& out);
/// The time of the flag is at most `want` seconds.
void request_timeout(const Item& item, const Subject& subject, Verdicts& out);
/// The first provider of secrets is one of `want`.
void encryption(const Item& item, const Subject& subject, Verdicts& out);

// --- Files

/// files_have_mode for the data folder of etcd.
void etcd_mode(const Item& item, const Subject& subject, Verdicts& out);
/// files_have_mode for the file that the kubelet verifies clients with.
void authority_mode(const Item& item, const Subject& subject, Verdicts& out);
/// files_have_owner for that file.
void authority_owner(const Item& item, const Subject& subject, Verdicts& out);
/// The data folder of etcd belongs to `want`; says why it does not with kubeadm otherwise.
void etcd_data_owner(const Item& item, const Subject& subject, Verdicts& out);

// --- The kubelet and kube-proxy

/// The setting `name` of the kubelet, or `flag`, has the value `want`; where neither is set, `unset` is.
void setting_is(const Item& item, const Subject& subject, Verdicts& out);
/// The setting does not have the value `want`.
void setting_is_not(const Item& item, const Subject& subject, Verdicts& out);
/// The setting has a value.
void has_client_authority(const Item& item, const Subject& subject, Verdicts& out);
/// The time of the setting is not 0.
void streams_end(const Item& item, const Subject& subject, Verdicts& out);
/// The flag is not set, or is the host's name.
void has_no_other_name(const Item& item, const Subject& subject, Verdicts& out);
/// The number of the setting is 0 (no limit) or at least `want`.
void records_events(const Item& item, const Subject& subject, Verdicts& out);
/// The kubelet has a serving certificate that others signed, or gets one from the cluster.
void has_certificate(const Item& item, const Subject& subject, Verdicts& out);
/// The feature gate RotateKubeletServerCertificate is not off.
void rotates_certificate(const Item& item, const Subject& subject, Verdicts& out);
/// Only TLS cipher suites without known weakness.
void has_strong_ciphers(const Item& item, const Subject& subject, Verdicts& out);
/// The number of the setting is more than 0.
void limits_processes(const Item& item, const Subject& subject, Verdicts& out);
/// kube-proxy, which has no file on the host, serves its metrics on the loopback address.
void proxy_listens_on_loopback(const Item& item, const Subject& subject, Verdicts& out);

}  // namespace checks::cis
