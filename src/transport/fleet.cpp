#include "gpuadm/transport/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace transport {

struct Fleet::Lane {
  std::string host;
  std::unique_ptr<Transport> transport;
  std::deque<Command> waiting;
  bool running = false;
  bool reported = true;  ///< the running command's end is
  base::Instant begun;
  bool queued = false;       ///< its name is in queue_
  std::size_t first_fd = 0;  ///< of the current round's poll
  std::size_t end_fd = 0;
};

Fleet::Fleet(int window, base::Interrupt* interrupt)
    : window_(static_cast<std::size_t>(std::max(window, 1))), interrupt_(interrupt) {}
Fleet::~Fleet() = default;

void Fleet::add(std::string host, std::unique_ptr<Transport> transport) {
  auto lane = std::make_unique<Lane>();
  lane->host = host;
  lane->transport = std::move(transport);
  lanes_[std::move(host)] = std::move(lane);
}

void Fleet::remove(const std::string& host) {
  lanes_.erase(host);
}

std::vector<std::string> Fleet::hosts() const {
  std::vector<std::string> names;
  for (const auto& [name, lane] : lanes_) names.push_back(name);
  return names;
}

Transport& Fleet::at(const std::string& host) {
  return *lanes_.at(host)->transport;
}

void Fleet::submit(const std::string& host, Command command) {
  const auto found = lanes_.find(host);
  if (command.purpose == Purpose::keep_alive) {
    if (found != lanes_.end() && !found->second->running && signals_ < 2)
      start(*found->second, std::move(command));
    return;
  }
  if (found == lanes_.end()) {
    done_.push_back({host, base::fail(base::Fault::bug, host + ": no such host in the fleet")});
    return;
  }
  Lane& lane = *found->second;
  lane.waiting.push_back(std::move(command));
  if (!lane.running && !lane.queued) {
    lane.queued = true;
    queue_.push_back(host);
  }
}

std::size_t Fleet::pending() const {
  std::size_t count = done_.size();
  for (const auto& [name, lane] : lanes_) count += lane->waiting.size() + (lane->running ? 1 : 0);
  return count;
}

void Fleet::every(std::chrono::seconds interval, std::function<void()> call) {
  const base::Instant next = call ? base::Clock::now() + interval : base::Instant::max();
  regular_ = {std::move(call), interval, next};
}

std::optional<base::Instant> Fleet::begun(const std::string& host) const {
  const Lane& lane = *lanes_.at(host);
  return lane.running && lane.reported ? std::optional(lane.begun) : std::nullopt;
}

bool Fleet::interrupted() const {
  return signals_ > 0;
}

std::optional<Completion> Fleet::next() {
  const bool idle = done_.empty() && running_.empty() && queue_.empty();
  return idle ? std::nullopt : next_until(base::Instant::max());
}

std::optional<Completion> Fleet::next_until(base::Instant deadline) {
  while (true) {
    if (regular_.call && base::Clock::now() >= regular_.next) {
      regular_.next = base::Clock::now() + regular_.interval;
      regular_.call();
    }
    if (done_.empty()) start_queued();
    const bool idle = running_.empty() && deadline == base::Instant::max();
    if (done_.empty()) turn(idle ? deadline : std::min(deadline, regular_.next));
    if (!done_.empty()) {
      Completion completion = std::move(done_.front());
      done_.pop_front();
      return completion;
    }
    if (base::Clock::now() >= deadline) return std::nullopt;
    if (running_.empty() && queue_.empty() && (interrupted() || deadline == base::Instant::max()))
      return std::nullopt;
  }
}

void Fleet::start_queued() {
  if (signals_ > 0) refuse_queued();
  const auto in_window = [&] {
    return static_cast<std::size_t>(std::ranges::count(running_, true, &Lane::reported));
  };
  while (in_window() < window_ && !queue_.empty()) {
    const std::string host = std::move(queue_.front());
    queue_.pop_front();
    Lane& lane = *lanes_.at(host);
    lane.queued = false;
    if (lane.running) continue;  // finish() queues it again
    Command command = std::move(lane.waiting.front());
    lane.waiting.pop_front();
    start(lane, std::move(command));
  }
}

void Fleet::start(Lane& lane, Command command) {
  lane.running = true;
  lane.reported = command.purpose != Purpose::keep_alive;
  lane.begun = base::Clock::now();
  running_.push_back(&lane);
  if (auto started = lane.transport->start(std::move(command)); !started)
    finish(lane, std::unexpected(std::move(started).error()));
  else
    advance(lane);
}

void Fleet::refuse_queued() {
  for (auto& [host, lane] : lanes_) {
    std::deque<Command> kept;
    for (Command& command : lane->waiting) {
      if (signals_ == 1 && command.purpose == Purpose::clean_up) {
        kept.push_back(std::move(command));
        continue;
      }
      done_.push_back(
          {host, base::fail(base::Fault::interrupted,
                            fmt::format("{}: “{}” was not started: interrupted", host, command.label))});
    }
    lane->waiting = std::move(kept);
    if (lane->waiting.empty() && lane->queued) {
      lane->queued = false;
      std::erase(queue_, host);
    }
  }
}

void Fleet::finish(Lane& lane, Result<Exit> result) {
  lane.running = false;
  std::erase(running_, &lane);
  if (lane.reported) done_.push_back({lane.host, std::move(result)});
  if (!lane.waiting.empty() && !lane.queued) {
    lane.queued = true;
    queue_.push_back(lane.host);
  }
}

void Fleet::advance(Lane& lane) {
  auto progress = lane.transport->advance();
  if (!progress)
    finish(lane, std::unexpected(std::move(progress).error()));
  else if (*progress)
    finish(lane, std::move(**progress));
}

void Fleet::turn(base::Instant deadline) {
  fds_.clear();
  if (interrupt_ && interrupt_->descriptor() >= 0) fds_.push_back({interrupt_->descriptor(), POLLIN, 0});
  const std::size_t signal_fds = fds_.size();
  for (Lane* lane : running_) {
    lane->first_fd = fds_.size();
    lane->transport->interests(fds_);
    lane->end_fd = fds_.size();
    if (const auto wake = lane->transport->wake()) deadline = std::min(deadline, *wake);
  }
  if (running_.empty() && deadline == base::Instant::max()) return;
  const std::size_t service_fds = fds_.size();
  if (service_) {
    service_->interests(fds_);
    if (const auto wake = service_->wake()) deadline = std::min(deadline, *wake);
  }
  int wait = -1;
  if (deadline != base::Instant::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::Clock::now()).count();
    wait = static_cast<int>(std::clamp<long long>(left, 0, std::numeric_limits<int>::max()));
  }
  ::poll(fds_.data(), fds_.size(), wait);
  if (signal_fds > 0 && fds_[0].revents != 0) on_signal();
  serve(service_fds);

  const auto ready = [&](const Lane& lane) {
    for (std::size_t i = lane.first_fd; i < lane.end_fd; ++i)
      if (fds_[i].revents != 0) return true;
    const auto wake = lane.transport->wake();
    return wake && *wake <= base::Clock::now();  // called after wake(), which may return "now"
  };
  for (std::size_t i = 0; i < running_.size();) {
    Lane* lane = running_[i];
    if (ready(*lane)) advance(*lane);
    if (i < running_.size() && running_[i] == lane) ++i;  // otherwise it has ended and another took its place
  }
}

void Fleet::serve(std::size_t first_fd) {
  if (!service_) return;
  bool ready = false;
  for (std::size_t i = first_fd; i < fds_.size(); ++i) ready = ready || fds_[i].revents != 0;
  const auto wake = service_->wake();
  if (ready || (wake && *wake <= base::Clock::now())) service_->advance();
}

void Fleet::on_signal() {
  const int before = std::exchange(signals_, interrupt_->count());
  if (before == 0 && signals_ == 1 && !running_.empty() && on_interrupt_) on_interrupt_();
  if (signals_ > 0) refuse_queued();
  if (signals_ < 2) return;
  for (auto& [host, lane] : lanes_) {
    if (lane->running)
      finish(*lane, base::fail(base::Fault::interrupted, host + ": interrupted; the connection was closed",
                               "the command may still be running there; run again to check"));
    lane->transport->close();
  }
}

}  // namespace transport
