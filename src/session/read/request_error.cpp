#include "gpuadm/base/text.hpp"
#include "gpuadm/session/cluster.hpp"

#include <fmt/format.h>

namespace session {

using base::Fault;

std::string forbidden_request(std::string_view message) {
  // User "x" cannot list resource "nodes" in API group "" at the cluster scope
  constexpr std::string_view before = "\" cannot ", between = " resource \"";
  const std::size_t verb = message.find(before);
  const std::size_t resource = verb == std::string_view::npos ? verb : message.find(between, verb);
  if (resource == std::string_view::npos) return {};
  const auto until_quote = [&](std::size_t from) {
    const std::size_t end = message.find('"', from);
    return message.substr(from, end == std::string_view::npos ? 0 : end - from);
  };
  const std::size_t begin = verb + before.size();
  std::string text = fmt::format("this user may not {} {}", message.substr(begin, resource - begin),
                                 until_quote(resource + between.size()));
  constexpr std::string_view place = " in the namespace \"";
  if (const std::size_t ns = message.find(place, resource); ns != std::string_view::npos)
    text += fmt::format(" in the namespace {}", until_quote(ns + place.size()));
  return base::printable(text, 300);
}

base::Error request_error(const std::string& label, const std::string& message) {
  const auto mentions = [&](std::string_view part) { return message.find(part) != std::string::npos; };
  // What may not be read is unknown; it is not an empty list.
  if (const std::string forbidden = forbidden_request(message); !forbidden.empty())
    return {Fault::remote, fmt::format("cannot {}: {}", label, forbidden),
            "an administrator of the cluster can do it, or give the right"};
  const std::string what = fmt::format("cannot {}: {}", label, base::printable(message, 1000));
  if (mentions("Unauthorized") || mentions("must be logged in"))
    return {Fault::auth, what,
            "the cluster does not accept these credentials; an administrator renews them: gpuadm user "
            "kubeconfig NAME --renew"};
  if (mentions("x509:") || mentions("certificate signed by unknown authority"))
    return {Fault::auth, what, "the kubeconfig is not of this cluster, or its authority was replaced"};
  if (mentions("Unable to connect to the server") || mentions("was refused - did you specify"))
    return {Fault::unreachable, what, "check that this machine reaches the server that the kubeconfig names"};
  return {Fault::remote, what, ""};
}

}  // namespace session
