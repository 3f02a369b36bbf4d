#pragma once

#include "kube/pod/context.hpp"

#include <array>
#include <map>
#include <set>
#include <span>

/// Tables that name the reason behind a message of the kubelet, the container runtime or a program.
namespace kube::pod {

/// `parts`: one of them is in the message, in any case; unused ones are empty. `a*b`: b is somewhere after a.
/// `{name}` in `what` and `fix` is replaced. "A || B" in `fix`: B, if a word of A is unknown.
struct Pattern {
  std::array<std::string_view, 8> parts;
  std::string_view reason, what, fix;
};

/// Whether a message has a part of a pattern.
[[nodiscard]] bool has_part(std::string_view lower_message, std::string_view part);
/// The first pattern that a message matches, or nullptr.
[[nodiscard]] const Pattern* match(std::span<const Pattern> patterns, std::string_view message);

/// Values for `{name}`.
struct Words {
  std::map<std::string, std::string> known;
  std::map<std::string, std::string> fillers;  ///< for a sentence, where the value is unknown
  std::string& operator[](const std::string& name) { return known[name]; }
};
/// {node}, {pod}, {space}, {container}, {image} of the pod and the container.
[[nodiscard]] Words words_of(const Context& context, const Container* container);
[[nodiscard]] std::string fill(std::string_view text, const Words& words);
/// A fix, which gets no fillers.
[[nodiscard]] std::string fill_fix(std::string_view text, const Words& words);

/// The link that a pattern describes.
[[nodiscard]] PodLink broken(std::string link, const Pattern& pattern, const Words& words,
                             std::vector<std::string> seen);

}  // namespace kube::pod
