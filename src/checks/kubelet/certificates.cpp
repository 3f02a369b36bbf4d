#include "checks/kubelet/certificates.hpp"

#include "gpuadm/base/time.hpp"

#include <fmt/format.h>

#include <chrono>

namespace checks {

namespace {

constexpr double day = 86400, of_leaf = 366 * day, of_authority = 3654 * day;

std::string date_of(double seconds) {
  const base::Time time(std::chrono::seconds(static_cast<long long>(seconds)));
  return base::day_text(std::chrono::floor<std::chrono::days>(time));
}

}  // namespace

std::string not_yet_valid(const facts::Certificate& certificate, double now) {
  const std::string clock = fmt::format("the host's clock says {}", date_of(now));
  if (certificate.begins)
    return now < *certificate.begins
               ? fmt::format("it is valid from {}, and {}", date_of(*certificate.begins), clock)
               : "";
  const double left = certificate.ends - now;
  if (left <= (certificate.path.ends_with("ca.crt") ? of_authority : of_leaf)) return "";
  return fmt::format("it ends on {}, and {}: kubeadm's certificates are valid for a shorter time",
                     date_of(certificate.ends), clock);
}

}  // namespace checks
