#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"
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

/// Runs shell programs on hosts. The only room that knows how; libssh2 lives here.
namespace transport {

using base::Result;

/// Whether a command may change the host. A read-only transport refuses the ones that do.
enum class Effect { reads, changes };
/// As root: directly, or through sudo. As the login user otherwise.
enum class As { root, login };

/// Whether a recording may hold what a program prints.
enum class Output { plain, secret };

/// Whether a command is still begun after a first Ctrl-C: what sets right what a run leaves behind is.
enum class Purpose { work, clean_up };

/// One program for one host.
struct Command {
  std::string label;   ///< what it does, for errors: "read the facts"
  std::string script;  ///< POSIX sh. Sent on stdin to `sh -s`; its body runs with </dev/null. Never in argv.
  Effect effect = Effect::reads;
  As as = As::root;
  Purpose purpose = Purpose::work;
  std::chrono::seconds timeout{60};
  std::size_t output_limit =
      8u << 20;  ///< bytes of stdout and of stderr each; what is over is dropped and counted
  /// A local file streamed to the program's stdin. Then the script travels as one quoted argument of `sh -c`:
  /// constant text without secrets.
  std::optional<std::filesystem::path> input;
  std::uint64_t input_offset = 0;  ///< from there on
  /// Values in the script or the output that no recording may hold.
  std::vector<base::Secret> secrets;
  /// What the program prints is itself a secret: no recording holds it.
  Output output = Output::plain;
};

/// How a program ended. A status other than zero is an answer, not an error. Killed by a signal: 128 + its
/// number.
struct Exit {
  int status = 0;
  std::string out, err;
  std::size_t dropped = 0;  ///< bytes over the limit
  double seconds = 0;       ///< from start to exit, as seen here
};

/// One host, one command at a time. Passive: it does what can be done without waiting and says what it waits
/// for.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Begins a command; connects first where that has not happened. Fails where one is running.
  virtual Result<void> start(Command command) = 0;
  /// Appends the descriptors to poll for. None while idle.
  virtual void interests(std::vector<pollfd>& into) const = 0;
  /// When advance() should be called even if no descriptor is ready. Nothing: no need.
  [[nodiscard]] virtual std::optional<base::Instant> wake() const = 0;
  /// Goes as far as possible without waiting. The exit once the command has ended; nothing while it runs; an
  /// error where the host cannot be reached, refuses the login, hangs past a deadline or drops the
  /// connection. After an error the next start() connects anew.
  virtual Result<std::optional<Exit>> advance() = 0;
  /// Ends the running command and the connection at once.
  virtual void close() = 0;
  /// Bytes of the running command's input that have been handed on.
  [[nodiscard]] virtual std::uint64_t sent() const { return 0; }
  /// "libssh2", "openssh", "local", "recorded", "read-only (…)".
  [[nodiscard]] virtual std::string kind() const = 0;
};

/// How the operator is asked, and told. Every function may be empty: then nobody can be asked.
struct Operator {
  /// Asks for something secret ("Passphrase for /home/me/.ssh/id_ed25519: "). Nothing: refused.
  std::function<std::optional<base::Secret>(const std::string& prompt)> ask_secret;
  /// One line worth telling: a new host key with its fingerprint, a move to the OpenSSH client and why.
  std::function<void(const std::string& host, const std::string& line)> notify;
};

/// Of libssh2, as it runs.
[[nodiscard]] std::string libssh2_version();

struct Options {
  spec::HostKeys host_keys = spec::HostKeys::accept_new;
  spec::SshClient client = spec::SshClient::automatic;
  spec::SudoPolicy sudo = spec::SudoPolicy::automatic;
  std::chrono::seconds connect_timeout{15};
  std::chrono::seconds keep_alive{15};
  /// The round trip from which on a large file takes two channels of the connection, so that twice as much of
  /// it is under way.
  std::chrono::milliseconds long_way{5};
  std::filesystem::path known_hosts;  ///< empty: what `ssh -G` says
  std::filesystem::path ssh_config;   ///< as `ssh -F`; empty: the operator's and the system's
  std::optional<base::Secret>
      sudo_password;  ///< asked once through the Operator where it is needed and empty
};

/// What the connections of one run share: parsed keys, passphrases and passwords asked once, the `ssh -G`
/// answers, accepted host keys. Outlives every transport made with it.
class Session;
struct SessionDelete {
  void operator()(Session* session) const;
};
using SessionPtr = std::unique_ptr<Session, SessionDelete>;
[[nodiscard]] SessionPtr make_session(Options options, Operator the_operator);

/// The transport for an endpoint: local, libssh2 or OpenSSH as the options and the host require.
[[nodiscard]] std::unique_ptr<Transport> open(Session& session, const std::string& host,
                                              const spec::Endpoint& endpoint);

/// Lets only Effect::reads through; anything else is Fault::bug naming the command. A dry run is this.
[[nodiscard]] std::unique_ptr<Transport> read_only(std::unique_ptr<Transport> inner);

/// Replays a recording: a folder with one sub-folder per answer, see docs/reference/recordings.md. A command
/// without an answer is Fault::remote.
[[nodiscard]] std::unique_ptr<Transport> recorded(const std::filesystem::path& folder);

/// Passes everything through and writes each answer to a folder that recorded() reads.
[[nodiscard]] std::unique_ptr<Transport> recording(std::unique_ptr<Transport> inner,
                                                   const std::filesystem::path& folder);

}  // namespace transport
