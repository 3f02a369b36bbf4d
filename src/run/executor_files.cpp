#include "gpuadm/base/text.hpp"

#include "run/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

namespace run {

namespace {

constexpr std::uint64_t depot_least = 4u << 20;  // smaller files are not worth a round trip
// Disk space for files that wait to be installed together.
constexpr std::uint64_t received_most = 512u << 20;

}  // namespace

using report::Did;

bool Executor::on_its_way(const Walker& walker) {
  return walker.doing == Walker::Doing::receive || walker.doing == Walker::Doing::pull;
}

std::uint64_t Executor::size_of(const plan::Action& action) const {
  if (!action.input || plan_.depot.empty() || !action.variables.contains("bundle_sha256")) return 0;
  std::error_code error;
  const auto size = std::filesystem::file_size(*action.input, error);
  return error || size < depot_least ? 0 : size;
}

const std::string& Executor::digest_of(const Walker& walker) {
  return walker.action.variables.at("bundle_sha256");
}

Passing Executor::passing(const plan::Action& action) const {
  return wanted_.at(action.variables.at("bundle_sha256")) > 1 ? Passing::on : Passing::no;
}

void Executor::count_wanted() {
  wanted_.clear();
  for (const plan::Walk& walk : stage_->walks) {
    std::set<std::string_view> digests;
    for (const plan::Action& action : walk.actions)
      if (const auto sum = action.variables.find("bundle_sha256");
          action.kind == plan::Kind::upload && sum != action.variables.end())
        digests.insert(sum->second);
    for (const std::string_view digest : digests) ++wanted_[std::string(digest)];
  }
}

void Executor::transfer(const std::string& host) {
  Walker& walker = walkers_[host];
  const std::string& digest = digest_of(walker);
  walker.parked = false;
  if (fleet_.interrupted()) return leave(host);
  depots_.insert(host);
  base::Variables further = {{"depot_size", std::to_string(walker.size)},
                             {"depot_from", std::to_string(walker.held.bytes)}};
  const auto depot = [&](const char* function) {
    return depot_program(function, walker.action, plan_.prelude, plan_.depot, further, who_);
  };
  if (passing(walker.action) == Passing::on && !distribution_.has_answered(host, digest)) {
    walker.doing = Walker::Doing::offer;
    return submit(host, depot("depot_serve"), transport::Effect::changes);
  }
  if (walker.held.whole) {
    distribution_.arrived(host, digest);
    return install(host);
  }
  const auto route = distribution_.route(host, digest);
  if (!route) {
    walker.doing = Walker::Doing::nothing;
    walker.parked = true;
    return;
  }
  walker.since = base::Clock::now();
  walker.doing = route->host.empty() ? Walker::Doing::receive : Walker::Doing::pull;
  if (route->host.empty()) return submit(host, depot("depot_receive"), transport::Effect::changes);
  further.merge(base::Variables{{"depot_addresses", route->offer.addresses},
                                {"depot_port", route->offer.port},
                                {"depot_host_key", route->offer.host_key},
                                {"depot_key", route->offer.key}});
  submit(host, depot("depot_pull"), transport::Effect::changes);
}

void Executor::install(const std::string& host) {
  Walker& walker = walkers_[host];
  if (!walker.action.together.empty()) {
    walker.received.push_back(walker.action);
    walker.received_bytes += walker.size;
    walker.doing = Walker::Doing::nothing;
    to_next(walker);
    return advance(host);
  }
  walker.from_depot = true;
  walker.doing = Walker::Doing::upload;
  submit(host, depot_upload_program(walker.action, plan_.prelude, plan_.depot, passing(walker.action), who_),
         transport::Effect::changes);
}

bool Executor::has_received_all(const Walker& walker) {
  if (walker.received.empty()) return false;
  const std::vector<plan::Action>& actions = walker.walk->actions;
  return walker.next == actions.size() || walker.received_bytes >= received_most ||
         actions[walker.next].together != walker.received.front().together;
}

void Executor::install_received(const std::string& host) {
  Walker& walker = walkers_[host];
  std::vector<InDepot> uploads;
  std::chrono::seconds timeout{0};
  for (const plan::Action& action : walker.received) {
    uploads.push_back({&action, passing(action)});
    timeout += action.timeout;
  }
  walker.nonce = nonce();
  walker.doing = Walker::Doing::together;
  walker.action = walker.received.front();
  walker.action.timeout = timeout;
  reporter_.on(event(host, walker.action.id, Did::waiting,
                     fmt::format("the last of {} files received", uploads.size())));
  submit(host, together_program(uploads, plan_.prelude, plan_.depot, who_, walker.nonce),
         transport::Effect::changes);
}

void Executor::installed_received(const std::string& host, const transport::Exit& exit) {
  Walker& walker = walkers_[host];
  const std::vector<plan::Action> actions = std::exchange(walker.received, {});
  walker.received_bytes = 0;
  const std::vector<transport::Exit> results = read_together(exit.out, actions.size(), walker.nonce);
  if (exit.status == no_lock) outcome_.lost.insert(host);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    // The reason that no file was installed is that of the program.
    const transport::Exit& result = results[i].status == -1 ? exit : results[i];
    if (result.status != changed) {
      failed(host, actions[i], why(walker, result), "", result.seconds);
      continue;
    }
    ++outcome_.changed;
    report_done(host, actions[i], result, Did::applied, result.seconds);
  }
  walker.doing = Walker::Doing::nothing;
  if (is_out(host))
    leave(host);
  else
    advance(host);
  wake_parked();
}

void Executor::arrived(const std::string& host) {
  Walker& walker = walkers_[host];
  const std::uint64_t came = walker.size - walker.held.bytes;
  if (walker.doing == Walker::Doing::receive) sent_ += came;
  if (walker.doing == Walker::Doing::pull) passed_ += came;
  distribution_.arrived(host, digest_of(walker));
  install(host);
  wake_parked();
}

void Executor::park(const std::string& host) {
  Walker& walker = walkers_[host];
  walker.doing = Walker::Doing::nothing;
  walker.parked = true;
  wake_parked();
}

bool Executor::file_answered(const std::string& host, const transport::Exit& exit) {
  Walker& walker = walkers_[host];
  const plan::Action& action = walker.action;
  if (walker.doing == Walker::Doing::upload_check && exit.status == 1 && walker.size > 0) {
    walker.held = read_held(exit.out, walker.size);
    park(host);
    return true;
  }
  if (walker.doing == Walker::Doing::upload_check && exit.status == 1) {
    walker.doing = Walker::Doing::upload;
    submit(host, upload_program(action, plan_.prelude, who_), transport::Effect::changes);
    return true;
  }
  if (walker.doing == Walker::Doing::pull && exit.status == cannot_fetch) {
    const std::uint64_t before = walker.held.bytes;
    walker.held = read_held(exit.out, walker.size);
    const auto came = walker.held.bytes > before ? Distribution::Came::some : Distribution::Came::nothing;
    if (distribution_.cannot_fetch(host, digest_of(walker), came))
      reporter_.on(
          event(host, action.id, Did::note,
                "no other host can pass it on, so it is sent from this machine: " + base::tail(exit.err, 1)));
    park(host);
    return true;
  }
  if (walker.doing == Walker::Doing::offer && exit.status == changed) {
    distribution_.offers(host, digest_of(walker), read_offer(exit.out));
    park(host);
    return true;
  }
  if (on_its_way(walker) && exit.status == changed) {
    arrived(host);
    return true;
  }
  if (on_its_way(walker)) distribution_.failed(host, digest_of(walker));
  return false;
}

void Executor::wake_parked() {
  std::vector<std::string> parked;
  for (const auto& [host, walker] : walkers_)
    if (walker.parked && walker.doing == Walker::Doing::nothing && !others_report(walker))
      parked.push_back(host);
  std::ranges::stable_sort(parked, std::greater<>(),
                           [&](const std::string& host) { return walkers_[host].held.bytes; });
  for (const std::string& host : parked) transfer(host);
}

bool Executor::others_report(const Walker& walker) const {
  const auto reports = reports_.find(digest_of(walker));
  return reports != reports_.end() && reports->second > 0;
}

void Executor::count_report(const Walker& walker, int change) {
  const bool reports = walker.doing == Walker::Doing::upload_check || walker.doing == Walker::Doing::offer;
  const auto sum = walker.action.variables.find("bundle_sha256");
  if (reports && sum != walker.action.variables.end()) reports_[sum->second] += change;
}

void Executor::report_progress() {
  for (auto& [host, walker] : walkers_) {
    if (walker.doing != Walker::Doing::receive) continue;
    const std::uint64_t sent = fleet_.at(host).sent();
    const double seconds = std::chrono::duration<double>(base::Clock::now() - walker.since).count();
    const std::uint64_t left = walker.size - std::min(walker.size, walker.held.bytes + sent);
    std::string detail = fmt::format("{} of {} sent", base::human_bytes(walker.held.bytes + sent),
                                     base::human_bytes(walker.size));
    if (sent > 0 && seconds > 1)
      detail +=
          fmt::format(", {} a second, about {} left",
                      base::human_bytes(static_cast<std::uint64_t>(static_cast<double>(sent) / seconds)),
                      base::human_seconds(static_cast<double>(left) * seconds / static_cast<double>(sent)));
    reporter_.on(event(host, walker.action.id, Did::waiting, detail));
  }
}

void Executor::clear_depots() {
  if (depots_.empty()) return;
  for (const std::string& host : depots_) {
    if (outcome_.lost.contains(host)) continue;  // its relay ends by itself
    transport::Command command;
    command.label = "clear the depot";
    const bool keep = outcome_.failed.contains(host) || fleet_.interrupted();
    command.script =
        depot_program(keep ? "depot_relay_end" : "depot_clear", {}, plan_.prelude, plan_.depot, {}, who_);
    command.effect = transport::Effect::changes;
    command.purpose = transport::Purpose::clean_up;
    fleet_.submit(host, std::move(command));
  }
  while (fleet_.next()) {
  }
  depots_.clear();
  distribution_ = {};
  if (sent_ + passed_ > 0)
    reporter_.on(event("", "", Did::note,
                       fmt::format("{} sent from this machine, {} passed on between hosts",
                                   base::human_bytes(sent_), base::human_bytes(passed_))));
  sent_ = passed_ = 0;
}

}  // namespace run
