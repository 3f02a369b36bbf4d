#include "gpuadm/kube/unready.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

using std::chrono::seconds;

/// A line of pods_unready, as kubectl's jsonpath prints it.
std::string unready_line(const std::string& name, const std::string& status) {
  return "gpuadm-pod\t" + name + "\tgpu1\t" + status + "\n";
}

std::string waiting(const std::string& reason, const std::string& message, int restarts = 0) {
  return R"({"phase":"Pending","containerStatuses":[{"image":"a:1","name":"main","ready":false,"restartCount":)" +
         std::to_string(restarts) + R"(,"state":{"waiting":{"reason":")" + reason + R"(","message":")" +
         message + R"("}}}]})";
}

/// The second of two rounds with that time between them.
kube::WaitOutput wait_output(const std::string& output, seconds waited, const std::string& before) {
  kube::WaitMemory memory;
  const base::Instant began = base::Clock::now();
  (void)kube::read_unready(before, kube::cluster_wait, memory, began);
  return kube::read_unready(output, kube::cluster_wait, memory, began + waited);
}
kube::WaitOutput wait_output(const std::string& output, seconds waited) {
  return wait_output(output, waited, output);
}

}  // namespace

TEST_CASE("pods of a wait on a host are sentences, and other lines are kept") {
  const auto output = wait_output("1 of 2 pods of kube-proxy are ready\n" +
                                      unready_line("kube-proxy-x", waiting("ContainerCreating", "")) +
                                      unready_line("kube-proxy-y", R"({"phase":"Pending"})"),
                                  seconds(3));
  CHECK(output.text ==
        "1 of 2 pods of kube-proxy are ready\nkube-proxy-x on gpu1: ContainerCreating\n"
        "kube-proxy-y on gpu1: Pending");
  CHECK(output.hopeless.empty());
}

TEST_CASE("a wait on a host ends for a pod whose image does not exist, but not at once") {
  const std::string line = unready_line("kube-proxy-x", waiting("ErrImagePull", "a:1: not found"));
  CHECK(wait_output(line, seconds(29)).hopeless.empty());
  CHECK(wait_output(line, seconds(30)).hopeless == "kube-proxy-x on gpu1: the image a:1 does not exist");
  const std::string slow = unready_line("kube-proxy-x", waiting("ErrImagePull", "i/o timeout"));
  CHECK(wait_output(slow, seconds(600)).hopeless.empty());
  // Late in the wait, the first sight of it ends nothing.
  CHECK(wait_output(line, seconds(200), unready_line("kube-proxy-x", waiting("ContainerCreating", "")))
            .hopeless.empty());
}

TEST_CASE("a container of the cluster may end four times until what it depends on runs") {
  const auto line = [](int restarts) {
    std::string status = waiting("CrashLoopBackOff", "back-off", restarts);
    status.insert(status.find("\"state\""), R"("lastState":{"terminated":{"exitCode":1,"reason":"Error"}},)");
    return unready_line("dns", status);
  };
  CHECK(wait_output(line(4), seconds(200), line(0)).hopeless.empty());
  // What it ended before the wait does not count.
  CHECK(wait_output(line(16), seconds(200), line(12)).hopeless.empty());
  kube::WaitMemory memory;
  const base::Instant began = base::Clock::now();
  for (const auto& [restarts, after] : {std::pair(12, 0), std::pair(17, 200)})
    CHECK(kube::read_unready(line(restarts), kube::cluster_wait, memory, began + seconds(after))
              .hopeless.empty());
  CHECK(!kube::read_unready(line(17), kube::cluster_wait, memory, began + seconds(230)).hopeless.empty());
}

TEST_CASE("a pod's line that is not what kubectl prints is shown, and ends nothing") {
  for (const std::string line : {"gpuadm-pod\t", "gpuadm-pod\tx", "gpuadm-pod\tx\tgpu1\t{",
                                 "gpuadm-pod\tx\tgpu1\t[1,2]", "gpuadm-pod\tx\tgpu1\tmap[phase:Pending]"}) {
    CAPTURE(line);
    const auto output = wait_output(line, seconds(600));
    CHECK(output.hopeless.empty());
    CHECK(output.text.find(": Unknown") != std::string::npos);
  }
  CHECK(wait_output("gpuadm-pod\tx\x1b[31m\tgpu1\t{}", seconds(1)).text.find('\x1b') == std::string::npos);
}
