#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"
#include "gpuadm/base/shared_text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Runs shell programs on hosts. Only this layer does; libssh2 is used here.
namespace transport {

using base::Result;

/// Whether a command may change the host. A read-only transport rejects commands that do.
enum class Effect { reads, changes };
/// As root: directly, or through sudo. Otherwise as the login user.
enum class As { root, login };

/// Whether a command is still started after the first Ctrl-C: cleanup commands are. keep_alive: one that only
/// renews the lock of the host; see Fleet::submit.
enum class Purpose { work, clean_up, keep_alive };

/// One program for one host.
struct Command {
  std::string label;  ///< what it does, for errors: "read the facts"
  base::SharedText
      script;  ///< POSIX sh. Sent on stdin to `sh -s`; its body runs with </dev/null. Never in argv.
  Effect effect = Effect::reads;
  As as = As::root;
  Purpose purpose = Purpose::work;
  std::chrono::seconds timeout{60};
  std::size_t output_limit =
      8u << 20;  ///< limit for stdout and stderr each, in bytes; the rest is dropped and counted
  /// A local file for the program's stdin. The script is then passed as one quoted argument of `sh -c`:
  /// constant text without secrets.
  std::optional<std::filesystem::path> input;
  std::uint64_t input_offset = 0;  ///< start of the input in the file
  /// It needs only kubectl and the kubeconfig that playbooks/kubeconfig.sh finds, and so can also run on the
  /// operator's machine with the operator's kubeconfig.
  bool api = false;
};

/// How a program ended. A status other than zero is a result, not an error. Killed by a signal: 128 + its
/// number.
struct Exit {
  int status = 0;
  std::string out, err;
  std::size_t dropped = 0;  ///< bytes over the limit
  double seconds = 0;       ///< from start to exit, measured locally
};

/// One host, one command at a time. Passive: makes progress without blocking, and returns what it waits for.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Starts a command; connects first if necessary. Fails if one is running.
  virtual Result<void> start(Command command) = 0;
  /// Appends the descriptors to poll for. None while idle.
  virtual void interests(std::vector<pollfd>& into) const = 0;
  /// When advance() must be called even if no descriptor is ready. Nothing: not required.
  [[nodiscard]] virtual std::optional<base::Instant> wake() const = 0;
  /// Makes progress without blocking. Returns the exit once the command has ended; nothing while it is
  /// running; an error if the host is unreachable, rejects the login, exceeds a deadline or drops the
  /// connection. After an error, the next start() reconnects.
  virtual Result<std::optional<Exit>> advance() = 0;
  /// Ends the running command and the connection immediately.
  virtual void close() = 0;
  /// Bytes of the running command's input that have been sent.
  [[nodiscard]] virtual std::uint64_t sent() const { return 0; }
  /// "libssh2", "openssh", "local", "read-only (…)".
  [[nodiscard]] virtual std::string kind() const = 0;
};

/// Prompts and notices for the operator. All functions may be empty: then prompts are impossible.
struct Operator {
  /// Prompts for a secret ("Passphrase for /home/me/.ssh/id_ed25519: "). Nothing: refused.
  std::function<std::optional<base::Secret>(const std::string& prompt)> ask_secret;
  /// A notice: a new host key with its fingerprint, a switch to the OpenSSH client and the reason.
  std::function<void(const std::string& host, const std::string& line)> notify;
};

/// Version of libssh2 at run time.
[[nodiscard]] std::string libssh2_version();

struct Options {
  spec::HostKeys host_keys = spec::HostKeys::accept_new;
  spec::SshClient client = spec::SshClient::automatic;
  spec::SudoPolicy sudo = spec::SudoPolicy::automatic;
  std::chrono::seconds connect_timeout{15};
  std::chrono::seconds keep_alive{15};
  /// The round-trip time above which a large file uses two channels of the connection, which doubles the
  /// amount of data in flight.
  std::chrono::milliseconds long_way{5};
  /// The size, in bytes, from which a file is sent by the OpenSSH client where it can log in by itself,
  /// unless the file uses two channels.
  std::uint64_t openssh_from = 64u << 20;
  std::filesystem::path known_hosts;  ///< empty: from `ssh -G`
  std::filesystem::path ssh_config;   ///< for `ssh -F`; empty: the user's and the system's
  std::optional<base::Secret>
      sudo_password;  ///< prompted for once through the Operator if it is required and empty
};

/// Shared by the connections of one run: parsed keys, passphrases and passwords, the results of `ssh -G`,
/// accepted host keys. Outlives all transports created with it.
class Session;
struct SessionDelete {
  void operator()(Session* session) const;
};
using SessionPtr = std::unique_ptr<Session, SessionDelete>;
[[nodiscard]] SessionPtr make_session(Options options, Operator the_operator);

/// The transport for an endpoint: local, libssh2 or OpenSSH, as required by the options and the host.
[[nodiscard]] std::unique_ptr<Transport> open(Session& session, const std::string& host,
                                              const spec::Endpoint& endpoint);

/// Runs commands with Command::api as the login user, with this kubeconfig in place of an administrator's and
/// in this namespace; any other needs a host, and is Fault::usage.
[[nodiscard]] std::unique_ptr<Transport> with_kubeconfig(std::unique_ptr<Transport> local,
                                                         const spec::Endpoint& endpoint);

/// Lets only Effect::reads through; anything else is Fault::bug with the command. Used for dry runs.
[[nodiscard]] std::unique_ptr<Transport> read_only(std::unique_ptr<Transport> inner);

}  // namespace transport
