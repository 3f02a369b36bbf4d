#include "gpuadm/workload/train_volume.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace workload {

using base::Fault;
using base::Tree;

StorageClaim claim_of_job(const TrainJob& job, const std::string& size) {
  return {job.name, job.ns, size, {}, labels_of(train_kind, job.name)};
}

Tree claim_of_job(const TrainJob& job, const std::string& size, const std::string& storage_class) {
  const bool shared = job.ranks() > 1 && job.placement == Placement::one_per_node;
  return claim_of_class(claim_of_job(job, size), storage_class, shared ? "ReadWriteMany" : "ReadWriteOnce");
}

void mount_claim_of_job(TrainJob& job, const std::string& named) {
  for (Role& role : job.roles) {
    if (!role.pod.find("volumes")) continue;
    for (Tree& volume : role.pod["volumes"].items())
      if (text_at(volume, {"persistentVolumeClaim", "claimName"}) == named)
        volume["persistentVolumeClaim"].set("claimName", job.name);
  }
}

Result<> check_earlier_claim(const Tree& claim, const TrainJob& job, const std::string& storage) {
  const Tree* labels = claim.at({"metadata", "labels"});
  const auto label = [&](std::string_view key) {
    const Tree* found = labels ? labels->find(key) : nullptr;
    return found ? found->text() : "";
  };
  if (label(kind_label) == train_kind && label(name_label) == job.name && label(storage_label) == storage)
    return {};
  return base::fail(Fault::blocked,
                    fmt::format("the name of the volume is taken: there is a PersistentVolumeClaim {}/{}",
                                job.ns, job.name),
                    "use another name, or mount it: --storage " + job.name + " without --size");
}

}  // namespace workload
