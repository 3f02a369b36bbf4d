#include "transport/piped.hpp"
#include "transport/ssh/libssh2.hpp"
#include "transport/ssh/openssh.hpp"

namespace transport {

namespace {
/// libssh2, until it turns out that it does not support the host; then the OpenSSH client, with a notice. The
/// OpenSSH client also sends large files if it can log in by itself (decision 33).
class Automatic final : public Transport {
 public:
  Automatic(Session& session, std::string host, spec::Endpoint endpoint)
      : session_(session), host_(std::move(host)), endpoint_(std::move(endpoint)) {
    auto first = std::make_unique<Libssh2>(session_, host_, endpoint_);
    libssh2_ = first.get();
    main_ = std::move(first);
  }

  Result<void> start(Command command) override {
    if (!libssh2_) return main_->start(std::move(command));
    command_ = command;
    // A key that was accepted in this run may not be in known_hosts, and ssh would accept another one.
    if (state_ == SenderState::refused || session_.has_new_key(host_) ||
        !libssh2_->is_slower_than_openssh(command))
      return main_->start(std::move(command));
    if (!sender_) sender_ = openssh(session_, host_, endpoint_);
    if (sender_->start(login_command())) {
      state_ = SenderState::logs_in;
      return {};
    }
    give_up_sender(SenderState::refused);
    return main_->start(std::move(command));
  }
  void interests(std::vector<pollfd>& into) const override { current().interests(into); }
  std::optional<base::Instant> wake() const override { return current().wake(); }
  Result<std::optional<Exit>> advance() override {
    if (state_ == SenderState::logs_in) return advance_login();
    if (state_ == SenderState::sends) return advance_sending();
    return advance_main();
  }
  void close() override {
    main_->close();
    give_up_sender(SenderState::idle);
  }
  std::uint64_t sent() const override { return current().sent(); }
  std::string kind() const override { return main_->kind(); }

 private:
  /// The OpenSSH client that sends large files while libssh2 does the rest.
  enum class SenderState { idle, logs_in, sends, refused };

  const Transport& current() const {
    return state_ == SenderState::logs_in || state_ == SenderState::sends ? *sender_ : *main_;
  }

  /// Runs before each file: if it fails, the file's program has certainly not started. Over a connection that
  /// is still open, it takes one short session.
  Command login_command() const {
    Command command;
    command.label = "log in to send a large file";
    command.script = "true";
    command.as = As::login;
    command.timeout = session_.options.connect_timeout;
    return command;
  }

  Result<std::optional<Exit>> advance_login() {
    const auto login = sender_->advance();
    if (login && !*login) return std::nullopt;
    if (login && (*login)->status == 0 && sender_->start(command_)) {
      state_ = SenderState::sends;
      return advance_sending();
    }
    give_up_sender(SenderState::refused);
    TRY(main_->start(command_));
    return advance_main();
  }

  Result<std::optional<Exit>> advance_sending() {
    auto progress = sender_->advance();
    if (!progress)
      give_up_sender(SenderState::idle);
    else if (*progress)
      state_ = SenderState::idle;
    return progress;
  }

  Result<std::optional<Exit>> advance_main() {
    auto progress = main_->advance();
    if (progress || !libssh2_ || !libssh2_->unserved()) return progress;
    session_.notify(host_, "using the OpenSSH client: " + *libssh2_->unserved());
    libssh2_ = nullptr;
    main_ = openssh(session_, host_, endpoint_);
    TRY(main_->start(std::move(command_)));
    return main_->advance();
  }

  void give_up_sender(SenderState state) {
    if (sender_) sender_->close();
    sender_.reset();
    if (state_ != SenderState::refused) state_ = state;
  }

  Session& session_;
  std::string host_;
  spec::Endpoint endpoint_;
  Libssh2* libssh2_ = nullptr;  ///< `main_`, if it is libssh2
  std::unique_ptr<Transport> main_, sender_;
  SenderState state_ = SenderState::idle;
  Command command_;  ///< the last one, while it may have to start again
};
}  // namespace

std::unique_ptr<Transport> open(Session& session, const std::string& host, const spec::Endpoint& endpoint) {
  if (!endpoint.kubeconfig.empty()) return with_kubeconfig(local(session, host), endpoint);
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
