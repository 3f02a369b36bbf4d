#include "gpuadm/report/event.hpp"

namespace report {

std::string_view name_of(Did did) {
  switch (did) {
    case Did::started:
      return "started";
    case Did::satisfied:
      return "satisfied";
    case Did::needed:
      return "needed";
    case Did::applied:
      return "applied";
    case Did::waiting:
      return "waiting";
    case Did::skipped:
      return "skipped";
    case Did::failed:
      return "failed";
    case Did::cause:
      return "cause";
    case Did::note:
      return "note";
    case Did::finished:
      return "finished";
  }
  return "?";
}

base::Tree to_tree(const Event& event) {
  base::Tree tree = base::Tree::map();
  tree.set("at", base::iso8601(event.at));
  tree.set("did", name_of(event.did));
  for (const auto& [key, value] : {std::pair{"host", &event.host},
                                   {"stage", &event.stage},
                                   {"step", &event.step},
                                   {"detail", &event.detail},
                                   {"hint", &event.hint},
                                   {"diff", &event.diff},
                                   {"output", &event.output}})
    if (!value->empty()) tree.set(key, *value);
  if (event.seconds > 0) tree.set("seconds", event.seconds);
  return tree;
}

}  // namespace report
