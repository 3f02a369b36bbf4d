#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/assets/assets.hpp"
#include "gpuadm/plan/plan.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/report/reporters.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "app/census.hpp"
#include "app/run_folder.hpp"

namespace app {

/// What a playbook is conducted with.
struct Score {
  const spec::Cluster& cluster;
  const assets::Store& assets;
  const playbook::Library& library;
  const assets::Bundle* bundle = nullptr;
  plan::Choice choice;
  Consent consent = Consent::ask;
};

/// A plan that is ready.
struct Performance {
  const assets::Store& assets;
  plan::Plan plan;
  std::vector<std::string> hosts;
  Consent consent = Consent::ask;
  std::function<Result<plan::Plan>()>
      again;  ///< the same plan from facts of now; only where a stage refreshes
};

/// Preview with diffs, the question, locks, stages, unlock. Everything is told to `reporter` and saved in
/// `folder`.
[[nodiscard]] Result<Outcome> perform(const Performance& performance, transport::Fleet& fleet,
                                      report::Reporter& reporter, const RunFolder& folder, Io& io);

/// The same from facts: makes the plan, and makes it again where a stage asks for fresh facts.
[[nodiscard]] Result<Outcome> conduct(const Score& score, const Seen& seen, transport::Fleet& fleet,
                                      report::Reporter& reporter, const RunFolder& folder, Io& io);

/// Events to the terminal (or nowhere but the files, for Format::json), to events.jsonl and to the final
/// report.
class Telling {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Telling>> open(const RunFolder& folder, Format format, Io& io);
  [[nodiscard]] report::Reporter& reporter() { return *all_; }
  /// Prints and saves the folded report.
  [[nodiscard]] Result<> close(const RunFolder& folder, Format format, Io& io);

 private:
  std::unique_ptr<report::Reporter> terminal_, file_, all_;
  report::Collector collector_;
};

}  // namespace app
