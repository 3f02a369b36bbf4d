#pragma once

#include "kube/pod/context.hpp"

#include <array>
#include <map>
#include <span>

/// Tables that name the reason behind a message of the kubelet, the container runtime or a program.
namespace kube::pod {

/// `parts`: one of them is in the message, in any case; unused ones are empty. `{name}` in `what` and `fix`
/// is replaced.
struct Pattern {
  std::array<std::string_view, 6> parts;
  std::string_view reason, what, fix;
};

/// The first pattern that a message matches, or nullptr.
[[nodiscard]] const Pattern* match(std::span<const Pattern> patterns, std::string_view message);

/// Values for `{name}`.
using Words = std::map<std::string, std::string>;
/// {node}, {pod}, {space}, {container}, {image} of the pod and the container.
[[nodiscard]] Words words_of(const Context& context, const Container* container);
[[nodiscard]] std::string fill(std::string_view text, const Words& words);

/// The link that a pattern describes.
[[nodiscard]] PodLink broken(std::string link, const Pattern& pattern, const Words& words,
                             std::vector<std::string> seen);

}  // namespace kube::pod
