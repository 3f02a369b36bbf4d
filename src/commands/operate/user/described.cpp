#include "commands/operate/user/described.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;

UserTarget target_of(const UserTarget& target, const std::string& name) {
  UserTarget own = target;
  own.name = name;
  return own;
}

/// "-requests.nvidia.com/gpu: 1" and "+requests.nvidia.com/gpu: 2", of entries that differ.
std::string quota_diff(const std::map<std::string, std::string>& before,
                       const std::map<std::string, std::string>& after) {
  std::string text;
  for (const auto& [entry, amount] : before) {
    const auto found = after.find(entry);
    if (found != after.end() && found->second == amount) continue;
    if (found != after.end() || workload::is_limited_by_gpuadm(entry))
      text += fmt::format("-{}: {}\n", entry, amount);
  }
  for (const auto& [entry, amount] : after)
    if (const auto found = before.find(entry); found == before.end() || found->second != amount)
      text += fmt::format("+{}: {}\n", entry, amount);
  return text;
}

bool changes_quota(const UserChanges& changes) {
  return std::ranges::any_of(changes.changed, is_limit);
}

}  // namespace

Result<DescribedUsers> compare_users(const spec::Cluster& cluster, const UserTarget& target,
                                     session::ClusterClient& client) {
  const UsersSurvey survey = TRY(survey_users(client));
  DescribedUsers users;
  std::vector<base::Error> refused;
  for (const spec::User& user : cluster.users) {
    UserAsked asked{user, target_of(target, user.name), WrittenIn::cluster_file, cluster.name,
                    kubeconfig_file_of(cluster, user.name)};
    auto addition = plan_addition(asked, survey, client);
    if (addition && !addition->empty()) users.changes.push_back({std::move(asked), std::move(*addition)});
    if (addition) continue;
    const Fault fault = addition.error().fault;
    if (fault != Fault::blocked && fault != Fault::usage) return std::unexpected(addition.error());
    refused.push_back(base::at_place(std::move(addition).error(), target.hosts.file.string(), user.mark,
                                     "user " + user.name));
  }
  if (!refused.empty()) return std::unexpected(base::joined(refused));
  for (const workload::UserState& user : survey.users)
    if (!spec::find_user(cluster, user.name)) users.not_listed.push_back(user.name);
  return users;
}

std::string title_of(const UserAddition& addition) {
  const std::string& name = addition.plan.request.name;
  if (!addition.existing) return "Add the user " + name;
  const bool only_quota = addition.existing->has_rights && !addition.needs_certificate;
  return (only_quota && changes_quota(addition.changes) ? "Change the quota of the user "
                                                        : "Complete the user ") +
         name;
}

std::string diff_of(const UserAddition& addition) {
  std::string text;
  if (addition.existing && changes_quota(addition.changes))
    text += quota_diff(addition.existing->hard, addition.plan.quota.hard);
  for (const std::string& line : lines_of(addition)) text += "+" + line + "\n";
  if (addition.needs_certificate)
    text +=
        fmt::format("+write the kubeconfig {}\n", base::printable(addition.credentials.file.string(), 300));
  return text;
}

std::vector<std::string> notes_of(const DescribedUsers& users) {
  std::vector<std::string> notes;
  for (const DescribedUser& user : users.changes)
    for (const std::string& note : user.addition.notes)
      notes.push_back(fmt::format("user {}: {}", user.asked.user.name, note));
  if (!users.changes.empty())
    if (const std::string& note = users.changes.front().addition.cluster_note; !note.empty())
      notes.push_back(note);
  return notes;
}

std::string note_of_not_listed(const std::string& name, const UserTarget& target) {
  return fmt::format("the cluster has the user {}, which {} does not list: {}", base::printable(name, 80),
                     base::printable(target.hosts.file.string(), 300),
                     user_command("remove", target_of(target, base::printable(name, 80))));
}

}  // namespace commands
