#pragma once

#include "gpuadm/bundle/bundle.hpp"

#include "commands/install/bring_up.hpp"
#include "commands/install/closing.hpp"
#include "commands/install/identity.hpp"

#include <optional>
#include <string>
#include <vector>

/// The stages of bring_up after the hosts were read, in their order.
namespace commands {

/// What is known once the hosts were read. Everything outlives it.
struct BringUpRun {
  const InitOptions& options;
  const BringUp& setup;
  const assets::Store& assets;
  const playbook::Library& library;
  const plan::Choice& choice;
  const bundle::Bundle* bundle;  ///< or nullptr
  const session::RunContext& session;
  const session::Survey& survey;
  const Identity& identity;
};

/// What follows from it.
struct Decided {
  std::optional<playbook::ChosenVersion> version;  ///< nothing: no host is to be a control-plane node
  spec::Decisions decisions;
  std::vector<std::string> notes;  ///< for the operator, before the question
};

/// Chooses the version, the drivers and the sources of programs. Fault::blocked if the hosts run another
/// version than the bundle's.
[[nodiscard]] Result<Decided> decide(const BringUpRun& run);

/// Evaluates and prints the checks; whether one blocks.
[[nodiscard]] Result<bool> is_blocked(const BringUpRun& run, const Decided& decided, Io& io);

/// Chooses the patch of the version as the sources of the hosts offer it, and saves the decisions.
[[nodiscard]] Result<> resolve_version(const BringUpRun& run, Decided& decided);

/// The measured state of the cluster, for people; with -o json, prints the kubeconfig's path to standard
/// error. Pods compute on the free GPUs of the hosts that the run has changed.
[[nodiscard]] Result<> conclude(const BringUpRun& run, const session::PlaybookRun& executed,
                                const CountedRun& ran, Io& io);

}  // namespace commands
