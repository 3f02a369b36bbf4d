#include "transport/piped.hpp"
#include "transport/ssh/libssh2.hpp"
#include "transport/ssh/openssh.hpp"

namespace transport {

namespace {
/// libssh2, until it turns out that it does not support the host; then the OpenSSH client, with a notice.
class Automatic final : public Transport {
 public:
  Automatic(Session& session, std::string host, spec::Endpoint endpoint)
      : session_(session), host_(std::move(host)), endpoint_(std::move(endpoint)) {
    auto first = std::make_unique<Libssh2>(session_, host_, endpoint_);
    libssh2_ = first.get();
    now_ = std::move(first);
  }

  Result<void> start(Command command) override {
    if (libssh2_) command_ = command;
    return now_->start(std::move(command));
  }
  void interests(std::vector<pollfd>& into) const override { now_->interests(into); }
  std::optional<base::Instant> wake() const override { return now_->wake(); }
  Result<std::optional<Exit>> advance() override {
    auto progress = now_->advance();
    if (progress || !libssh2_ || !libssh2_->unserved()) return progress;
    session_.notify(host_, "using the OpenSSH client: " + *libssh2_->unserved());
    libssh2_ = nullptr;
    now_ = openssh(session_, host_, endpoint_);
    TRY(now_->start(std::move(command_)));
    return now_->advance();
  }
  void close() override { now_->close(); }
  std::uint64_t sent() const override { return now_->sent(); }
  std::string kind() const override { return now_->kind(); }

 private:
  Session& session_;
  std::string host_;
  spec::Endpoint endpoint_;
  Libssh2* libssh2_ = nullptr;  ///< `now_`, if it is libssh2
  std::unique_ptr<Transport> now_;
  Command command_;
};
}  // namespace

std::unique_ptr<Transport> open(Session& session, const std::string& host, const spec::Endpoint& endpoint) {
  if (endpoint.local) return local(session, host);
  session.add_host(host);
  switch (session.options.client) {
    case spec::SshClient::libssh2:
      return std::make_unique<Libssh2>(session, host, endpoint);
    case spec::SshClient::openssh:
      return openssh(session, host, endpoint);
    case spec::SshClient::automatic:
      break;
  }
  return std::make_unique<Automatic>(session, host, endpoint);
}

}  // namespace transport
