#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/operate/user/user.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr std::chrono::seconds signing_timeout{60};
constexpr std::chrono::milliseconds between_looks{500};

/// The reason, from the controller manager's pods; empty: unknown.
std::string reason_not_signed(session::ClusterClient& client) {
  const auto pods =
      client.get({.kinds = {"pods"}, .ns = "kube-system", .selector = "component=kube-controller-manager"});
  return pods ? workload::why_not_signed(*pods) : "";
}

/// Waits for the certificate of a request that was approved.
Result<std::string> wait_for_certificate(const Tree& reference, session::ClusterClient& client) {
  const base::Instant until = base::Clock::now() + signing_timeout;
  while (true) {
    const auto found = TRY(client.find({reference}));
    if (found.empty())
      return base::fail(Fault::remote, "the certificate request was deleted before it was signed",
                        "run again");
    workload::SigningState state = workload::signing_state(found.front());
    if (!state.refusal.empty())
      return base::fail(Fault::remote, "the cluster does not sign the certificate: " + state.refusal);
    if (!state.certificate.empty()) return std::move(state.certificate);
    if (base::Clock::now() >= until) break;
    TRY(pause(client.fleet(), between_looks));
  }
  const std::string reason = reason_not_signed(client);
  return base::fail(Fault::timeout,
                    fmt::format("the cluster has not signed the certificate within {}{}",
                                base::human_seconds(static_cast<double>(signing_timeout.count())),
                                reason.empty() ? "" : ": " + reason),
                    "kubectl -n kube-system logs -l component=kube-controller-manager");
}

/// The signed certificate. The request is deleted, whatever happens; if it cannot be, a note says so.
Result<std::string> sign(const UserCredentials& credentials, const std::string& request_pem,
                         session::ClusterClient& client, Io& io) {
  const std::string name =
      fmt::format("{}-{}", workload::user_object_name(credentials.user), TRY(workload::new_instance()));
  const Tree request = workload::signing_request(name, credentials.user, request_pem, credentials.lifetime,
                                                 credentials.kubernetes);
  const auto signed_certificate = [&]() -> Result<std::string> {
    TRY(client.create("default", {request}));
    TRY(client.approve(name));
    return wait_for_certificate(request, client);
  }();
  const auto deleted = [&]() -> Result<> {
    return client.remove_objects(TRY(client.find({request}, transport::Purpose::clean_up)));
  }();
  if (!deleted)
    io.err(
        fmt::format("note: the certificate request was not deleted: {}\n  kubectl delete "
                    "certificatesigningrequest {}\n",
                    deleted.error().what, name));
  return signed_certificate;
}

Result<base::CertificateSubject> verified(const std::string& pem, const base::Secret& key,
                                          const std::string& identity) {
  base::CertificateSubject subject = TRY(base::read_certificate(pem));
  if (subject.common_name != identity || !base::is_certificate_of(pem, key))
    return base::fail(
        Fault::remote,
        fmt::format("the cluster signed a certificate of {}, which is not of the requested key or "
                    "name",
                    base::printable(subject.common_name, 100)));
  return subject;
}

Result<> record_end(const UserCredentials& credentials, const base::CertificateSubject& certificate,
                    session::ClusterClient& client) {
  return client.patch(
      credentials.ns, "rolebinding.rbac.authorization.k8s.io/" + workload::user_object_name(credentials.user),
      Tree::map_of(
          {{"metadata",
            Tree::map_of({{"annotations", Tree::map_of({{std::string(workload::certificate_ends_annotation),
                                                         base::iso8601(certificate.ends)}})}})}}));
}

}  // namespace

Result<base::CertificateSubject> issue_credentials(const UserCredentials& credentials,
                                                   session::ClusterClient& client, Io& io) {
  if (io.err_style.verbosity != report::Verbosity::quiet)
    io.err(fmt::format("waiting for the certificate of {} (at most {})\n", credentials.user,
                       base::human_seconds(static_cast<double>(signing_timeout.count()))));
  const base::CertificateRequest request =
      TRY(base::new_certificate_request(credentials.identity, std::string(spec::users_group)));
  const std::string pem = TRY(sign(credentials, request.request, client, io));
  const base::CertificateSubject subject = TRY(verified(pem, request.key, credentials.identity));
  const Tree config = workload::kubeconfig_of(credentials.cluster, credentials.user, credentials.ns,
                                              credentials.api, pem, request.key.reveal());
  TRY(base::write_file(credentials.file, base::yaml::write(config), 0600));
  TRY(record_end(credentials, subject, client));
  return subject;
}

Result<base::CertificateSubject> complete_credentials(const UserCredentials& credentials,
                                                      session::ClusterClient& client, Io& io) {
  const auto valid = valid_certificate_in(credentials.file, credentials.identity);
  if (!valid) return issue_credentials(credentials, client, io);
  TRY(record_end(credentials, *valid, client));
  return *valid;
}

std::string describe_end(const base::CertificateSubject& certificate, std::chrono::days asked) {
  const auto left = std::chrono::round<std::chrono::days>(certificate.ends - base::now());
  std::string text = fmt::format("the certificate is valid for {} days, until {}", left.count(),
                                 base::day_text(std::chrono::floor<std::chrono::days>(certificate.ends)));
  if (left != asked) text += fmt::format(" (the cluster's signer decides; {} were requested)", asked.count());
  return text;
}

}  // namespace commands
