#pragma once

#include "spec/field.hpp"

namespace spec {

/// The keys of one user, under "users[].".
[[nodiscard]] const std::vector<Field<User>>& user_fields();

/// The list of users, as written.
[[nodiscard]] Type<std::vector<User>> users();

/// Missing and duplicate names, and namespaces of the cluster. `file` is their source.
void judge_users(const Cluster& cluster, const Tree& file, Problems& problems);

}  // namespace spec
