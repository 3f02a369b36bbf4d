#pragma once

#include "gpuadm/workload/storage.hpp"
#include "gpuadm/workload/train.hpp"

#include <string>
#include <vector>

/// The claim that is created with a training job and named like it.
namespace workload {

/// On a storage of gpuadm.
[[nodiscard]] StorageClaim claim_of_job(const TrainJob& job, const std::string& size);
/// Of a StorageClass: for all nodes if the ranks run on several.
[[nodiscard]] base::Tree claim_of_job(const TrainJob& job, const std::string& size,
                                      const std::string& storage_class);
/// The pods mount the claim of the job in place of the claim `named`.
void mount_claim_of_job(TrainJob& job, const std::string& named);
/// The name of its claim exists. Fault::blocked unless it is that of an earlier job of this name, on the same
/// storage (empty: of a StorageClass).
[[nodiscard]] Result<> check_earlier_claim(const base::Tree& claim, const TrainJob& job,
                                           const std::string& storage);

}  // namespace workload
