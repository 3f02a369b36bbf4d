#include "commands/names.hpp"

#include "gpuadm/session/findings.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/workload/train_check.hpp"

namespace commands {

std::vector<std::string> check_ids() {
  std::vector<std::string> ids;
  for (const checks::About& about : session::every_check()) ids.emplace_back(about.id);
  return ids;
}

std::vector<std::string> train_check_ids() {
  std::vector<std::string> ids;
  for (const workload::TrainCheckRow& row : workload::train_checks()) ids.emplace_back(row.id);
  return ids;
}

std::vector<std::string> cluster_keys() {
  std::vector<std::string> paths;
  for (const spec::Key& key : spec::keys()) paths.push_back(key.path);
  return paths;
}

}  // namespace commands
