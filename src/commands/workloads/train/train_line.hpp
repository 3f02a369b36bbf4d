#pragma once

#include "commands/shared_options.hpp"
#include "commands/workloads/train/train.hpp"

/// Options that commands of `gpuadm train` share.
namespace commands {

/// What a job is: of run and check.
void add_job(Line& line, TrainRunOptions& options);
/// NAME, the hosts, the namespace and the connection of an existing job.
void add_existing_job(Line& line, TrainOptions& options);
/// `--detach`
void add_detach(Line& line, bool& detach);
/// `-o`: text or JSON
void add_train_format(Line& line, TrainForm& form);

}  // namespace commands
