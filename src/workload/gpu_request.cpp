#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/workload/gpus.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

using base::Fault;

Result<GpuRequest> parse_gpus(std::string_view option, std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<int> {
    const auto value = base::to_int(digits);
    if (!value || *value < 0 || *value > most_gpus) return std::nullopt;
    return static_cast<int>(*value);
  };
  if (const auto count = number(text))
    return *count == 0 ? GpuRequest{} : GpuRequest{GpuRequest::Form::whole, *count, 1, {}};
  if (text.starts_with("1/"))
    if (const auto parts = number(text.substr(2)); parts && *parts > 0)
      return *parts == 1 ? GpuRequest{GpuRequest::Form::whole, 1, 1, {}}
                         : GpuRequest{GpuRequest::Form::share, 1, *parts, {}};
  const std::string_view profile = text.substr(0, text.find(':'));
  const auto count =
      profile.size() == text.size() ? std::optional(1) : number(text.substr(profile.size() + 1));
  if (spec::is_mig_profile(profile) && count && *count > 0)
    return GpuRequest{GpuRequest::Form::mig, *count, 1, std::string(profile)};
  return base::fail(
      Fault::usage, fmt::format("{}: not a number of GPUs: {}", option, base::printable(text, 50)),
      fmt::format("for example {0} 1, {0} 1/4 (a share), {0} 1g.10gb or {0} 1g.10gb:2 (MIG)", option));
}

std::string describe(const GpuRequest& request) {
  switch (request.form) {
    case GpuRequest::Form::none:
      return "no GPU";
    case GpuRequest::Form::whole:
      return fmt::format("{} GPU{}", request.count, request.count == 1 ? "" : "s");
    case GpuRequest::Form::share:
      return fmt::format("1/{} of a GPU", request.parts);
    case GpuRequest::Form::mig:
      return fmt::format("{} MIG instance{} {}", request.count, request.count == 1 ? "" : "s",
                         request.profile);
  }
  return "";
}

int processes_for(const GpuRequest& request) {
  return request.form == GpuRequest::Form::whole ? std::max(1, request.count) : 1;
}

}  // namespace workload
