#include "transport/ssh/resolver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace transport {

namespace {
using namespace std::chrono_literals;
constexpr auto first_pause = 1ms, longest_pause = 20ms;

std::vector<Address> addresses(const addrinfo* info) {
  std::vector<Address> found;
  for (; info; info = info->ai_next) {
    Address address;
    address.size = info->ai_addrlen;
    std::memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    found.push_back(address);
  }
  return found;
}
}  // namespace

struct Resolver::Lookup {
  std::string host, port;
  addrinfo hints{};
  gaicb request{};
};

std::string text_of(const Address& address) {
  char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage), address.size, host, sizeof host, port,
                sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  return fmt::format(fmt::runtime(std::strchr(host, ':') ? "[{}]:{}" : "{}:{}"), host, port);
}

Resolver::Resolver(const std::string& host, std::uint16_t port, int family)
    : host_(host), lookup_(std::make_unique<Lookup>()) {
  Lookup& lookup = *lookup_;
  lookup.host = host;
  lookup.port = std::to_string(port);
  lookup.hints.ai_family = family;
  lookup.hints.ai_socktype = SOCK_STREAM;
  lookup.hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* info = nullptr;
  if (::getaddrinfo(lookup.host.c_str(), lookup.port.c_str(), &lookup.hints, &info) == 0) {
    numeric_ = addresses(info);
    ::freeaddrinfo(info);
    return;
  }
  lookup.hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  lookup.request.ar_name = lookup.host.c_str();
  lookup.request.ar_service = lookup.port.c_str();
  lookup.request.ar_request = &lookup.hints;
  gaicb* list[] = {&lookup.request};
  if (::getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr) != 0) numeric_.emplace();
  pause_ = first_pause;
  next_ = base::Clock::now() + pause_;
}

Resolver::~Resolver() {
  if (numeric_ || !lookup_) return;
  // A look-up in progress cannot be canceled and will write to its request: the request is left to it.
  if (::gai_cancel(&lookup_->request) == EAI_NOTCANCELED)
    static_cast<void>(lookup_.release());
  else if (lookup_->request.ar_result)
    ::freeaddrinfo(lookup_->request.ar_result);
}

base::Result<std::optional<std::vector<Address>>> Resolver::poll() {
  if (!numeric_) {
    const int state = ::gai_error(&lookup_->request);
    if (state == EAI_INPROGRESS) {
      pause_ = std::min<base::Clock::duration>(pause_ * 2, longest_pause);
      next_ = base::Clock::now() + pause_;
      return std::nullopt;
    }
    if (state != 0)
      return base::fail(base::Fault::unreachable,
                        fmt::format("the name “{}” has no address: {}", host_, ::gai_strerror(state)),
                        "check the name, or use the address");
    numeric_ = addresses(lookup_->request.ar_result);
    ::freeaddrinfo(std::exchange(lookup_->request.ar_result, nullptr));
  }
  if (numeric_->empty())
    return base::fail(base::Fault::unreachable, fmt::format("the name “{}” has no address", host_));
  return *numeric_;
}

}  // namespace transport
