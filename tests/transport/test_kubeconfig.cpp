#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/interrupt.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/transport/tunnel.hpp"

#include "place.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

using namespace testing_transport;
using namespace std::chrono_literals;

namespace {

/// A double of kubectl, first in the PATH: it writes its arguments to a file, then does what `body` says.
class Kubectl {
 public:
  explicit Kubectl(const std::string& body) {
    std::filesystem::create_directory(place.path / "bin");
    replace(body);
    ::setenv("PATH", ((place.path / "bin").string() + ":" + before_).c_str(), 1);
  }
  ~Kubectl() { ::setenv("PATH", before_.c_str(), 1); }
  Kubectl(const Kubectl&) = delete;
  Kubectl& operator=(const Kubectl&) = delete;
  void replace(const std::string& body) const {
    place.write("bin/kubectl",
                "#!/bin/sh\necho \"$*\" >>'" + (place.path / "words").string() + "'\n" + body + "\n");
    std::filesystem::permissions(place.path / "bin/kubectl", std::filesystem::perms::owner_all);
  }
  [[nodiscard]] std::string words() const {
    return base::read_file(place.path / "words", 1u << 20).value_or("");
  }
  Place place;

 private:
  std::string before_ = std::getenv("PATH");
};

spec::Endpoint endpoint() {
  spec::Endpoint made{.local = true};
  made.kubeconfig = "/home/anna/my 'kube'.yaml";
  made.kube_namespace = "team";
  return made;
}

transport::Result<transport::Exit> run_here(transport::Command command) {
  const auto session = transport::make_session({}, {});
  transport::Fleet fleet{4, nullptr};
  fleet.add("lab", transport::open(*session, "lab", endpoint()));
  return run(fleet, "lab", std::move(command));
}

transport::Command with_api(const std::string& script) {
  auto command = reads(script);
  command.as = transport::As::root;
  command.api = true;
  return command;
}

struct Forward {
  transport::Result<transport::Tunnel> open(std::uint16_t port = 0) {
    return transport::open_tunnel(*session, "lab", endpoint(), {"10.96.0.7", 8888, "team", "service/anna"},
                                  port, interrupt);
  }
  base::Interrupt interrupt;
  transport::SessionPtr session = transport::make_session({}, {});
};

}  // namespace

TEST_CASE("kubeconfig: a script for the API runs on this machine, with that kubeconfig and without root") {
  const Kubectl kubectl("echo listed");
  const std::string script = *assets::Store::carried("playbooks/kubeconfig.sh") +
                             "find_kubeconfig\nkubectl --kubeconfig \"$config\" get pods $everywhere; id -u";
  const auto exit = run_here(with_api(script));
  REQUIRE(exit);
  CHECK(exit->out == fmt::format("listed\n{}\n", ::geteuid()));
  CHECK(kubectl.words() == "--kubeconfig /home/anna/my 'kube'.yaml get pods -n team\n");
}

TEST_CASE("kubeconfig: a script for hosts is refused, with who can run it") {
  const auto exit = run_here(reads("echo ran"));
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::usage);
  CHECK(exit.error().what.find("needs the hosts of the cluster") != std::string::npos);
  CHECK(exit.error().hint.find("an administrator") != std::string::npos);
}

TEST_CASE("kubeconfig: without kubectl, the script says so and reads no other kubeconfig") {
  const auto exit = run_here(with_api(*assets::Store::carried("playbooks/kubeconfig.sh") +
                                      "PATH=/nowhere; find_kubeconfig; echo continued"));
  REQUIRE(exit);
  CHECK(exit->status == 4);
  CHECK(exit->out.empty());
  CHECK(exit->err.find("kubectl is not installed on this machine") != std::string::npos);
}

TEST_CASE("kubeconfig: a tunnel is kubectl port-forward to the Service, on loopback") {
  const Kubectl kubectl("echo 'Forwarding from 127.0.0.1:1 -> 8888'; exec sleep 60");
  Forward forward;
  const auto tunnel = forward.open();
  REQUIRE(tunnel);
  CHECK(tunnel->port() > 0);
  CHECK(kubectl.words() ==
        fmt::format("--kubeconfig /home/anna/my 'kube'.yaml -n team port-forward --address 127.0.0.1 "
                    "service/anna {}:8888\n",
                    tunnel->port()));
}

TEST_CASE("kubeconfig: a tunnel that kubectl cannot open says why") {
  const Kubectl kubectl("echo 'error: unable to forward port because pod is not running' >&2; exit 1");
  Forward forward;
  const auto tunnel = forward.open();
  REQUIRE_FALSE(tunnel);
  CHECK(tunnel.error().fault == base::Fault::unreachable);
  CHECK(tunnel.error().what.find("pod is not running") != std::string::npos);
}

TEST_CASE("kubeconfig: a tunnel has ended when kubectl ends, or when its pod is lost and kubectl stays") {
  for (const char* end : {"echo 'error: lost connection to pod' >&2; exit 1",
                          "echo 'E1 an error occurred forwarding 1 -> 8888' >&2; exec sleep 60"}) {
    CAPTURE(end);
    const Kubectl kubectl(std::string("echo 'Forwarding from 127.0.0.1:1 -> 8888'; sleep 0.3; ") + end);
    Forward forward;
    auto tunnel = forward.open();
    REQUIRE(tunnel);
    const auto lost = tunnel->hold(forward.interrupt);
    REQUIRE_FALSE(lost);
    CHECK(lost.error().fault == base::Fault::unreachable);
    CHECK(lost.error().what.find("kubectl port-forward: ") != std::string::npos);
  }
}

TEST_CASE("kubeconfig: Ctrl-C ends a tunnel without an error, and its kubectl with it") {
  const Kubectl kubectl("echo $$ >\"$0.pid\"; echo 'Forwarding from 127.0.0.1:1 -> 8888'; exec sleep 60");
  Forward forward;
  pid_t pid = 0;
  {
    auto tunnel = forward.open();
    REQUIRE(tunnel);
    std::ifstream(kubectl.place.path / "bin/kubectl.pid") >> pid;
    REQUIRE(pid > 0);
    std::thread presses([] {
      std::this_thread::sleep_for(200ms);
      ::kill(::getpid(), SIGINT);
    });
    CHECK(tunnel->hold(forward.interrupt));
    presses.join();
  }
  CHECK(::kill(pid, 0) != 0);
}
