#include "gpuadm/transport/transport.hpp"

#include <fmt/format.h>

namespace transport {

namespace {
class ReadOnly final : public Transport {
 public:
  explicit ReadOnly(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}
  Result<void> start(Command command) override {
    if (command.effect != Effect::reads)
      return base::fail(base::Fault::bug,
                        fmt::format("“{}” would change the host in a dry run", command.label),
                        "report this: a dry run sends only commands that read");
    return inner_->start(std::move(command));
  }
  void interests(std::vector<pollfd>& into) const override { inner_->interests(into); }
  std::optional<base::Instant> wake() const override { return inner_->wake(); }
  Result<std::optional<Exit>> advance() override { return inner_->advance(); }
  void close() override { inner_->close(); }
  std::uint64_t sent() const override { return inner_->sent(); }
  std::string kind() const override { return "read-only (" + inner_->kind() + ")"; }

 private:
  std::unique_ptr<Transport> inner_;
};
}  // namespace

std::unique_ptr<Transport> read_only(std::unique_ptr<Transport> inner) {
  return std::make_unique<ReadOnly>(std::move(inner));
}

}  // namespace transport
