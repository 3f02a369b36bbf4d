#pragma once

#include "spec/field.hpp"

namespace spec {

/// The keys of one served model, under "serve[].".
[[nodiscard]] const std::vector<Field<Served>>& served_fields();

/// The list of served models, as written.
[[nodiscard]] Type<std::vector<Served>> served_models();

/// Missing names and models, and duplicate names of a namespace. `file` is their source.
void judge_served_models(const Cluster& cluster, const Tree& file, Problems& problems);

}  // namespace spec
