#pragma once

#include "sshd.hpp"
#include "transport/ssh/config/tokens.hpp"

#include <sched.h>
#include <sys/mount.h>

#include <exception>
#include <functional>
#include <random>

namespace testing_transport {

/// Runs a test with a home directory and an /etc/ssh of its own, for this test and what it starts: in a
/// thread with a mount namespace of its own. `home`: as OpenSSH finds it. Needs root.
inline void in_own_home(const std::function<void(const std::filesystem::path& home)>& test) {
  const Place place;
  std::exception_ptr failed;
  std::thread thread([&] {
    try {
      const std::string home = transport::login_home();
      std::filesystem::create_directories(place.path / "home/.ssh");
      std::filesystem::create_directories(place.path / "etc");
      REQUIRE(::unshare(CLONE_NEWNS) == 0);
      REQUIRE(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
      REQUIRE(::mount((place.path / "home").c_str(), home.c_str(), nullptr, MS_BIND, nullptr) == 0);
      REQUIRE(::mount((place.path / "etc").c_str(), "/etc/ssh", nullptr, MS_BIND, nullptr) == 0);
      test(home);
    } catch (...) {
      failed = std::current_exception();
    }
  });
  thread.join();
  if (failed) std::rethrow_exception(failed);
}

/// What a program prints to stdout and stderr together, and its exit status.
struct Answer {
  int status = 0;
  std::string text;
};
inline Answer answer_of(const std::vector<std::string>& argv) {
  auto child = transport::Child::spawn(argv, transport::Child::Wiring::pipes).value();
  child.in.reset();
  std::string out, err;
  while (child.out.is_open() || child.err.is_open()) {
    std::vector<pollfd> fds;
    for (const auto* stream : {&child.out, &child.err})
      if (stream->is_open()) fds.push_back({stream->get(), POLLIN, 0});
    ::poll(fds.data(), fds.size(), 100);
    if (child.out.is_open()) transport::Child::read(child.out, out);
    if (child.err.is_open()) transport::Child::read(child.err, err);
  }
  child.wait(20s);
  return {child.status().value_or(-1), out + err};
}

/// One of several texts, the same in each run.
class Choice {
 public:
  explicit Choice(unsigned seed) : random_(seed) {}
  const std::string& of(const std::vector<std::string>& texts) { return texts[random_() % texts.size()]; }
  bool one_in(unsigned count) { return random_() % count == 0; }

 private:
  std::minstd_rand random_;
};

/// Options that read the files of the home directory.
inline transport::Options home_options(spec::SshClient client = spec::SshClient::automatic) {
  transport::Options options;
  options.client = client;
  options.connect_timeout = 10s;
  return options;
}

}  // namespace testing_transport
