// Adds latency where the kernel has no netem: holds every packet of an NFQUEUE queue for a fixed time, in
// order. Only the packets' numbers are copied here; the packets stay in the kernel. Runs in the network
// namespace whose INPUT chain has
// `-j NFQUEUE --queue-num QUEUE`.
//
// usage: delay QUEUE MILLISECONDS

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Held {
  Clock::time_point until;
  std::uint32_t id;
};

/// One netlink message with attributes.
class Message {
 public:
  Message(std::uint16_t type, std::uint16_t flags, std::uint16_t queue) {
    const nlmsghdr header{0, static_cast<std::uint16_t>(NFNL_SUBSYS_QUEUE << 8 | type), flags, 0, 0};
    append(&header, sizeof header);
    const nfgenmsg body{AF_UNSPEC, NFNETLINK_V0, htons(queue)};
    append(&body, sizeof body);
  }
  template <class T>
  Message& with(std::uint16_t type, const T& value) {
    const nlattr attribute{static_cast<std::uint16_t>(sizeof(nlattr) + sizeof value), type};
    append(&attribute, sizeof attribute);
    append(&value, sizeof value);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
    return *this;
  }
  void send(int socket) {
    const auto length = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &length, sizeof length);
    if (::send(socket, bytes_.data(), bytes_.size(), 0) < 0) std::perror("delay: send"), std::exit(1);
  }

 private:
  void append(const void* data, std::size_t size) {
    const char* start = static_cast<const char*>(data);
    bytes_.insert(bytes_.end(), start, start + size);
  }
  std::vector<char> bytes_;
};

/// Sends a request and waits for its acknowledgement.
void request(int socket, Message message) {
  message.send(socket);
  std::array<char, 4096> buffer;
  const ssize_t size = ::recv(socket, buffer.data(), buffer.size(), 0);
  const auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data());
  if (size < 0 || header->nlmsg_type != NLMSG_ERROR) std::fprintf(stderr, "delay: no answer\n"), std::exit(1);
  const int error = static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
  if (error) std::fprintf(stderr, "delay: %s\n", std::strerror(-error)), std::exit(1);
}

int open_queue(std::uint16_t queue) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
  const sockaddr_nl address{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
    std::perror("delay"), std::exit(1);
  const int ns = 64 << 20, on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &ns, sizeof ns);
  ::setsockopt(socket, SOL_NETLINK, NETLINK_NO_ENOBUFS, &on, sizeof on);
  const std::uint16_t config = NFQNL_MSG_CONFIG, flags = NLM_F_REQUEST | NLM_F_ACK;
  const nfqnl_msg_config_cmd bind{NFQNL_CFG_CMD_BIND, 0, htons(AF_INET)};
  const nfqnl_msg_config_params metadata_only{0, NFQNL_COPY_META};
  const std::uint32_t whole_segments = htonl(NFQA_CFG_F_GSO);
  request(socket, Message(config, flags, queue).with(NFQA_CFG_CMD, bind));
  request(socket, Message(config, flags, queue).with(NFQA_CFG_PARAMS, metadata_only));
  request(socket, Message(config, flags, queue).with(NFQA_CFG_QUEUE_MAXLEN, std::uint32_t{htonl(200000)}));
  request(
      socket,
      Message(config, flags, queue).with(NFQA_CFG_MASK, whole_segments).with(NFQA_CFG_FLAGS, whole_segments));
  return socket;
}

/// The number of the packet that a message is about.
std::uint32_t packet_id(const char* message) {
  const auto* header = reinterpret_cast<const nlmsghdr*>(message);
  const char* at = message + NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(nfgenmsg));
  while (at < message + header->nlmsg_len) {
    const auto* attribute = reinterpret_cast<const nlattr*>(at);
    if (attribute->nla_type == NFQA_PACKET_HDR)
      return ntohl(reinterpret_cast<const nfqnl_msg_packet_hdr*>(at + NLA_HDRLEN)->packet_id);
    at += NLA_ALIGN(attribute->nla_len);
  }
  return 0;
}

void take_new(int socket, Clock::duration delay, std::deque<Held>& held) {
  alignas(nlmsghdr) std::array<char, 8192> buffer;
  for (int i = 0; i < 256; ++i) {
    const ssize_t size = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size <= 0) return;
    const auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data());
    if (header->nlmsg_type == (NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET))
      held.push_back({Clock::now() + delay, packet_id(buffer.data())});
  }
}

[[noreturn]] void run(int socket, std::uint16_t queue, Clock::duration delay) {
  std::deque<Held> held;
  for (;;) {
    timespec wait{};
    if (!held.empty()) {
      const auto left = std::max(held.front().until - Clock::now(), Clock::duration::zero());
      wait.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
      wait.tv_nsec = std::chrono::nanoseconds(left % std::chrono::seconds(1)).count();
    }
    pollfd poll{socket, POLLIN, 0};
    ::ppoll(&poll, 1, held.empty() ? nullptr : &wait, nullptr);
    take_new(socket, delay, held);
    nfqnl_msg_verdict_hdr verdict{htonl(NF_ACCEPT), 0};
    for (; !held.empty() && held.front().until <= Clock::now(); held.pop_front())
      verdict.id = htonl(held.front().id);
    if (verdict.id)
      Message(NFQNL_MSG_VERDICT_BATCH, NLM_F_REQUEST, queue).with(NFQA_VERDICT_HDR, verdict).send(socket);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: delay QUEUE MILLISECONDS\n"), 2;
  const auto queue = static_cast<std::uint16_t>(std::atoi(argv[1]));
  const int socket = open_queue(queue);
  const sched_param priority{10};
  ::sched_setscheduler(0, SCHED_RR,
                       &priority);  // keeps time while the cores are busy; without it only less well
  std::puts("ready");
  std::fflush(stdout);
  const std::chrono::duration<double, std::milli> delay(std::atof(argv[2]));
  run(socket, queue, std::chrono::duration_cast<Clock::duration>(delay));
}
