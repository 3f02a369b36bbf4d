#include "gpuadm/workload/gpus.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

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
