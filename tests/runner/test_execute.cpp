#include "runner/world.hpp"

TEST_CASE("run: a preview changes nothing and shows what would become of a file") {
  if (!is_root()) return;
  World world;
  world.add_file((world.place / "etc/a.conf").string(), "new\n");
  world.add(plan::Kind::shell, "made", "[ -e \"$place/made\" ] || exit 1", ": >\"$place/made\"");
  const run::Outcome outcome = world.execute(run::Mode::preview);
  CHECK(outcome.needed == 2);
  CHECK(outcome.failed.empty());
  CHECK(world.seen.events()[1].diff.find("+new") != std::string::npos);
  CHECK(std::filesystem::is_empty(world.place));
}

TEST_CASE("run: apply makes it so once, journals what was, and a second time nothing is left to do") {
  if (!is_root()) return;
  World world;
  const std::string path = (world.place / "etc/a.conf").string();
  REQUIRE(base::write_file(path, "old\n", 0644));
  world.add_file(path, "it's \"new\" $HOME `x` \\\n\n");
  world.add_file((world.place / "deep/er/b.conf").string(), "");
  world.add(plan::Kind::shell, "made", "[ -e \"$place/made\" ] || exit 1",
            "journal_file \"$place/made\"\n: >\"$place/made\"");
  world.lock();
  run::Outcome outcome = world.execute(run::Mode::apply);
  CHECK_MESSAGE(outcome.failed.empty(), world.last_failure());
  CHECK(outcome.changed == 3);
  CHECK(*base::read_file(path) == "it's \"new\" $HOME `x` \\\n\n");
  CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::mask) ==
        std::filesystem::perms(0640));
  CHECK(world.journal().find("file\t" + path + "\twas 644 0 0 ") != std::string::npos);
  CHECK(world.journal().find("directory\t" + (world.place / "deep/er").string() + "\tabsent") !=
        std::string::npos);
  CHECK(*base::read_file(world.home() / "journal/blobs" / base::sha256("old\n")) == "old\n");
  const std::string journal = world.journal();
  outcome = world.execute(run::Mode::apply);
  CHECK(outcome.changed == 0);
  CHECK(outcome.satisfied == 3);
  CHECK(world.execute(run::Mode::preview).needed == 0);
  CHECK(world.journal() == journal);
  world.unlock();
  CHECK(!std::filesystem::exists(world.home() / "lock"));
}

TEST_CASE("run: a step that fails says why, and nothing behind it runs") {
  if (!is_root()) return;
  World world;
  SUBCASE("apply fails") {
    world.add(plan::Kind::shell, "bad", "exit 1", "echo out of paper >&2\nfalse\necho not reached");
  }
  SUBCASE("apply does not help") {
    world.add(plan::Kind::shell, "bad", "echo still out of paper >&2\nexit 1", ":");
  }
  SUBCASE("check fails") {
    world.add(plan::Kind::shell, "bad", "echo out of paper >&2\nexit 7", ":");
  }
  SUBCASE("a wait ends") {
    world.add(plan::Kind::wait, "bad", "echo out of paper; exit 1", "").timeout = std::chrono::seconds(1);
  }
  SUBCASE("an unset variable") {
    world.add(plan::Kind::shell, "bad", "exit 1", "echo out of paper >&2\necho $nothing");
  }
  world.add(plan::Kind::shell, "next", "[ -e \"$place/next\" ] || exit 1", ": >\"$place/next\"");
  world.lock();
  const run::Outcome outcome = world.execute(run::Mode::apply);
  CHECK(outcome.failed.contains("box"));
  CHECK(outcome.changed == 0);
  CHECK(world.last_failure().find("out of paper") != std::string::npos);
  CHECK(world.last_failure().find("not reached") == std::string::npos);
  CHECK(!std::filesystem::exists(world.place / "next"));
  world.unlock();
}

TEST_CASE("run: a file that changed since it was read is not written over") {
  if (!is_root()) return;
  World world;
  const std::string path = (world.place / "config.toml").string();
  REQUIRE(base::write_file(path, "theirs\n", 0644));
  world.add_file(path, "ours\n", base::sha256("what we read\n"));
  world.lock();
  CHECK(world.execute(run::Mode::apply).failed.contains("box"));
  CHECK(world.last_failure().find("has changed since it was read") != std::string::npos);
  CHECK(*base::read_file(path) == "theirs\n");
  world.unlock();
}

TEST_CASE("run: without its lock a run changes nothing") {
  if (!is_root()) return;
  World world;
  world.add(plan::Kind::shell, "made", "[ -e \"$place/made\" ] || exit 1", ": >\"$place/made\"");
  CHECK(world.execute(run::Mode::apply).failed.contains("box"));
  CHECK(world.last_failure().find("no longer holds the lock") != std::string::npos);
  CHECK(!std::filesystem::exists(world.place / "made"));
}

TEST_CASE("run: a living owner's lock is respected, a dead one's is taken over") {
  if (!is_root()) return;
  World world;
  const auto owned_by = [&](const std::string& client, long pid, const std::string& start) {
    std::filesystem::create_directories(world.home() / "lock");
    REQUIRE(base::write_file(world.home() / "lock/owner",
                             fmt::format("other-run {} ann@desk pid {} start {}\n", client, pid, start)));
    const std::string uptime = *base::read_file("/proc/uptime");
    REQUIRE(base::write_file(world.home() / "lock/beat", uptime.substr(0, uptime.find('.')) + "\n"));
  };
  SUBCASE("alive on this machine") {
    owned_by(world.who.client, world.who.pid, world.who.started);
    const auto locked = run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who);
    REQUIRE(!locked);
    CHECK(locked.error().fault == base::Fault::blocked);
    CHECK(locked.error().what.find("ann@desk") != std::string::npos);
  }
  SUBCASE("on another machine, heard of just now") {
    owned_by("elsewhere", 1, "1");
    CHECK(!run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who));
  }
  SUBCASE("on another machine, silent for long") {
    owned_by("elsewhere", 1, "1");
    REQUIRE(base::write_file(world.home() / "lock/beat", "0\n"));
    CHECK(run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who));
  }
  SUBCASE("dead on this machine: a process id used again is another process") {
    owned_by(world.who.client, world.who.pid, "1");
    CHECK(run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who));
    CHECK(base::read_file(world.home() / "lock/owner")->starts_with(world.who.run));
  }
}
