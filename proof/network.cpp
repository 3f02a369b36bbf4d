// gpuadm-proof --network: a pod that listens, and a program that connects to others like it.
//   --listen SECONDS    echo what is sent to the port, for so long
//   --peers A,B         connect to listeners at these addresses, send bytes, and compare what comes back
//   --dns NAME          resolve NAME as /etc/resolv.conf says
//   --api               connect to KUBERNETES_SERVICE_HOST:KUBERNETES_SERVICE_PORT
//   --deadline SECONDS  for all of it together (15); what fails is tried again until then
// A line of JSON for each: {"peer":"10.244.1.3","result":"pass","ms":0.42}, or "fail" with "says".
#include "network.hpp"

#include "dns.hpp"
#include "quoted.hpp"
#include "sockets.hpp"

#include <signal.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace network {
namespace {

using sockets::Clock;
using sockets::Failed;

constexpr int port = 18472;
constexpr std::size_t payload = 32768;  // more than 20 packets of any MTU: lost large packets show
constexpr std::chrono::milliseconds an_attempt{3000}, between_attempts{200};
constexpr int most_children = 64;

struct Options {
  int listen = 0, deadline = 15;  ///< seconds
  std::vector<std::string> peers;
  std::string dns;
  bool api = false;
};

std::optional<int> seconds_of(const char* word) {
  const int seconds = std::atoi(word);
  return seconds >= 1 && seconds <= 86400 ? std::optional(seconds) : std::nullopt;
}

std::optional<Options> read(std::span<char* const> words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--api") {
      options.api = true;
      continue;
    }
    if (i + 1 == words.size()) return std::nullopt;
    const std::string value = words[++i];
    if (word == "--listen" || word == "--deadline") {
      const auto seconds = seconds_of(value.c_str());
      if (!seconds) return std::nullopt;
      (word == "--listen" ? options.listen : options.deadline) = *seconds;
    } else if (word == "--dns") {
      options.dns = value;
    } else if (word == "--peers") {
      for (std::size_t at = 0; at < value.size();) {
        const std::size_t end = std::min(value.find(',', at), value.size());
        if (end > at) options.peers.push_back(value.substr(at, end - at));
        at = end + 1;
      }
    } else {
      return std::nullopt;
    }
  }
  const bool connects = !options.peers.empty() || !options.dns.empty() || options.api;
  if ((options.listen > 0) == connects) return std::nullopt;
  return options;
}

// --- The listener ------------------------------------------------------------------------------------------

void echo(const sockets::Socket& peer) {
  alarm(20);
  char bytes[4096];
  ssize_t size = 0;
  while ((size = ::read(peer.get(), bytes, sizeof bytes)) > 0)
    for (ssize_t sent = 0; sent < size;) {
      const ssize_t now = ::write(peer.get(), bytes + sent, static_cast<std::size_t>(size - sent));
      if (now <= 0) return;
      sent += now;
    }
}

/// As process 1 of a container it gets no signal that it does not handle.
void ends_at_once(int) {
  _exit(0);
}

int listen_for(int seconds) {
  const sockets::Socket listener = sockets::listen_on(port);
  if (listener.get() < 0) {
    std::fprintf(stderr, "gpuadm-proof: cannot listen on port %d: %s\n", port, sockets::last_error().c_str());
    return 2;
  }
  for (const int number : {SIGTERM, SIGINT, SIGALRM}) ::signal(number, ends_at_once);
  alarm(static_cast<unsigned>(seconds));
  for (int children = 0;;) {
    const sockets::Socket peer = sockets::accept_from(listener);
    while (children > 0 && waitpid(-1, nullptr, children < most_children ? WNOHANG : 0) > 0) --children;
    if (peer.get() < 0) continue;
    const pid_t child = fork();
    if (child == 0) {
      echo(peer);
      _exit(0);
    }
    if (child > 0) ++children;
  }
}

// --- The program that connects -----------------------------------------------------------------------------

/// Further members of a result's line.
using Members = std::vector<std::pair<const char*, std::string>>;

void reach_peer(const std::string& address, Clock::time_point until) {
  const sockets::Socket peer = sockets::connect_to(address, port, until);
  std::string bytes(payload, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + i / 257);
  std::string back;
  try {
    sockets::exchange(peer, bytes, back, until);
  } catch (const Failed& failed) {
    throw Failed("connected, and " + std::to_string(back.size()) + " of " + std::to_string(payload) +
                 " bytes came back: " + failed.what());
  }
  if (back != bytes) throw Failed("connected, and other bytes came back than were sent");
}

/// Go's TLS server answers a request without TLS with "HTTP/1.0 400 Bad Request" (net/http, since Go 1.12);
/// an alert of TLS is an answer, too.
Members reach_api(Clock::time_point until) {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port_text = std::getenv("KUBERNETES_SERVICE_PORT");
  if (!host || !port_text) throw Failed("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  const sockets::Socket api = sockets::connect_to(host, std::atoi(port_text), until);
  sockets::send_all(api, "GET /version HTTP/1.0\r\n\r\n", until);
  const std::string answer = sockets::receive_some(api, 512, until);
  if (!answer.starts_with("HTTP/") && !answer.starts_with('\x15'))
    throw Failed("connected, and what answers is not an API server");
  return {};
}

/// Addresses of a name from one server. Over TCP where the answer does not fit into a datagram.
dns::Answer ask(const std::string& server, const std::string& name, dns::Type type, Clock::time_point until) {
  std::uint16_t id = 0;
  if (getrandom(&id, sizeof id, 0) != sizeof id) throw Failed(sockets::last_error());
  const auto query = dns::query(id, name, type);
  if (query.empty()) throw Failed(name + " is not a DNS name");
  const std::string text(query.begin(), query.end());
  for (const auto over : {sockets::Over::udp, sockets::Over::tcp}) {
    const std::string answer = sockets::ask_dns(server, text, over, until);
    const auto parsed =
        dns::parse({reinterpret_cast<const std::uint8_t*>(answer.data()), answer.size()}, id, type);
    if (!parsed) throw Failed(server + " does not answer with a DNS message");
    if (!parsed->truncated || over == sockets::Over::tcp) return *parsed;
  }
  return {};
}

/// One server's address of the name, completed as resolv.conf says; else `wrong` says why there is none.
Members ask_server(const std::string& server, const std::string& name, const dns::Config& config,
                   Clock::time_point until, std::string& wrong) {
  wrong = server + " has no address for " + name;
  for (const std::string& candidate : dns::candidates(name, config))
    for (const auto type : {dns::Type::a, dns::Type::aaaa}) {
      const dns::Answer answer = ask(server, candidate, type, std::min(until, Clock::now() + an_attempt));
      if (!answer.addresses.empty())
        return {{"server", server}, {"name", candidate}, {"address", answer.addresses.front()}};
      if (answer.code == 0) continue;
      wrong = server + " answers for " + candidate +
              (answer.code == 3 ? ": no such name" : ": error " + std::to_string(answer.code));
      break;
    }
  return {};
}

std::string text_of(const char* path) {
  std::string text(16384, '\0');
  std::FILE* file = std::fopen(path, "re");
  text.resize(file ? std::fread(text.data(), 1, text.size(), file) : 0);
  if (file) std::fclose(file);
  return text;
}

/// Every server in turn, as resolv.conf(5) does.
Members resolve(const std::string& name, Clock::time_point until) {
  const dns::Config config = dns::read_config(text_of("/etc/resolv.conf"));
  std::string wrong = "/etc/resolv.conf names no server";
  for (const std::string& server : config.servers) try {
      if (Members found = ask_server(server, name, config, until, wrong); !found.empty()) return found;
    } catch (const Failed& failed) {
      wrong = server + " port 53: " + failed.what();
    }
  throw Failed(wrong);
}

std::mutex printing;

/// Again until it succeeds or the time has passed; prints the result's line.
bool attempt(const char* kind, const std::string& target, Clock::time_point end,
             const std::function<Members(Clock::time_point until)>& act) {
  std::string line = std::string("{\"") + kind + "\":" + quoted(target);
  bool good = false;
  for (std::string wrong; !good;) {
    const auto begun = Clock::now();
    try {
      const Members members = act(std::min(end, begun + an_attempt));
      char text[32];
      std::snprintf(text, sizeof text, "%.2f",
                    std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
      line += std::string(",\"result\":\"pass\",\"ms\":") + text;
      for (const auto& [key, value] : members) line += std::string(",\"") + key + "\":" + quoted(value);
      good = true;
    } catch (const Failed& failed) {
      wrong = failed.what();
    }
    if (good) break;
    if (Clock::now() + between_attempts >= end) {
      line += ",\"result\":\"fail\",\"says\":" + quoted(wrong);
      break;
    }
    std::this_thread::sleep_for(between_attempts);
  }
  const std::lock_guard lock(printing);
  std::printf("%s}\n", line.c_str());
  std::fflush(stdout);
  return good;
}

int connect_all(const Options& options) {
  const auto end = Clock::now() + std::chrono::seconds(options.deadline);
  std::vector<std::thread> threads;
  std::vector<char> good(options.peers.size() + 2, 1);
  const auto start = [&](std::size_t at, const char* kind, const std::string& target,
                         std::function<Members(Clock::time_point)> act) {
    threads.emplace_back([&good, at, kind, target, end, act = std::move(act)] {
      good[at] = attempt(kind, target, end, act) ? 1 : 0;
    });
  };
  for (std::size_t i = 0; i < options.peers.size(); ++i)
    start(i, "peer", options.peers[i], [&peer = options.peers[i]](Clock::time_point until) {
      reach_peer(peer, until);
      return Members{};
    });
  if (!options.dns.empty())
    start(options.peers.size(), "dns", options.dns,
          [&](Clock::time_point) { return resolve(options.dns, end); });
  if (options.api) {
    const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
    const char* service_port = std::getenv("KUBERNETES_SERVICE_PORT");
    start(options.peers.size() + 1, "api",
          std::string(host ? host : "") + " port " + (service_port ? service_port : ""), reach_api);
  }
  for (std::thread& thread : threads) thread.join();
  return std::ranges::all_of(good, [](char one) { return one != 0; }) ? 0 : 1;
}

}  // namespace

int run(std::span<char* const> words) {
  const auto options = read(words);
  if (!options) {
    std::fprintf(stderr, "usage: gpuadm-proof %s\n", usage);
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  return options->listen > 0 ? listen_for(options->listen) : connect_all(*options);
}

}  // namespace network
