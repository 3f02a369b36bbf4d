#pragma once

#include "gpuadm/transport/transport.hpp"

#include <memory>
#include <string>
#include <utility>

namespace transport {

/// A transport around another, which only decides what is started.
class Wrapped : public Transport {
 public:
  /// `name`: in kind(), before that of the inner one.
  Wrapped(std::unique_ptr<Transport> inner, std::string name)
      : inner_(std::move(inner)), name_(std::move(name)) {}
  Result<void> start(Command command) override { return inner_->start(std::move(command)); }
  void interests(std::vector<pollfd>& into) const override { inner_->interests(into); }
  std::optional<base::Instant> wake() const override { return inner_->wake(); }
  Result<std::optional<Exit>> advance() override { return inner_->advance(); }
  void close() override { inner_->close(); }
  std::uint64_t sent() const override { return inner_->sent(); }
  std::string kind() const override { return name_ + " (" + inner_->kind() + ")"; }

 private:
  std::unique_ptr<Transport> inner_;
  std::string name_;
};

}  // namespace transport
