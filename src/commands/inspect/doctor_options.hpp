#pragma once

#include "gpuadm/checks/checks.hpp"

#include "commands/app.hpp"

/// The selections of the options of `gpuadm doctor`.
namespace commands {

/// The requested stage.
[[nodiscard]] checks::Stage stage_of(const DoctorOptions& options);

/// Whether `--only` and `--skip` select the check with this id.
[[nodiscard]] bool wanted(const DoctorOptions& options, std::string_view id);

/// Whether a finding causes exit code 3 under `--fail-on`.
[[nodiscard]] bool fails(const report::Finding& finding, const DoctorOptions& options);

}  // namespace commands
