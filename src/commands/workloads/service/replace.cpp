#include "commands/workloads/service/replace.hpp"

#include "gpuadm/session/replace.hpp"
#include "gpuadm/workload/service_pod.hpp"

namespace commands {

namespace {

long long generation_of(const base::Tree& object) {
  const base::Tree* generation = object.at({"metadata", "generation"});
  return generation ? generation->as_int().value_or(0) : 0;
}

}  // namespace

Result<> replace_deployment(const base::Tree& live, const base::Tree& made, ReachedCluster& cluster) {
  constexpr int most_attempts = 5;
  base::Tree latest = live;
  for (int attempt = 1;; ++attempt) {
    const auto replaced = session::replace(cluster.client(), {workload::replacement_of(latest, made)});
    const bool is_conflict = !replaced && replaced.error().what.find("(Conflict)") != std::string::npos;
    if (!is_conflict || attempt == most_attempts) return replaced;
    auto found = TRY(cluster.client().find({live}));
    if (found.empty() || generation_of(found.front()) != generation_of(live))
      return base::fail(base::Fault::blocked, "the Deployment was changed meanwhile, by another program",
                        "run again");
    latest = std::move(found.front());
  }
}

}  // namespace commands
