#include "gpuadm/session/census.hpp"

#include <doctest/doctest.h>

namespace {

facts::Facts a_node(bool control_plane) {
  facts::Facts facts;
  facts.clock.probe_begin = 1'000'000'000;
  facts.kubernetes.kubelet_conf = true;
  facts.kubernetes.admin_conf = control_plane;
  return facts;
}

std::string said(facts::Facts facts, const std::string& path, double days) {
  facts.kubernetes.certificates = {{path, *facts.clock.probe_begin + days * 86400}};
  facts::Census census;
  census.emplace("one", std::move(facts));
  const auto may = session::refuse_expired(census);
  if (may) return "";
  CHECK(may.error().fault == base::Fault::blocked);
  return may.error().what + " / " + may.error().hint;
}

}  // namespace

TEST_CASE("expired: a certificate of the control plane, and of a kubelet, with the way out") {
  const std::string server = "/etc/kubernetes/pki/apiserver.crt";
  const std::string client = "/var/lib/kubelet/pki/kubelet-client-current.pem";
  CHECK(said(a_node(true), server, -3) ==
        "one: the certificate /etc/kubernetes/pki/apiserver.crt expired 3 days ago / gpuadm certs renew one; "
        "then run the same command again");
  CHECK(said(a_node(true), server, 1).empty());
  CHECK(said(a_node(false), client, -3).find("gpuadm reset one, then gpuadm join it again") !=
        std::string::npos);
  CHECK(said(a_node(true), client, -3).find("kubeadm kubeconfig user") != std::string::npos);
  CHECK(said(a_node(true), "/etc/kubernetes/pki/ca.crt", -3).find("manually") != std::string::npos);
}

TEST_CASE("expired: unused certificates, and those that are not of a node, do not count") {
  CHECK(said(a_node(true), "/etc/kubernetes/kubelet.conf", -3).empty());
  CHECK(said(a_node(false), "/etc/kubernetes/pki/apiserver.crt", -3).empty());
  facts::Facts bare = a_node(true);
  bare.kubernetes.kubelet_conf = false;
  CHECK(said(bare, "/etc/kubernetes/pki/apiserver.crt", -3).empty());
}
