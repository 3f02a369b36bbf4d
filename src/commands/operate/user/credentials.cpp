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

Result<> approve(const std::string& name, session::ClusterClient& client) {
  transport::Command command =
      TRY(session::command_of({.label = "approve the certificate request " + name,
                               .asset = "playbooks/objects.sh",
                               .variables = {{"action", "approve"}, {"object", name}},
                               .timeout = signing_timeout},
                              client.assets()));
  command.effect = transport::Effect::changes;
  const transport::Exit exit = TRY(session::ask(client.host(), std::move(command), client.fleet()));
  if (exit.status == 0) return {};
  return base::fail(Fault::remote, fmt::format("{}: cannot approve the certificate request {}: {}",
                                               client.host(), name, base::tail(exit.err, 3)));
}

/// The reason, from the controller manager's pods; empty: unknown.
std::string reason_not_signed(session::ClusterClient& client) {
  const auto pods =
      client.get({.kinds = {"pods"}, .ns = "kube-system", .selector = "component=kube-controller-manager"});
  return pods ? workload::why_not_signed(*pods) : "";
}

/// Waits for the certificate of a request that was approved.
Result<std::string> wait_for_certificate(const Tree& reference, ReachedCluster& cluster) {
  const base::Instant until = base::Clock::now() + signing_timeout;
  session::ClusterClient& client = cluster.client();
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
    TRY(cluster.pause(between_looks));
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
                         ReachedCluster& cluster, Io& io) {
  session::ClusterClient& client = cluster.client();
  const std::string name =
      fmt::format("{}-{}", workload::user_object_name(credentials.user), TRY(workload::new_instance()));
  const Tree request = workload::signing_request(name, credentials.user, request_pem, credentials.lifetime,
                                                 credentials.kubernetes);
  const auto signed_certificate = [&]() -> Result<std::string> {
    TRY(client.create("default", {request}));
    TRY(approve(name, client));
    return wait_for_certificate(request, cluster);
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

}  // namespace

Result<base::CertificateSubject> issue_credentials(const UserCredentials& credentials,
                                                   ReachedCluster& cluster, Io& io) {
  if (io.err_style.verbosity != report::Verbosity::quiet)
    io.err(fmt::format("waiting for the certificate of {} (at most {})\n", credentials.user,
                       base::human_seconds(static_cast<double>(signing_timeout.count()))));
  const base::CertificateRequest request =
      TRY(base::new_certificate_request(credentials.identity, std::string(workload::users_group)));
  const std::string pem = TRY(sign(credentials, request.request, cluster, io));
  const base::CertificateSubject subject = TRY(verified(pem, request.key, credentials.identity));
  const Tree config = workload::kubeconfig_of(cluster.spec().name, credentials.user, credentials.ns,
                                              credentials.api, pem, request.key.reveal());
  TRY(base::write_file(credentials.file, base::yaml::write(config), 0600));
  TRY(cluster.client().patch(
      credentials.ns, "rolebinding.rbac.authorization.k8s.io/" + workload::user_object_name(credentials.user),
      Tree::map_of(
          {{"metadata",
            Tree::map_of({{"annotations", Tree::map_of({{std::string(workload::certificate_ends_annotation),
                                                         base::iso8601(subject.ends)}})}})}})));
  return subject;
}

std::string describe_end(const base::CertificateSubject& certificate, std::chrono::days asked) {
  const auto left = std::chrono::round<std::chrono::days>(certificate.ends - base::now());
  std::string text = fmt::format("the certificate is valid for {} days, until {}", left.count(),
                                 base::day_text(std::chrono::floor<std::chrono::days>(certificate.ends)));
  if (left != asked) text += fmt::format(" (the cluster's signer decides; {} were requested)", asked.count());
  return text;
}

}  // namespace commands
