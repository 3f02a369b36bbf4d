#include "transport/wrapped.hpp"

#include <fmt/format.h>

namespace transport {

namespace {
class ReadOnly final : public Wrapped {
 public:
  explicit ReadOnly(std::unique_ptr<Transport> inner) : Wrapped(std::move(inner), "read-only") {}
  Result<void> start(Command command) override {
    if (command.effect != Effect::reads)
      return base::fail(base::Fault::bug,
                        fmt::format("“{}” would change the host in a dry run", command.label),
                        "report this: a dry run sends only commands that read");
    return Wrapped::start(std::move(command));
  }
};
}  // namespace

std::unique_ptr<Transport> read_only(std::unique_ptr<Transport> inner) {
  return std::make_unique<ReadOnly>(std::move(inner));
}

}  // namespace transport
