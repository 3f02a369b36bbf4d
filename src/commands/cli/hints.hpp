#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Suggested commands: every one acts on the hosts that the operator has typed.
namespace commands {

/// What a command line selects: hosts, the cluster file, and the options that a suggested command repeats.
struct TypedLine {
  std::vector<std::string> targets;               ///< as they were typed: "root@192.0.2.10"
  std::string file;                               ///< of -f; empty: none
  std::vector<std::vector<std::string>> options;  ///< {"--user", "ubuntu"}: connection, namespace, assets
};

/// Reads a command line, which begins with the program's name. Unknown words are ignored.
[[nodiscard]] TypedLine typed_line(std::span<const std::string> line);

/// A command of gpuadm within a sentence.
struct Suggestion {
  std::size_t begin = 0, end = 0;  ///< its place in the sentence
  std::vector<std::string> words;  ///< {"gpuadm", "logs", "kubelet", "gpu1"}
};
/// A command begins with `gpuadm` and the name of a command, and ends at a backquote, at punctuation, or at a
/// word of prose: "gpuadm storage list shows them".
[[nodiscard]] std::vector<Suggestion> suggestions_in(std::string_view sentence);

/// The sentence whose commands select what was typed, as far as each has such arguments and does not say it
/// itself: "gpuadm logs kubelet gpu1" becomes "gpuadm logs kubelet gpu1 -f cluster.yaml", or "gpuadm logs
/// kubelet root@gpu1". Idempotent.
[[nodiscard]] std::string complete_hint(std::string_view sentence, const TypedLine& typed);

}  // namespace commands
