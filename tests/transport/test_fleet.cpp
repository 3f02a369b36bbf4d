#include "gpuadm/base/files.hpp"

#include "place.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <unistd.h>

#include <thread>

using namespace testing_transport;
using namespace std::chrono_literals;

namespace {
void add_local(transport::Fleet& fleet, transport::Session& session, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("h{:02}", i);
    fleet.add(name, transport::open(session, name, {.local = true}));
  }
}

/// Progresses at its second call, which it requests only by a deadline: it has no descriptor.
class ByTheClock final : public transport::Transport {
 public:
  base::Result<void> start(transport::Command) override {
    calls_ = 0;
    return {};
  }
  void interests(std::vector<pollfd>&) const override {}
  std::optional<base::Instant> wake() const override { return base::Clock::now(); }
  base::Result<std::optional<transport::Exit>> advance() override {
    return ++calls_ < 2 ? std::nullopt : std::optional(transport::Exit{});
  }
  void close() override {}
  std::string kind() const override { return "by the clock"; }

 private:
  int calls_ = 0;
};
}  // namespace

TEST_CASE("fleet: a transport that says \"now\" is called, with or without a descriptor") {
  transport::Fleet fleet(1, nullptr);
  fleet.add("one", std::make_unique<ByTheClock>());
  fleet.submit("one", reads("true"));
  const auto completion = fleet.next_until(base::Clock::now() + 5s);
  REQUIRE(completion);
  CHECK(completion->result);
}

TEST_CASE("fleet: no more hosts than the window are in flight, and every command ends") {
  Place place;
  auto session = transport::make_session({}, {});
  transport::Fleet fleet(3, nullptr);
  add_local(fleet, *session, 10);
  const std::string script = fmt::format("cd {}; : > $$; ls | wc -l; sleep 0.1; rm $$", place.path.string());
  for (const auto& host : fleet.hosts()) fleet.submit(host, reads(script));
  CHECK(fleet.pending() == 10);
  int ended = 0, most = 0;
  while (auto completion = fleet.next()) {
    ++ended;
    REQUIRE(completion->result);
    most = std::max(most, std::stoi(completion->result->out));
  }
  CHECK(ended == 10);
  CHECK(most <= 3);
  CHECK(most >= 2);
  CHECK(fleet.pending() == 0);
}

TEST_CASE("fleet: commands of one host run in order, one at a time") {
  auto session = transport::make_session({}, {});
  transport::Fleet fleet(8, nullptr);
  add_local(fleet, *session, 1);
  for (int i = 0; i < 5; ++i) fleet.submit("h00", reads(fmt::format("echo {}", i)));
  for (int i = 0; i < 5; ++i) CHECK(fleet.next()->result->out == fmt::format("{}\n", i));
  CHECK_FALSE(fleet.next());
}

TEST_CASE("fleet: a failure of one host leaves the others alone") {
  auto session = transport::make_session({}, {});
  transport::Fleet fleet(8, nullptr);
  add_local(fleet, *session, 3);
  auto hangs = reads("sleep 60");
  hangs.timeout = 1s;
  fleet.submit("h00", std::move(hangs));
  fleet.submit("h01", reads("echo one"));
  fleet.submit("h02", reads("echo two"));
  int good = 0, late = 0;
  while (auto completion = fleet.next())
    completion->result ? ++good : completion->result.error().fault == base::Fault::timeout ? ++late : 0;
  CHECK(good == 2);
  CHECK(late == 1);
}

TEST_CASE("fleet: next_until returns at the deadline if nothing has ended") {
  auto session = transport::make_session({}, {});
  transport::Fleet fleet(8, nullptr);
  add_local(fleet, *session, 1);
  fleet.submit("h00", reads("sleep 0.5; echo done"));
  CHECK_FALSE(fleet.next_until(base::Clock::now() + 50ms));
  CHECK(fleet.next()->result->out == "done\n");
  const auto from = base::Clock::now();
  CHECK_FALSE(fleet.next_until(from + 100ms));
  CHECK(base::Clock::now() - from >= 100ms);
}

TEST_CASE("fleet: the first Ctrl-C lets running commands finish and ends the queued ones") {
  base::Interrupt interrupt;
  auto session = transport::make_session({}, {});
  transport::Fleet fleet(1, &interrupt);
  add_local(fleet, *session, 3);
  for (const auto& host : fleet.hosts()) fleet.submit(host, reads("sleep 0.5; echo done"));
  std::thread presser([] {
    std::this_thread::sleep_for(100ms);
    ::kill(::getpid(), SIGINT);
  });
  int done = 0, ended = 0;
  while (auto completion = fleet.next()) {
    if (completion->result)
      ++done;
    else if (completion->result.error().fault == base::Fault::interrupted)
      ++ended;
  }
  presser.join();
  CHECK(done == 1);
  CHECK(ended == 2);
  CHECK(fleet.interrupted());
  fleet.submit("h00", reads("echo late"));
  CHECK(fleet.next()->result.error().fault == base::Fault::interrupted);
}

TEST_CASE("fleet: the second Ctrl-C ends everything at once") {
  base::Interrupt interrupt;
  auto session = transport::make_session({}, {});
  transport::Fleet fleet(2, &interrupt);
  add_local(fleet, *session, 3);
  for (const auto& host : fleet.hosts()) fleet.submit(host, reads("sleep 30"));
  std::thread presser([] {
    std::this_thread::sleep_for(100ms);
    ::kill(::getpid(), SIGINT);
    std::this_thread::sleep_for(100ms);
    ::kill(::getpid(), SIGINT);
  });
  const auto from = base::Clock::now();
  int ended = 0;
  while (auto completion = fleet.next())
    if (!completion->result && completion->result.error().fault == base::Fault::interrupted) ++ended;
  presser.join();
  CHECK(ended == 3);
  CHECK(base::Clock::now() - from < 5s);
}

TEST_CASE("fleet: a service is advanced while a host is slow, and while none is asked") {
  auto session = transport::make_session({}, {});
  transport::Fleet fleet(1, nullptr);
  add_local(fleet, *session, 1);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  int read = 0;
  std::optional<base::Instant> wake;
  fleet.attend({.interests = [&](std::vector<pollfd>& into) { into.push_back({ends[0], POLLIN, 0}); },
                .wake = [&] { return wake; },
                .advance =
                    [&] {
                      char byte = 0;
                      if (wake && *wake <= base::Clock::now())
                        wake.reset();
                      else
                        read += static_cast<int>(::read(ends[0], &byte, 1));
                    }});
  fleet.submit("h00", reads("sleep 0.5"));
  REQUIRE(::write(ends[1], "a", 1) == 1);
  CHECK(!fleet.next_until(base::Clock::now() + 100ms));
  CHECK(read == 1);
  CHECK(fleet.next());
  REQUIRE(::write(ends[1], "b", 1) == 1);
  CHECK(!fleet.next_until(base::Clock::now() + 50ms));
  CHECK(read == 2);
  wake = base::Clock::now() + 10ms;
  CHECK(!fleet.next_until(base::Clock::now() + 50ms));
  CHECK(!wake);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("fleet: commands that keep a host's lock run although the window is full, and are not reported") {
  Place place;
  auto session = transport::make_session({}, {});
  transport::Fleet fleet(1, nullptr);
  add_local(fleet, *session, 2);
  const auto message = [&](const char* word) {
    return fmt::format("echo {} >>{}/said", word, place.path.string());
  };
  fleet.every(1s, [&] {
    for (const char* host : {"h00", "h01", "gone"}) {
      transport::Command renewal = reads(message(host));
      renewal.purpose = transport::Purpose::keep_alive;
      fleet.submit(host, std::move(renewal));
    }
  });
  fleet.submit("h00", reads("sleep 1.5; " + message("first")));
  fleet.submit("h01", reads(message("second")));
  std::vector<std::string> ended;
  while (auto completion = fleet.next()) {
    CHECK(completion->result);
    ended.push_back(completion->host);
  }
  CHECK(ended == std::vector<std::string>{"h00", "h01"});
  // h01 is waiting for h00, which needs nothing.
  CHECK(*base::read_file(place.path / "said") == "h01\nfirst\nsecond\n");
  fleet.every(1s, {});
  CHECK(!fleet.next_until(base::Clock::now() + 1200ms));
  CHECK(*base::read_file(place.path / "said") == "h01\nfirst\nsecond\n");
}
