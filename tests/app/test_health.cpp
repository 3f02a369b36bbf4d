#include "gpuadm/base/files.hpp"

#include "app/health/hung.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace {

/// A folder like /proc, of a machine that has been up for 1,000 s, as a health run sees it.
class FakeProc {
 public:
  FakeProc() {
    REQUIRE(::mkdtemp(place_.data()) != nullptr);
    write("uptime", "1000.00 2000.00\n");
    write("self/cgroup", "0::/system.slice/gpuadm-health.service\n");
  }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;
  ~FakeProc() { std::filesystem::remove_all(place_); }
  [[nodiscard]] std::filesystem::path path() const { return place_; }

  void add(int pid, const char* name, char state, int started, const char* cgroup, int worked = 0) {
    const std::string folder = std::to_string(pid);
    write(folder + "/comm", fmt::format("{}\n", name));
    write(folder + "/stat", fmt::format("{} ({}) {} 1 1 1 0 -1 4194304 0 0 0 0 {} 0 0 0 20 0 1 0 {} 0 0\n",
                                        pid, name, state, worked, started * ::sysconf(_SC_CLK_TCK)));
    write(folder + "/cgroup", fmt::format("0::{}\n", cgroup));
  }

 private:
  void write(const std::string& file, const std::string& text) {
    REQUIRE(base::write_file(path() / file, text).has_value());
  }
  std::string place_ = "/tmp/gpuadm-proc-XXXXXX";
};

}  // namespace

TEST_CASE("an nvidia-smi that waits in the driver for more than a minute hangs") {
  const FakeProc none;
  CHECK_FALSE(app::hung_nvidia_smi(none.path()).has_value());
  FakeProc proc;
  proc.add(10, "nvidia-smi", 'S', 100, "/user.slice/session.scope");  // an operator's, which shows values
  proc.add(11, "nvidia-smi", 'D', 980, "/user.slice/session.scope");
  proc.add(12, "bash", 'D', 100, "/user.slice/session.scope");
  CHECK_FALSE(app::hung_nvidia_smi(proc.path()).has_value());
  proc.add(13, "nvidia-smi", 'D', 400, "/user.slice/session.scope");
  const auto hung = app::hung_nvidia_smi(proc.path());
  REQUIRE(hung.has_value());
  CHECK(hung->pid == 13);
  CHECK(hung->seconds == 600);
}

TEST_CASE("an nvidia-smi that a former run has left hangs, whatever it waits for") {
  FakeProc proc;
  proc.add(20, "nvidia-smi", 'R', 990, "/system.slice/gpuadm-health.service");
  CHECK(app::hung_nvidia_smi(proc.path()).has_value());
}

TEST_CASE("an nvidia-smi that shows values in a loop waits for moments, and does not hang") {
  FakeProc proc;
  proc.add(30, "nvidia-smi", 'D', 100, "/user.slice/session.scope", 5);
  std::atomic<bool> is_over = false;
  std::thread loop([&] {
    for (int worked = 6; !is_over; ++worked) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      proc.add(30, "nvidia-smi", 'D', 100, "/user.slice/session.scope", worked);
    }
  });
  const bool hangs = app::hung_nvidia_smi(proc.path()).has_value();
  is_over = true;
  loop.join();
  CHECK_FALSE(hangs);
}
