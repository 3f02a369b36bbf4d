#include "transport/ssh/openssh.hpp"

#include "gpuadm/base/text.hpp"

#include "transport/piped.hpp"
#include "transport/ssh/keys/algorithms.hpp"
#include "transport/ssh/keys/host_key.hpp"
#include "transport/ssh/openssh_client.hpp"
#include "transport/ssh/state.hpp"

#include <fmt/format.h>

namespace transport {

namespace {
using base::Fault;
using Argv = std::vector<std::string>;
constexpr int idle_seconds = 60;  // seconds until a master connection ends after a crash of gpuadm

Argv client(const Options& options, spec::HostKeys policy, const spec::Endpoint& endpoint,
            const std::string& control, const Config& config) {
  Argv argv = openssh_client(options, policy, endpoint);
  if (const std::string ciphers = openssh_ciphers(config); !ciphers.empty())
    argv.push_back("-oCiphers=" + ciphers);
  argv.insert(argv.end(), config.client_options.begin(), config.client_options.end());
  argv.insert(argv.end(), {"-oControlMaster=auto", "-oControlPath=" + control,
                           fmt::format("-oControlPersist={}", idle_seconds), "-oClearAllForwardings=yes"});
  return argv;
}

/// SHA256:… of the last key that a file has for a name: that which was added. Empty: none.
std::string fingerprint_in(const std::string& file, const std::string& name) {
  std::string out, print;
  if (auto child = Child::spawn({"ssh-keygen", "-l", "-f", file, "-F", name}, Child::Wiring::pipes)) {
    child->wait(std::chrono::seconds(5));
    while (child->out.is_open() && Child::read(child->out, out) == Child::Read::some) {
    }
  }
  out = base::replace_all(std::move(out), "\n", " ");
  for (const auto word : base::words(out))
    if (word.starts_with("SHA256:")) print = word;
  return print;
}

// "Warning: Permanently added '[192.0.2.1]:2222' (ED25519) to the list of known hosts."
void report_new_key(const Session& session, const std::string& host, const std::vector<std::string>& files,
                    const std::string& words) {
  static constexpr std::string_view added = "Permanently added '";
  const std::size_t from = words.find(added);
  if (from == std::string::npos) return;
  const std::string name =
      words.substr(from + added.size(), words.find('\'', from + added.size()) - from - added.size());
  std::string print;
  for (const auto& file : files)
    if (print.empty()) print = fingerprint_in(file, name);
  session.notify(host, fmt::format("new host key of {}: {}, added by ssh", name,
                                   print.empty() ? "fingerprint unknown" : print));
}

std::unique_ptr<Transport> client_of(Session& session, const std::string& host,
                                     const spec::Endpoint& endpoint, const HostKeyCheck& check,
                                     const Config& config) {
  const Options& options = session.options;
  const Argv argv = client(options, check.policy(), endpoint, session.ssh->new_control_path(), config);
  Peer peer = openssh_peer(host, endpoint);
  if (!config.user.empty()) peer.user = config.user;  // the same key for a password as with libssh2
  Way way;
  way.kind = "openssh";
  way.status_from = StatusFrom::end_mark;
  way.argv = [argv, address = endpoint.address](const std::string& line) {
    Argv all = argv;
    all.insert(all.end(), {"--", address, line});
    return all;
  };
  way.connect_timeout = options.connect_timeout;
  way.failed = [peer](const std::string& words, bool begun) { return openssh_failure(peer, words, begun); };
  way.connected = [&session, host, files = check.files()](const std::string& words) {
    report_new_key(session, host, files, words);
  };
  way.hang_up = [argv, address = endpoint.address] {
    Argv all = argv;
    all.insert(all.end(), {"-O", "exit", "--", address});
    if (auto child = Child::spawn(all, Child::Wiring::pipes)) child->wait(std::chrono::seconds(5));
  };
  return piped(session, std::move(peer), std::move(way));
}

/// Reads the operator's policy from `ssh -G` first: an option on ssh's command line would override it.
class Openssh final : public Transport {
 public:
  Openssh(Session& session, std::string host, spec::Endpoint endpoint)
      : session_(session),
        host_(std::move(host)),
        endpoint_(std::move(endpoint)),
        question_{endpoint_.address, endpoint_.user, endpoint_.port} {}

  Result<void> start(Command command) override {
    if (client_) return client_->start(std::move(command));
    if (waiting_) return base::fail(Fault::bug, host_ + ": a command is running");
    waiting_ = std::move(command);
    deadline_ = session_.now() + session_.options.connect_timeout;
    return {};
  }
  void interests(std::vector<pollfd>& into) const override {
    if (client_) return client_->interests(into);
    if (waiting_) session_.ssh->configs.interests(question_, into);
  }
  std::optional<base::Instant> wake() const override {
    if (client_) return client_->wake();
    if (!waiting_) return std::nullopt;
    return session_.ssh->configs.ready(question_) ? base::Clock::now() : session_.real(deadline_);
  }
  Result<std::optional<Exit>> advance() override {
    if (!client_ && waiting_) {
      auto made = make_client();
      if (!made) waiting_.reset();
      if (!TRY(made)) return std::nullopt;
    }
    return client_ ? client_->advance() : Result<std::optional<Exit>>(std::nullopt);
  }
  void close() override {
    waiting_.reset();
    if (client_) client_->close();
  }
  std::uint64_t sent() const override { return client_ ? client_->sent() : 0; }
  std::string kind() const override { return "openssh"; }

 private:
  /// Whether the client exists and has started the command.
  Result<bool> make_client() {
    const auto config = TRY(session_.ssh->configs.ask(question_));
    if (!config && session_.now() >= deadline_)
      return base::fail(
          Fault::unreachable,
          fmt::format("{}: `ssh -G` did not answer within {}", host_,
                      base::human_seconds(static_cast<double>(session_.options.connect_timeout.count()))),
          "try: ssh -G " + endpoint_.address);
    if (!config) return false;
    const HostKeyCheck check(session_, host_, *config, endpoint_.address, endpoint_.host_key);
    TRY(check.pinned_is_not_revoked());
    if (!check.is_known() && check.policy() == spec::HostKeys::accept_new) session_.note_new_key(host_);
    client_ = client_of(session_, host_, endpoint_, check, *config);
    Command command = std::move(*waiting_);
    waiting_.reset();
    TRY(client_->start(std::move(command)));
    return true;
  }

  Session& session_;
  std::string host_;
  spec::Endpoint endpoint_;
  ConfigQuestion question_;
  base::Instant deadline_;
  std::optional<Command> waiting_;
  std::unique_ptr<Transport> client_;
};
}  // namespace

std::unique_ptr<Transport> openssh(Session& session, const std::string& host,
                                   const spec::Endpoint& endpoint) {
  return std::make_unique<Openssh>(session, host, endpoint);
}

}  // namespace transport
