#include "kube/pod/patterns.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace kube::pod {

namespace {

/// Replaces each `{name}`. Values are not searched for further names.
std::optional<std::string> fill_with(
    std::string_view text, const std::function<std::optional<std::string>(const std::string&)>& value_of) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t begin = text.find('{');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('}', begin);
    if (end == std::string_view::npos) break;
    filled += text.substr(0, begin);
    const std::string_view name = text.substr(begin + 1, end - begin - 1);
    const bool is_name =
        !name.empty() && std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
    if (is_name) {
      const auto value = value_of(std::string(name));
      if (!value) return std::nullopt;
      filled += *value;
    } else {
      filled += text.substr(begin, end - begin + 1);
    }
    text.remove_prefix(end + 1);
  }
  return filled + std::string(text);
}

}  // namespace

bool has_part(std::string_view lower_message, std::string_view part) {
  std::size_t from = 0;
  const std::string lower = base::lower(part);
  for (const auto& piece : base::split(lower, '*')) {
    const std::size_t at = lower_message.find(piece, from);
    if (at == std::string_view::npos) return false;
    from = at + piece.size();
  }
  return true;
}

const Pattern* match(std::span<const Pattern> patterns, std::string_view message) {
  const std::string text = base::lower(message);
  for (const Pattern& pattern : patterns)
    for (const std::string_view part : pattern.parts)
      if (!part.empty() && has_part(text, part)) return &pattern;
  return nullptr;
}

Words words_of(const Context& context, const Container* container) {
  Words words;
  const auto add = [&](const char* name, const std::string& value, const char* filler) {
    (value.empty() ? words.fillers : words.known)[name] = value.empty() ? filler : value;
  };
  add("node", context.pod.node, "");
  add("pod", context.pod.name, "");
  add("namespace", context.pod.ns, "");
  if (container) {
    add("container", container->name, "");
    add("image", container->image, "of the pod");
  }
  return words;
}

std::string fill(std::string_view text, const Words& words) {
  return *fill_with(text, [&](const std::string& name) -> std::optional<std::string> {
    for (const auto* values : {&words.known, &words.fillers})
      if (const auto place = values->find(name); place != values->end()) return place->second;
    return "{" + name + "}";
  });
}

std::string fill_fix(std::string_view text, const Words& words) {
  constexpr std::string_view next = " || ";
  const auto value_of = [&](const std::string& name) -> std::optional<std::string> {
    const auto place = words.known.find(name);
    return place == words.known.end() || place->second.empty() ? std::nullopt : std::optional(place->second);
  };
  for (std::string_view rest = text;;) {
    const std::size_t end = rest.find(next);
    if (const auto filled = fill_with(rest.substr(0, end), value_of)) return *filled;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + next.size());
  }
  for (const std::string_view general :
       {"kubectl -n {namespace} describe pod {pod}", "kubectl -n {namespace} get events"})
    if (const auto filled = fill_with(general, value_of)) return *filled;
  return "kubectl get events -A";
}

PodLink broken(std::string link, const Pattern& pattern, const Words& words, std::vector<std::string> seen) {
  return broken(std::move(link), std::string(pattern.reason), fill(pattern.what, words), std::move(seen),
                fill_fix(pattern.fix, words));
}

}  // namespace kube::pod
