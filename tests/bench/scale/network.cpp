#include "network.hpp"

#include <algorithm>

namespace scale {

Network::Network(const Speeds& speeds, int hosts, double size)
    : speeds_(speeds), size_(size), hosts_(static_cast<std::size_t>(hosts)) {}

void Network::receive(int host, int source) {
  Host& receiver = hosts_[at(host)];
  receiver.source = source;
  receiver.offered = receiver.has;
  receiver.last_byte = receiver.next_look = now_;
  if (source >= 0) ++hosts_[at(source)].guests;
  receiving_.push_back(host);
}

void Network::stop(int host) {
  Host& receiver = hosts_[at(host)];
  if (receiver.source == nobody) return;
  if (receiver.source >= 0) --hosts_[at(receiver.source)].guests;
  receiver.source = nobody;
  std::erase(receiving_, host);
}

void Network::advance(double now) {
  for (; now_ + step <= now; now_ += step) {
    from_client();
    from_hosts();
  }
}

void Network::move(Host& host, double bytes) {
  if (bytes <= 0) return;
  host.has = std::min(size_, host.has + bytes);
  host.last_byte = now_;
}

// The uplink is shared evenly; what a slow host leaves is shared among the others.
void Network::from_client() {
  std::vector<std::pair<double, int>> most;
  for (const int host : receiving_)
    if (const Host& receiver = hosts_[at(host)];
        receiver.source == client && !is_dead(host) && !is_whole(host))
      most.emplace_back(std::min(speeds_.stream, speeds_.host * receiver.factor), host);
  std::ranges::sort(most);
  most_from_client_ = std::max(most_from_client_, static_cast<int>(most.size()));
  double left = speeds_.uplink;
  for (std::size_t i = 0; i < most.size(); ++i) {
    const auto& [limit, host] = most[i];
    const double rate = std::min(limit, left / static_cast<double>(most.size() - i));
    left -= rate;
    sent_by_client_ += rate * step;
    move(hosts_[at(host)], rate * step);
  }
}

void Network::from_hosts() {
  for (const int number : receiving_) {
    Host& receiver = hosts_[at(number)];
    if (receiver.source < 0 || is_dead(number) || is_whole(number) || is_dead(receiver.source)) continue;
    const Host& source = hosts_[at(receiver.source)];
    const double rate =
        std::min(speeds_.host * receiver.factor, speeds_.host * source.factor / std::max(source.guests, 1));
    for (double left = rate * step; left > 0;) {
      const double bytes = std::min(left, receiver.offered - receiver.has);
      move(receiver, bytes);
      left -= bytes;
      if (left <= 0 || now_ < receiver.next_look) break;
      if (source.has > receiver.offered)
        receiver.offered = source.has;
      else
        receiver.next_look = now_ + speeds_.look_again;
    }
  }
}

}  // namespace scale
