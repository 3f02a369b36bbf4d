#include "gpuadm/base/files.hpp"

#include "commands/operate/health/hung.hpp"

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
    link("pid:[1]", "self/ns/pid");
    write("nvidia-smi", "");
  }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;
  ~FakeProc() { std::filesystem::remove_all(place_); }
  [[nodiscard]] std::filesystem::path path() const { return place_; }

  /// A process of root that runs the host's nvidia-smi, or another one.
  void add(int pid, const char* name, char state, int started, const std::string& cgroup, int worked = 0,
           const char* user = "0", const char* ns = "pid:[1]") {
    const std::string folder = std::to_string(pid);
    write(folder + "/comm", fmt::format("{}\n", name));
    write(folder + "/status", fmt::format("Name:\t{0}\nUid:\t{1}\t{1}\t{1}\t{1}\n", name, user));
    write(folder + "/stat", fmt::format("{} ({}) {} 1 1 1 0 -1 4194304 0 0 0 0 {} 0 0 0 20 0 1 0 {} 0 0\n",
                                        pid, name, state, worked, started * ::sysconf(_SC_CLK_TCK)));
    write(folder + "/cgroup", fmt::format("0::{}\n", cgroup));
    link(name == std::string("nvidia-smi") ? smi().string() : "/bin/sh", folder + "/exe");
    link(ns, folder + "/ns/pid");
  }
  void add_of(int pid, const char* user, const std::string& cgroup, const char* ns = "pid:[1]") {
    add(pid, "nvidia-smi", 'D', 100, cgroup, 0, user, ns);
  }
  /// The program that the process runs is another one.
  void set_program(int pid, const std::string& path) {
    std::filesystem::remove(path_of(std::to_string(pid) + "/exe"));
    link(path, std::to_string(pid) + "/exe");
  }
  [[nodiscard]] std::filesystem::path smi() const { return path_of("nvidia-smi"); }
  [[nodiscard]] std::optional<commands::HungProgram> hung() const {
    return commands::hung_nvidia_smi(path(), smi());
  }

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& file) const { return path() / file; }
  void write(const std::string& file, const std::string& text) {
    REQUIRE(base::write_file(path() / file, text).has_value());
  }
  void link(const std::string& target, const std::string& file) {
    std::filesystem::create_directories(path_of(file).parent_path());
    if (!std::filesystem::is_symlink(path_of(file))) std::filesystem::create_symlink(target, path_of(file));
  }
  std::string place_ = "/tmp/gpuadm-proc-XXXXXX";
};

}  // namespace

TEST_CASE("an nvidia-smi that waits in the driver for more than a minute hangs") {
  const FakeProc none;
  CHECK_FALSE(none.hung().has_value());
  FakeProc proc;
  proc.add(10, "nvidia-smi", 'S', 100, "/system.slice/slurmd.service");  // an operator's, which shows values
  proc.add(11, "nvidia-smi", 'D', 980, "/system.slice/slurmd.service");
  proc.add(12, "bash", 'D', 100, "/system.slice/slurmd.service");
  CHECK_FALSE(proc.hung().has_value());
  proc.add(13, "nvidia-smi", 'D', 400, "/system.slice/slurmd.service");
  const auto hung = proc.hung();
  REQUIRE(hung.has_value());
  CHECK(hung->pid == 13);
  CHECK(hung->seconds == 600);
}

TEST_CASE("an nvidia-smi that a former run has left hangs, whatever it waits for") {
  FakeProc proc;
  proc.add(20, "nvidia-smi", 'R', 990, "/system.slice/gpuadm-health.service");
  CHECK(proc.hung().has_value());
}

TEST_CASE("a process that any user can start is not a hung nvidia-smi, and not one of the health checks") {
  const std::string uid = "5c1a7a2e_93f4_4a53_8d1e_0a6f1c1b2d3e";
  FakeProc proc;
  proc.add_of(40, "1000", "/system.slice/cron.service");
  proc.add_of(41, "0", "/user.slice/user-1000.slice/session-3.scope");
  proc.add_of(42, "0", "/kubepods.slice/kubepods-pod" + uid + ".slice/cri-containerd-0a.scope");
  proc.add_of(43, "0", "/system.slice/docker-0a.scope", "pid:[2]");
  proc.add_of(44, "0", "/system.slice/cron.service");
  proc.set_program(44, "/bin/sh");
  proc.add_of(45, "1000", "/user.slice/user-1000.slice/user@1000.service/app.slice/gpuadm-health.service");
  proc.add_of(46, "0", "/kubepods.slice/gpuadm-health.service");
  CHECK_FALSE(proc.hung().has_value());
  proc.add_of(47, "0", "/user.slice/user-0.slice/session-1.scope");
  REQUIRE(proc.hung().has_value());
  CHECK(proc.hung()->pid == 47);
}

TEST_CASE(
    "an nvidia-smi hangs also if an update has replaced its file, and a unit with a longer name is another "
    "one") {
  FakeProc proc;
  proc.add(50, "nvidia-smi", 'R', 990, "/system.slice/not-gpuadm-health.service");
  proc.add(51, "nvidia-smi", 'R', 990, "/system.slice/gpuadm-health.service/a");
  CHECK_FALSE(proc.hung().has_value());
  proc.add(52, "nvidia-smi", 'D', 100, "/system.slice/slurmd.service");
  proc.set_program(52, proc.smi().string() + " (deleted)");
  REQUIRE(proc.hung().has_value());
  CHECK(proc.hung()->pid == 52);
}

TEST_CASE("an nvidia-smi that shows values in a loop waits for moments, and does not hang") {
  FakeProc proc;
  proc.add(30, "nvidia-smi", 'D', 100, "/system.slice/slurmd.service", 5);
  std::atomic<bool> is_over = false;
  std::thread loop([&] {
    for (int worked = 6; !is_over; ++worked) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      proc.add(30, "nvidia-smi", 'D', 100, "/system.slice/slurmd.service", worked);
    }
  });
  const bool hangs = proc.hung().has_value();
  is_over = true;
  loop.join();
  CHECK_FALSE(hangs);
}
