#pragma once

#include "gpuadm/workload/notebook.hpp"

#include "commands/command.hpp"
#include "commands/run_summary.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// `gpuadm up`: from a machine to a notebook on it. Each stage is the function of an existing command.
namespace commands {

struct UpOptions {
  Common common;
  Hosts hosts;
  workload::NotebookRequest notebook{.name = {}, .gpus = {}};  ///< an empty name: no notebook
  bool tunnel = true;      ///< whether it stays, and keeps a tunnel to the notebook open
  std::uint16_t port = 0;  ///< of the tunnel on this machine; 0: any that is free
  std::filesystem::path bundle, bundle_signers;
  std::string kubernetes_version, region, driver;
  Consent consent = Consent::ask;
  Rebooting reboots = Rebooting::done;
  Format format = Format::text;
};

/// A stage that has ended.
struct StageResult {
  Outcome outcome = Outcome::done;
  std::string detail;    ///< of a stage that is done
  bool worked = false;   ///< whether it had something to do: its time is that of the next run
  std::string why = {};  ///< a stage that is not done; empty: its outcome says it
};

/// What the stages pass on.
struct UpRun {
  const UpOptions& options;
  workload::NotebookRequest notebook;    ///< as requested, with what the cluster decides
  bool exists = false;                   ///< the notebook, before this run
  std::optional<Computed> computed;      ///< by the stage verify
  int changed = 0, needed = 0;           ///< steps of the stage that runs now
  std::vector<std::string> titles = {};  ///< of its needed steps
  std::vector<std::string> notes = {};   ///< of its run: "31 steps are needed on gpu1"
  std::function<void(const std::string& url)> on_url = {};
};

struct Stage {
  const char* name;
  std::function<Result<StageResult>(UpRun& run, Io& io)> run;
};

/// The stages in their order: doctor, init, verify, and for a notebook storage, notebook, tunnel.
[[nodiscard]] std::vector<Stage> up_stages(const UpOptions& options);

/// The previews of doctor and init: StageResult::outcome is `blocked` if the hosts do not allow it.
[[nodiscard]] Result<StageResult> preview_fixes(UpRun& run, Io& io);
[[nodiscard]] Result<StageResult> preview_init(UpRun& run, Io& io);

/// Refuses options that do not fit together, without a connection: Fault::usage.
[[nodiscard]] Result<> check_up(const UpOptions& options);

/// How many GPUs the hosts have: for the question.
struct UpSurvey {
  std::size_t gpus = 0;
  std::string models;
};
[[nodiscard]] Result<UpSurvey> survey_for_up(const UpOptions& options, Io& io);

/// What was measured at the end: closing_text.
[[nodiscard]] Result<std::string> up_closing(const UpRun& run, Io& io);

/// Lists the stages and asks, unless -y was given, and runs them one after the other. Fault::usage without a
/// terminal for the question.
[[nodiscard]] Result<Outcome> run_up(const UpOptions& options, Io& io);

}  // namespace commands
