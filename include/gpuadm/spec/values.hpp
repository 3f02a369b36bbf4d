#pragma once

#include "gpuadm/base/error.hpp"

#include <string>
#include <string_view>

/// Values that operators write, on a command line or in a cluster file: names, quantities, numbers of GPUs.
namespace spec {

using base::Result;

/// A DNS label (RFC 1123) that leaves space for suffixes, at most 50 characters. Fault::usage says which
/// character is wrong; `what`: "storage claim".
[[nodiscard]] Result<> check_name(std::string_view what, std::string_view name);
/// The same for a new workload with a Service of its name, which begins with a letter (RFC 1035). Kubernetes
/// accepts a digit only with its feature gate RelaxedServiceNameValidation.
[[nodiscard]] Result<> check_service_name(std::string_view what, std::string_view name);
/// A namespace: a DNS label of at most 63 characters.
[[nodiscard]] Result<> check_namespace(std::string_view name);
/// A quantity of Kubernetes with a unit of bytes: "10Gi", "500M". Its bytes; Fault::usage otherwise
/// (kubernetes/apimachinery pkg/api/resource/quantity.go). `option`: "--size", or with a key "--set size".
[[nodiscard]] Result<long long> bytes_of(std::string_view option, std::string_view quantity);
/// The same for what a person requests. Fault::usage below 1Mi: the unit is missing.
[[nodiscard]] Result<long long> size_of(std::string_view option, std::string_view quantity);
/// CPUs: "4", "0.5", "500m". In thousandths.
[[nodiscard]] Result<long long> millicpus_of(std::string_view option, std::string_view quantity);
/// "90s", "10m", "2h", "1d" as seconds. Fault::usage for anything else; `option`: the one with this value,
/// "--since".
[[nodiscard]] Result<long long> seconds_in(std::string_view option, std::string_view text);
/// The largest number of GPUs that one container may request.
inline constexpr int most_gpus = 1024;

/// GPUs of one container.
struct GpuRequest {
  enum class Form {
    none,
    whole,  ///< `count` GPUs
    share,  ///< one of `parts` shares of a GPU, by time-slicing or MPS
    mig     ///< `count` MIG instances of `profile`
  };
  Form form = Form::none;
  int count = 0;
  int parts = 1;
  std::string profile;
  [[nodiscard]] bool any() const { return form != Form::none; }
};

/// "0", "2", "1/4", "1g.10gb", "1g.10gb:2". Fault::usage.
[[nodiscard]] Result<GpuRequest> parse_gpus(std::string_view option, std::string_view text);

}  // namespace spec
