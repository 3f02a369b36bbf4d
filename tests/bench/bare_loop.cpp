// The floor to measure against: what libssh2 alone costs to run one script on many hosts, in one thread and
// one poll loop. It reads the private key and the known hosts once, keeps a window of hosts in flight, writes
// every host's output to stdout in whole, and knows nothing else: no configuration, no deadlines, no
// questions.
//
// usage: bare_loop HOSTS SCRIPT KEY KNOWN_HOSTS PORT [WINDOW]
// HOSTS: a file with an IPv4 address a line. KEY: an ed25519 private key, with KEY.pub next to it. The user
// is root.

#include <libssh2.h>
#include <openssl/evp.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) std::fprintf(stderr, "bare_loop: cannot read %s\n", path.c_str()), std::exit(2);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<unsigned char> from_base64(const std::string& text) {
  std::vector<unsigned char> bytes(text.size());
  const int length = EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  bytes.resize(static_cast<std::size_t>(length) - (text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0));
  return bytes;
}

/// The second word of an OpenSSH public key line.
std::string key_word(const std::string& line) {
  const std::size_t start = line.find(' ') + 1;
  return line.substr(start, line.find_first_of(" \n", start) - start);
}

struct Job {
  std::string script, host_key;
  std::vector<unsigned char> public_key;
  EVP_PKEY* private_key = nullptr;
  std::uint16_t port = 22;
};

/// An unencrypted OpenSSH ed25519 key: all before its 32 secret bytes has a fixed length.
EVP_PKEY* read_private_key(const std::string& path) {
  constexpr std::size_t secret = 161;
  std::string body;
  const std::string text = read_file(path);
  for (std::size_t at = text.find('\n'); at < text.size() && text[at] != '-'; ++at)
    if (text[at] != '\n') body += text[at];
  const std::vector<unsigned char> bytes = from_base64(body);
  if (bytes.size() < secret + 32)
    std::fprintf(stderr, "bare_loop: %s: no such key\n", path.c_str()), std::exit(2);
  return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes.data() + secret, 32);
}

int sign(LIBSSH2_SESSION*, unsigned char** signature, std::size_t* length, const unsigned char* data,
         std::size_t size, void** abstract) {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  *length = 64;
  *signature = static_cast<unsigned char*>(std::malloc(*length));
  const bool good =
      EVP_DigestSignInit(context, nullptr, nullptr, nullptr, static_cast<EVP_PKEY*>(*abstract)) == 1 &&
      EVP_DigestSign(context, *signature, length, data, size) == 1;
  EVP_MD_CTX_free(context);
  return good ? 0 : -1;
}

struct Host {
  enum class At { connect, handshake, login, channel, exec, send, end, receive, closed, done, failed };
  std::string name;
  At at = At::connect;
  int socket = -1;
  LIBSSH2_SESSION* session = nullptr;
  LIBSSH2_CHANNEL* channel = nullptr;
  std::size_t sent = 0;
  std::string out;
  void* key = nullptr;

  void begin(const Job& job) {
    socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(job.port);
    ::inet_pton(AF_INET, name.c_str(), &address.sin_addr);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 && errno != EINPROGRESS)
      at = At::failed;
    session = libssh2_session_init();
    libssh2_session_set_blocking(session, 0);
  }

  void finish() {
    if (session) {
      libssh2_session_disconnect(session, "done");
      libssh2_session_free(session);
    }
    ::close(socket);
    session = nullptr;
  }

  /// Enters the next state if `status` is good; returns whether to try again at once.
  bool next(long status, At then) {
    if (status == LIBSSH2_ERROR_EAGAIN) return false;
    at = status < 0 ? At::failed : then;
    return at != At::failed;
  }

  bool step(const Job& job) {
    switch (at) {
      case At::connect: {
        int error = 0;
        socklen_t size = sizeof error;
        ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
        return next(error ? -1 : 0, At::handshake);
      }
      case At::handshake: {
        const int status = libssh2_session_handshake(session, socket);
        if (status == 0) {
          std::size_t length = 0;
          int type = 0;
          const char* shown = libssh2_session_hostkey(session, &length, &type);
          if (std::string_view(shown, length) != job.host_key) return next(-1, At::failed);
        }
        return next(status, At::login);
      }
      case At::login:
        key = job.private_key;
        return next(libssh2_userauth_publickey(session, "root", job.public_key.data(), job.public_key.size(),
                                               sign, &key),
                    At::channel);
      case At::channel:
        channel = libssh2_channel_open_session(session);
        return next(channel ? 0 : libssh2_session_last_errno(session), At::exec);
      case At::exec:
        return next(libssh2_channel_exec(channel, "/bin/sh -s"), At::send);
      case At::send: {
        const ssize_t count =
            libssh2_channel_write(channel, job.script.data() + sent, job.script.size() - sent);
        if (count > 0) sent += static_cast<std::size_t>(count);
        return next(count, sent == job.script.size() ? At::end : At::send);
      }
      case At::end:
        return next(libssh2_channel_send_eof(channel), At::receive);
      case At::receive: {
        char buffer[32768];
        ssize_t count = libssh2_channel_read(channel, buffer, sizeof buffer);
        if (count > 0) out.append(buffer, static_cast<std::size_t>(count));
        if (count == 0 && !libssh2_channel_eof(channel)) count = LIBSSH2_ERROR_EAGAIN;
        return next(count, count == 0 ? At::closed : At::receive);
      }
      case At::closed:
        return next(libssh2_channel_wait_closed(channel), At::done);
      case At::done:
      case At::failed:
        return false;
    }
    return false;
  }

  [[nodiscard]] pollfd interest() const {
    if (at == At::connect) return {socket, POLLOUT, 0};
    const int directions = libssh2_session_block_directions(session);
    const int events = (directions & LIBSSH2_SESSION_BLOCK_INBOUND ? POLLIN : 0) |
                       (directions & LIBSSH2_SESSION_BLOCK_OUTBOUND ? POLLOUT : 0);
    return {socket, static_cast<short>(events), 0};
  }
};

/// Runs the script everywhere; returns how many hosts failed.
int run(const Job& job, const std::vector<std::string>& names, std::size_t window) {
  std::vector<Host> hosts;
  hosts.reserve(window);
  std::vector<pollfd> polls;
  std::size_t started = 0;
  int failed = 0;
  while (started < names.size() || !hosts.empty()) {
    while (hosts.size() < window && started < names.size()) {
      hosts.push_back({.name = names[started++]});
      hosts.back().begin(job);
    }
    polls.clear();
    for (const Host& host : hosts) polls.push_back(host.interest());
    if (::poll(polls.data(), polls.size(), 60000) <= 0)
      return std::fprintf(stderr, "bare_loop: timed out\n"), 1;
    for (std::size_t i = polls.size(); i-- > 0;) {
      if (polls[i].revents == 0 && hosts[i].at != Host::At::failed) continue;
      while (hosts[i].step(job)) {
      }
      if (hosts[i].at != Host::At::done && hosts[i].at != Host::At::failed) continue;
      if (hosts[i].at == Host::At::failed)
        ++failed, std::fprintf(stderr, "bare_loop: %s failed\n", hosts[i].name.c_str());
      std::fwrite(hosts[i].out.data(), 1, hosts[i].out.size(), stdout);
      hosts[i].finish();
      std::swap(hosts[i], hosts.back());
      hosts.pop_back();
    }
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6)
    return std::fprintf(stderr, "usage: bare_loop HOSTS SCRIPT KEY KNOWN_HOSTS PORT [WINDOW]\n"), 2;
  Job job;
  job.script = read_file(argv[2]);
  job.private_key = read_private_key(argv[3]);
  job.public_key = from_base64(key_word(read_file(std::string(argv[3]) + ".pub")));
  // Every host here has one key: the third word of any line of known_hosts.
  const std::string known = read_file(argv[4]);
  const std::vector<unsigned char> host_key = from_base64(key_word(known.substr(known.find(' ') + 1)));
  job.host_key.assign(host_key.begin(), host_key.end());
  job.port = static_cast<std::uint16_t>(std::atoi(argv[5]));

  std::vector<std::string> names;
  std::ifstream list(argv[1]);
  for (std::string line; std::getline(list, line);) names.push_back(line);
  libssh2_init(0);
  return run(job, names, argc > 6 ? static_cast<std::size_t>(std::atoi(argv[6])) : 64) == 0 ? 0 : 1;
}
