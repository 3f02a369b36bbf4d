#include "gpuadm/base/json.hpp"

#include "app/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace app {

Result<Outcome> explain(const std::string& id, Io& io) {
  TRY(known_ids(std::vector{id}));
  for (const checks::About& about : every_check())
    if (matches(about.id, id)) io.out(fmt::format("{}\n  {}\n  {}\n", about.id, about.title, about.why));
  return Outcome::done;
}

Result<Outcome> version(Format format, Io& io) {
  io.out(format == Format::json ? base::json::write(base::Tree::map_of({{"gpuadm", GPUADM_VERSION}})) + "\n"
                                : "gpuadm " GPUADM_VERSION "\n");
  return Outcome::done;
}

}  // namespace app
