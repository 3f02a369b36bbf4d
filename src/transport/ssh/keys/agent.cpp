#include "transport/ssh/keys/agent.hpp"

#include "transport/ssh/keys/bytes.hpp"

#include <fmt/format.h>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace transport {

namespace {
// draft-miller-ssh-agent, section 6
constexpr unsigned char request_identities = 11, identities_answer = 12, sign_request = 13,
                        sign_response = 14;
constexpr std::uint32_t flag_rsa_sha2_512 = 4;
constexpr std::size_t longest_answer = 256u << 10;
constexpr int timeout = 60;  // seconds

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool read_all(int fd, std::string& into, std::size_t count) {
  into.resize(count);
  for (std::size_t have = 0; have < count;) {
    const ssize_t got = ::recv(fd, into.data() + have, count - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    have += static_cast<std::size_t>(got);
  }
  return true;
}
}  // namespace

base::Result<> Agent::connect() {
  if (connection_.is_open()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path)
    return base::fail(base::Fault::auth, "no ssh-agent is running");
  std::copy(socket_.begin(), socket_.end(), address.sun_path);
  Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{timeout, 0};
  ::setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(made.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return base::fail(base::Fault::auth, fmt::format("ssh-agent at {}: {}", socket_, std::strerror(errno)));
  connection_ = std::move(made);
  return {};
}

base::Result<std::string> Agent::request(std::string_view message) {
  TRY(connect());
  std::string framed, head, answer;
  put_string(framed, message);
  if (write_all(connection_.get(), framed) && read_all(connection_.get(), head, 4)) {
    const std::uint32_t size = Reader(head).u32();
    if (size > 0 && size <= longest_answer && read_all(connection_.get(), answer, size)) return answer;
  }
  connection_.reset();
  return base::fail(base::Fault::auth, fmt::format("ssh-agent at {} does not answer", socket_));
}

const std::vector<Agent::Key>& Agent::keys() {
  if (asked_) return keys_;
  asked_ = true;
  const auto answer = request(std::string(1, static_cast<char>(request_identities)));
  if (!answer) return keys_;
  Reader reader(*answer);
  if (reader.u8() != identities_answer) return keys_;
  for (std::uint32_t left = reader.u32(); left > 0; --left) {
    Key key{std::string(reader.string()), std::string(reader.string())};
    if (!reader.good()) break;
    keys_.push_back(std::move(key));
  }
  return keys_;
}

base::Result<std::string> Agent::sign(std::string_view blob, std::string_view data) {
  std::string message(1, static_cast<char>(sign_request));
  put_string(message, blob);
  put_string(message, data);
  put_u32(message, Reader(blob).string() == "ssh-rsa" ? flag_rsa_sha2_512 : 0);
  const std::string answer = TRY(request(message));
  Reader reader(answer);
  const bool signed_it = reader.u8() == sign_response;
  Reader signature(reader.string());
  signature.string();
  const std::string_view raw = signature.string();
  if (!signed_it || !signature.good())
    return base::fail(base::Fault::auth, fmt::format("ssh-agent at {} refuses to sign", socket_));
  return std::string(raw);
}

}  // namespace transport
