#include "gpuadm/http/client.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "http/answer.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace http {

namespace {

using base::Fault;

constexpr std::chrono::seconds longest_poll{60};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::optional<SocketAddress> address_of(const Call& call) {
  SocketAddress made;
  auto* four = reinterpret_cast<sockaddr_in*>(&made.storage);
  auto* six = reinterpret_cast<sockaddr_in6*>(&made.storage);
  if (::inet_pton(AF_INET, call.address.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(call.port);
    made.size = sizeof *four;
    return made;
  }
  if (::inet_pton(AF_INET6, call.address.c_str(), &six->sin6_addr) != 1) return std::nullopt;
  six->sin6_family = AF_INET6;
  six->sin6_port = htons(call.port);
  made.size = sizeof *six;
  return made;
}

std::string text_of(const Call& call) {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}:{}\r\nConnection: close\r\nContent-Length: {}\r\n", call.method,
                  call.path, base::in_brackets(call.address), call.port, call.body.size());
  for (const auto& [name, value] : call.headers) text += fmt::format("{}: {}\r\n", name, value);
  return text + "\r\n" + call.body;
}

}  // namespace

struct Exchange::State {
  Call call;
  int descriptor = -1;
  std::string output;
  std::size_t sent = 0;
  Answer received;
  AnswerReader reader;
  std::optional<Result<Answer>> result;

  explicit State(Call given)
      : call(std::move(given)), output(text_of(call)), reader(call.limit, [this](std::string_view part) {
          if (call.part)
            call.part(part);
          else
            received.body += part;
        }) {
    connect();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { close(); }

  void connect() {
    const auto address = address_of(call);
    if (address)
      descriptor = ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return fail("not an address");
    const int yes = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address->storage), address->size) != 0 &&
        errno != EINPROGRESS)
      fail(std::strerror(errno));
  }

  void close() {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
  }

  void end(Result<Answer> with) {
    result = std::move(with);
    close();
  }

  void fail(std::string_view why) {
    end(base::fail(Fault::unreachable,
                   fmt::format("{}:{}{}: {}", base::in_brackets(call.address), call.port, call.path, why)));
  }

  void send() {
    while (sent < output.size()) {
      const ssize_t count = ::send(descriptor, output.data() + sent, output.size() - sent, MSG_NOSIGNAL);
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN)) return;
      if (count < 0) return fail(std::strerror(errno));
      sent += static_cast<std::size_t>(count);
    }
  }

  void receive() {
    std::array<char, 16384> buffer;
    // A server that sends faster than it is read does not keep the caller from its deadline.
    constexpr int most = 64;
    for (int i = 0; i < most && !result; ++i) {
      const ssize_t count = ::recv(descriptor, buffer.data(), buffer.size(), 0);
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN)) return;
      if (count < 0) return fail(std::strerror(errno));
      if (const auto taken = reader.take(
              std::string_view(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))));
          !taken)
        return end(std::unexpected(taken.error()));
      received.status = reader.status();
      if (reader.is_complete(count == 0)) return end(std::move(received));
      if (count == 0) return fail("the connection was closed before the answer was complete");
    }
  }
};

Exchange::Exchange(Call call) : state_(std::make_unique<State>(std::move(call))) {}
Exchange::Exchange(Exchange&&) noexcept = default;
Exchange& Exchange::operator=(Exchange&&) noexcept = default;
Exchange::~Exchange() = default;

pollfd Exchange::interest() const {
  const short writes = state_->sent < state_->output.size() ? POLLOUT : short{0};
  return {state_->descriptor, static_cast<short>(POLLIN | writes), 0};
}

void Exchange::advance() {
  if (!state_->result) state_->send();
  if (!state_->result) state_->receive();
}

bool Exchange::is_done() const {
  return state_->result.has_value();
}

const Result<Answer>& Exchange::answer() const {
  return *state_->result;
}

Result<> drive(std::span<Exchange* const> exchanges, base::Instant deadline, base::Interrupt& interrupt) {
  const auto is_done = [](const Exchange* one) { return one->is_done(); };
  while (std::ranges::none_of(exchanges, is_done)) {
    std::vector<pollfd> fds = {{interrupt.descriptor(), POLLIN, 0}};
    for (const Exchange* one : exchanges) fds.push_back(one->interest());
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::Clock::now());
    if (left.count() <= 0) return base::fail(Fault::timeout, "no answer in time");
    ::poll(
        fds.data(), fds.size(),
        static_cast<int>(std::min<long long>(left.count(), std::chrono::milliseconds(longest_poll).count())));
    if (fds.front().revents != 0 && interrupt.count() > 0)
      return base::fail(Fault::interrupted, "interrupted");
    for (std::size_t i = 0; i < exchanges.size(); ++i)
      if (fds[i + 1].revents != 0) exchanges[i]->advance();
  }
  return {};
}

Result<Answer> call(Call call, base::Instant deadline, base::Interrupt& interrupt) {
  Exchange exchange(std::move(call));
  Exchange* const only = &exchange;
  TRY(drive(std::span(&only, 1), deadline, interrupt));
  return exchange.answer();
}

}  // namespace http
