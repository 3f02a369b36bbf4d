#include "kube/pod/patterns.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>

namespace kube::pod {

const Pattern* match(std::span<const Pattern> patterns, std::string_view message) {
  const std::string text = base::lower(message);
  for (const Pattern& pattern : patterns)
    for (const std::string_view part : pattern.parts)
      if (!part.empty() && text.find(base::lower(part)) != std::string::npos) return &pattern;
  return nullptr;
}

Words words_of(const Context& context, const Container* container) {
  Words words = {{"node", context.pod.node}, {"pod", context.pod.name}, {"namespace", context.pod.ns}};
  if (container) {
    words["container"] = container->name;
    words["image"] = container->image.empty() ? "of the pod" : container->image;
  }
  return words;
}

std::string fill(std::string_view text, const Words& words) {
  // Values are not searched for further names.
  std::string filled;
  while (!text.empty()) {
    const std::size_t begin = text.find('{');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('}', begin);
    if (end == std::string_view::npos) break;
    filled += text.substr(0, begin);
    const auto place = words.find(std::string(text.substr(begin + 1, end - begin - 1)));
    filled += place == words.end() ? std::string(text.substr(begin, end - begin + 1)) : place->second;
    text.remove_prefix(end + 1);
  }
  return filled + std::string(text);
}

PodLink broken(std::string link, const Pattern& pattern, const Words& words, std::vector<std::string> seen) {
  return broken(std::move(link), std::string(pattern.reason), fill(pattern.what, words), std::move(seen),
                fill(pattern.fix, words));
}

}  // namespace kube::pod
