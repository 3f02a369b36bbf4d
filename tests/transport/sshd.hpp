#pragma once

#include "gpuadm/base/files.hpp"

#include "place.hpp"
#include "transport/child.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace testing_transport {

using namespace std::chrono_literals;

/// Whether this process may start sshd as the tests need it; says why not.
inline bool can_serve() {
  const bool root = ::geteuid() == 0;
  const bool there =
      std::filesystem::exists("/usr/sbin/sshd") && std::filesystem::exists("/usr/bin/ssh-keygen");
  if (!root) MESSAGE("left out: needs root to start a throw-away sshd");
  if (root && !there) MESSAGE("left out: needs openssh-server and openssh-client");
  return root && there;
}

inline int shell(const std::string& script) {
  return std::system(("exec >/dev/null 2>&1; " + script).c_str());
}

inline std::uint16_t free_port() {
  const transport::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

inline bool listens(std::uint16_t port) {
  const transport::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

/// A throw-away sshd on loopback with keys of its own. In a mount namespace of its own it has users of its
/// own: gpu (sudo without a password), gpupw (sudo and login with the password "let me in"), gputty
/// (requiretty), gpuno (no sudo), gpusw (a login shell that is not a shell). Root logs in by key.
class Sshd {
 public:
  explicit Sshd(const std::string& extra = "") : port(free_port()) {
    make_key("host_ed25519", "ed25519");
    write_config(extra);
    make_users();
    start();
  }
  ~Sshd() { stop(); }
  Sshd(const Sshd&) = delete;
  Sshd& operator=(const Sshd&) = delete;

  void start() {
    const std::string script =
        "cd " + place.path.string() +
        " && mount --bind passwd /etc/passwd && mount --bind shadow /etc/shadow && mount --bind group "
        "/etc/group && { ! [ -e /etc/sudoers ] || mount --bind sudoers /etc/sudoers; } && mkdir -p "
        "/run/sshd && exec /usr/sbin/sshd -D -e -f " +
        (place.path / "sshd_config").string() + " 2>>" + (place.path / "log").string();
    server_ = transport::Child::spawn({"unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script},
                                      transport::Child::Wiring::pipes)
                  .value();
    for (int i = 0; i < 2000 && !listens(port); ++i) std::this_thread::sleep_for(10ms);
    REQUIRE(listens(port));
  }
  void stop() { server_ = transport::Child(); }
  /// Ends the processes of all connections, not the listener.
  void kill_connections() {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", server_.pid()));
    for (pid_t pid = 0; children >> pid;) ::kill(pid, SIGKILL);
  }

  /// A prefix for a command: kill_running() waits until it has been run.
  [[nodiscard]] std::string begins() const { return "touch " + (place.path / "begun").string() + "; "; }
  /// Ends all connections once a command has begun; at most after a minute.
  void kill_running() {
    for (int i = 0; i < 6000 && !std::filesystem::exists(place.path / "begun"); ++i)
      std::this_thread::sleep_for(10ms);
    kill_connections();
  }

  int connections() {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", server_.pid()));
    int count = 0;
    for (pid_t pid = 0; children >> pid;) ++count;
    return count;
  }

  /// A user key of a kind, allowed in for every user. Its path.
  std::string user_key(const std::string& name, const std::string& type, const std::string& more = "") {
    make_key(name, type, more);
    const std::string pub = base::read_file(place.path / (name + ".pub")).value();
    std::ofstream(place.path / "authorized", std::ios::app) << pub;
    return (place.path / name).string();
  }
  void make_key(const std::string& name, const std::string& type, const std::string& more = "-N ''") {
    const std::string path = (place.path / name).string();
    REQUIRE(shell("rm -f " + path + "; ssh-keygen -q -t " + type + " -f " + path + " -C " + name + " " +
                  (more.empty() ? "-N ''" : more)) == 0);
  }
  /// Writes this server's host key down as known for an address.
  void make_known(const std::string& address = "127.0.0.1") const {
    std::ofstream(place.path / "known_hosts", std::ios::app)
        << fmt::format("[{}]:{} {}", address, port, base::read_file(place.path / "host_ed25519.pub").value());
  }
  std::string log() const { return base::read_file(place.path / "log").value_or(""); }
  /// How often words are in the log.
  std::size_t logged(std::string_view words) const {
    const std::string text = log();
    std::size_t count = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
    return count;
  }
  std::size_t key_logins() const { return logged("Accepted publickey"); }

  spec::Endpoint endpoint(const std::string& key, const std::string& user = "root",
                          const std::string& address = "127.0.0.1") {
    return {.address = address, .port = port, .user = user, .identity_file = key};
  }
  /// Options that keep the developer's own files out.
  transport::Options options() const {
    transport::Options options;
    options.known_hosts = place.path / "known_hosts";
    options.ssh_config = place.path / "ssh_config";
    options.client = spec::SshClient::libssh2;
    options.connect_timeout = 10s;
    return options;
  }

  Place place;
  std::uint16_t port;

 private:
  void write_config(const std::string& extra) {
    const std::string here = place.path.string();
    place.write("ssh_config", "IdentityFile none\nIdentityAgent none\n");
    place.write(
        "sshd_config",
        extra + fmt::format(
                    "\nPort {}\nListenAddress 0.0.0.0\nHostKey {}/host_ed25519\nPidFile none\nStrictModes "
                    "no\nUsePAM no\n"
                    "AuthorizedKeysFile {}/authorized\nPermitRootLogin yes\nMaxStartups 500\nMaxSessions 50\n"
                    "LogLevel VERBOSE\nPrintMotd no\nMaxAuthTries 20\nUseDNS no\n",
                    port, here, here));
    place.write("authorized", "");
  }
  void make_users() {
    std::filesystem::permissions(place.path, std::filesystem::perms(0755));
    const std::string home = (place.path / "home").string();  // root's own may hold a .bashrc
    std::filesystem::create_directory(home);
    std::string passwd = fmt::format(
        "root:x:0:0::{}:/bin/bash\nnobody:x:65534:65534::/:/usr/sbin/nologin\n"
        "sshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n",
        home);
    std::string shadow = "root:*:19000::::::\nsshd:!:19000::::::\n", group = "root:x:0:\nnogroup:x:65534:\n";
    int id = 6000;
    for (const char* name : {"gpu", "gpupw", "gputty", "gpuno", "gpusw"}) {
      const bool no_shell = std::string(name) == "gpusw";
      passwd += fmt::format("{0}:x:{1}:{1}::{2}:{3}\n", name, ++id, home,
                            no_shell ? "/usr/sbin/nologin" : "/bin/sh");
      // crypt(3) of "let me in"
      shadow += fmt::format(
          "{}:$6$gpuadmtest$rko6W3PjTm0f/FXQIBswwUUJ8Hkh5UZqqWWIFQTJ3V0RskcghPTi4WLtBmT7S.H7phqC30KSbaL/"
          "2kqB.2jCm0:19000::::::\n",
          name);
      group += fmt::format("{0}:x:{1}:\n", name, id);
    }
    place.write("passwd", passwd);
    place.write("shadow", shadow);
    place.write("group", group);
    place.write("sudoers",
                "Defaults secure_path=/usr/sbin:/usr/bin:/sbin:/bin\nDefaults:gputty requiretty\nDefaults "
                "lecture=always\n"
                "root ALL=(ALL) ALL\ngpu ALL=(ALL) NOPASSWD: ALL\ngpupw ALL=(ALL) ALL\ngputty ALL=(ALL) "
                "NOPASSWD: ALL\n");
    std::filesystem::permissions(place.path / "sudoers", std::filesystem::perms(0440));
    std::filesystem::permissions(place.path / "shadow", std::filesystem::perms(0600));
  }
  transport::Child server_;
};

inline transport::Command as_root(std::string script) {
  auto command = reads(std::move(script));
  command.as = transport::As::root;
  return command;
}

inline bool can_sudo() {
  if (!can_serve()) return false;
  if (!std::filesystem::exists("/usr/bin/sudo")) MESSAGE("left out: needs sudo");
  return std::filesystem::exists("/usr/bin/sudo");
}

/// A fleet of one host behind a session.
struct Client {
  Client(transport::Options options, const spec::Endpoint& endpoint, transport::Operator the_operator = {})
      : session(transport::make_session(std::move(options), std::move(the_operator))) {
    fleet.add("gpu7", transport::open(*session, "gpu7", endpoint));
  }
  transport::Result<transport::Exit> operator()(transport::Command command) {
    return run(fleet, "gpu7", std::move(command));
  }
  transport::Result<transport::Exit> operator()(const std::string& script) {
    return run(fleet, "gpu7", reads(script));
  }
  transport::SessionPtr session;
  transport::Fleet fleet{4, nullptr};
};

}  // namespace testing_transport
