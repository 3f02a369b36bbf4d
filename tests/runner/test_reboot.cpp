#include "gpuadm/base/shell.hpp"

#include "run/program.hpp"
#include "run/reboot.hpp"
#include "runner/world.hpp"

#include <algorithm>

namespace {

/// A world whose host is another machine than this one, and reboots in an instant.
struct RebootingWorld : World {
  RebootingWorld() {
    who.boot = "elsewhere";
    plan.prelude += fmt::format(
        "boot_id() {{ cat {0}/boot; }}\nsync() {{ :; }}\nsleep() {{ :; }}\n"
        "systemctl() {{ if [ \"$1\" = reboot ]; then echo new >{0}/boot; else echo running; fi; }}\n",
        place.string());
    REQUIRE(base::write_file(place / "boot", "old\n", 0644));
  }
  /// A step that holds in the boot after the one in which it was made.
  plan::Action& add_argument() {
    plan::Action& action =
        add(plan::Kind::shell, "argument",
            "[ -e \"$place/made-in\" ] && [ \"$(cat \"$place/made-in\")\" != \"$(boot_id)\" ] || exit 1",
            "[ -e \"$place/made-in\" ] || boot_id >\"$place/made-in\"");
    action.needs_reboot = "say 'it is read at boot'";
    return action;
  }
  run::Outcome execute(run::Reboots reboots) {
    return run::execute(plan, fleet, seen, run::Mode::apply, who, {}, reboots);
  }
  [[nodiscard]] bool message(report::Did did, const std::string& text) const {
    return std::ranges::any_of(seen.events(), [&](const report::Event& event) {
      return event.did == did && (event.detail + event.hint).find(text) != std::string::npos;
    });
  }
};

transport::Completion exited(int status, const std::string& out, const std::string& err = "") {
  transport::Exit exit;
  exit.status = status;
  exit.out = out;
  exit.err = err;
  return {"box", exit};
}

}  // namespace

TEST_CASE("run: the machine that gpuadm runs on is known by its boot id, which its clones do not have") {
  const run::Identity who = run::identity().value();
  CHECK(who.boot == base::trim(*base::read_file("/proc/sys/kernel/random/boot_id", 4096)));
  CHECK(run::reboot_program("step", "", who, std::chrono::seconds(1))
            .find("gpuadm_client_boot=" + base::quote(who.boot)) != std::string::npos);
}

TEST_CASE("run: a host that must be rebooted is, and the steps behind that follow") {
  if (!is_root()) return;
  RebootingWorld world;
  world.add_argument();
  world.add(plan::Kind::shell, "next", "[ -e \"$place/next\" ] || exit 1", "boot_id >\"$place/next\"");
  world.lock();
  const run::Outcome outcome = world.execute(run::Reboots::done);
  CHECK_MESSAGE(outcome.failed.empty(), world.last_failure());
  CHECK(outcome.changed == 1);
  CHECK(outcome.satisfied == 1);
  CHECK(*base::read_file(world.place / "next") == "new\n");
  CHECK(world.message(report::Did::note, "rebooting the host: it is read at boot"));
  CHECK(world.message(report::Did::waiting, "at most 1200s"));
  CHECK(!std::filesystem::exists(world.home() / "lock/reboot"));
  world.unlock();
  CHECK(!std::filesystem::exists(world.home() / "lock"));
}

TEST_CASE("run: where no host may be rebooted the step fails, and says what to type") {
  if (!is_root()) return;
  RebootingWorld world;
  world.add_argument();
  world.lock();
  CHECK(world.execute(run::Reboots::left).failed.contains("box"));
  CHECK(world.message(report::Did::failed, "systemctl reboot on box"));
  CHECK(*base::read_file(world.place / "boot") == "old\n");
  world.unlock();
}

TEST_CASE("run: the machine that gpuadm runs on is not rebooted under it") {
  if (!is_root()) return;
  RebootingWorld world;
  SUBCASE("directly, or in a container with another machine id") {
    world.who.client = "elsewhere";
    world.who.boot = "old";
  }
  SUBCASE("and does not know its boot id") {
    if (!std::filesystem::exists("/etc/machine-id")) return;
    world.who.boot.clear();
  }
  world.add_argument();
  world.lock();
  CHECK(world.execute(run::Reboots::done).failed.contains("box"));
  CHECK(world.message(report::Did::failed, "gpuadm runs on it"));
  CHECK(*base::read_file(world.place / "boot") == "old\n");
  world.unlock();
}

TEST_CASE(
    "run: the machine that gpuadm runs on is rebooted at the end, and the run continues at the next boot") {
  if (!is_root()) return;
  for (const char* can : {"return 0", "return 1", ": in a container"}) {
    RebootingWorld world;
    world.who.boot = "old";
    if (std::string_view(can).ends_with("container")) world.who.client = "elsewhere";
    world.who.resume = "echo at boot";
    world.plan.prelude +=
        fmt::format("resume_can() {{ {}; }}\nresume_put() {{ echo \"$gpuadm_resume\" >\"{}/put\"; }}\n", can,
                    world.place.string());
    world.add_argument();
    world.lock();
    const run::Outcome outcome = world.execute(run::Reboots::done);
    CHECK(outcome.failed.size() == 1);
    CHECK(*base::read_file(world.place / "boot") == "old\n");
    const bool continues = std::string_view(can) == "return 0";
    CHECK(outcome.own_host.empty() != continues);
    CHECK(std::filesystem::exists(world.place / "put") == continues);
    CHECK(world.message(report::Did::failed,
                        continues ? "gpuadm continues at the next boot" : "then the same command again"));
  }
}

TEST_CASE("run: what was to continue at the next boot does not after another run") {
  if (!is_root()) return;
  RebootingWorld world;
  const std::string unit = (world.place / "gpuadm-resume.service").string();
  world.scripts.lock = base::replace_all(world.scripts.lock, "/etc/systemd/system", world.place.string());
  world.scripts.prelude += fmt::format("systemctl() {{ echo \"$*\" >>{}/calls; }}\n", world.place.string());
  world.lock();
  world.unlock();
  CHECK(!std::filesystem::exists(world.place / "calls"));
  std::filesystem::create_directories(world.home());
  REQUIRE(base::write_file(world.home() / "resume", "echo at boot\n", 0600));
  REQUIRE(base::write_file(unit, "[Unit]\n", 0644));
  world.lock();
  CHECK(!std::filesystem::exists(world.home() / "resume"));
  CHECK(!std::filesystem::exists(unit));
  CHECK(*base::read_file(world.place / "calls") == "disable --quiet gpuadm-resume.service\ndaemon-reload\n");
  CHECK(world.message(report::Did::note, "does not continue: run its command again"));
  CHECK(world.journal().find("resume") == std::string::npos);
  world.unlock();
}

TEST_CASE("run: a reboot that does not help is not tried again") {
  if (!is_root()) return;
  RebootingWorld world;
  world.add_argument().check = "exit 1";
  world.lock();
  CHECK(world.execute(run::Reboots::done).failed.contains("box"));
  CHECK(world.last_failure().find("was rebooted but still requires a reboot") != std::string::npos);
  world.unlock();
}

TEST_CASE("run: a host that is being rebooted keeps its lock, but not forever") {
  if (!is_root()) return;
  World world;
  std::filesystem::create_directories(world.home() / "lock");
  REQUIRE(
      base::write_file(world.home() / "lock/owner", "other-run elsewhere ann@desk pid 1 start 1\n", 0600));
  REQUIRE(base::write_file(world.home() / "lock/beat", "0\n", 0600));
  SUBCASE("while it may be away") {
    REQUIRE(base::write_file(world.home() / "lock/reboot", "99999999999\n", 0600));
    CHECK(!run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who));
  }
  SUBCASE("later") {
    REQUIRE(base::write_file(world.home() / "lock/reboot", "1000000000\n", 0600));
    CHECK(run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who));
  }
}

TEST_CASE("reboot: a host is asked until another boot answers, and given up at the deadline") {
  run::Reboot reboot("step");
  const run::Identity who = run::identity().value();
  const base::Instant start = base::Clock::now();
  const auto after = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  REQUIRE(reboot.next("", who, start));
  CHECK(!reboot.next("", who, after(100)));  // one runs
  CHECK(!*reboot.heard(exited(0, "old\n"), after(1)));
  CHECK(!reboot.next("", who, after(2)));
  REQUIRE(reboot.next("", who, after(6)));
  const transport::Completion gone{"box", base::fail(base::Fault::unreachable, "no route to host")};
  CHECK(!*reboot.heard(gone, after(20)));
  SUBCASE("it comes back") {
    REQUIRE(reboot.next("", who, after(30)));
    CHECK(!*reboot.heard(exited(0, "old\n"), after(31)));
    REQUIRE(reboot.next("", who, after(40)));
    CHECK(*reboot.heard(exited(0, "new\n"), after(41)));
  }
  SUBCASE("it stays away") {
    REQUIRE(reboot.next("", who, after(1300)));
    const auto given_up = reboot.heard(gone, after(1301));
    REQUIRE(!given_up);
    CHECK(given_up.error().what.find("1200s") != std::string::npos);
    CHECK(given_up.error().what.find("no route to host") != std::string::npos);
  }
  SUBCASE("it comes back ill") {
    REQUIRE(reboot.next("", who, after(30)));
    const auto given_up = reboot.heard(exited(3, "", "its API server does not answer\n"), after(40));
    REQUIRE(!given_up);
    CHECK(given_up.error().what.find("its API server does not answer") != std::string::npos);
  }
}
