// Journal and undo: prelude.sh and undo.sh on this machine, with a separate journal.
#include "gpuadm/plan/undo.hpp"

#include "runner/world.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace {

struct Journaled : World {
  std::string path = (place / "etc/a.conf").string();

  Journaled() {
    REQUIRE(base::write_file(path, "first\n", 0640));
    const timespec times[2] = {{1'700'000'000, 123'456'789}, {1'700'000'000, 123'456'789}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    REQUIRE(::chown(path.c_str(), 1234, 4321) == 0);
  }

  /// A run of its own that applies the plan so far.
  run::Outcome apply(const std::string& run) {
    who.run = run;
    lock();
    const run::Outcome outcome = execute(run::Mode::apply);
    unlock();
    CHECK_MESSAGE(outcome.failed.empty(), last_failure());
    plan.stages[0].walks[0].actions.clear();
    return outcome;
  }

  base::Result<plan::UndoPlan> way(const plan::Undo& undo) {
    fleet.submit("box", {.label = "read", .script = scripts.prelude + undo_functions + "undo_read\n"});
    const auto completion = fleet.next();
    REQUIRE(completion);
    REQUIRE(completion->result);
    const auto journal = plan::read_journal(completion->result->out);
    REQUIRE_MESSAGE(journal, completion->result->err);
    return plan::undo_plan(*journal, undo);
  }

  plan::UndoPlan undo(const plan::Undo& undo = {}) {
    const auto found = way(undo);
    REQUIRE_MESSAGE(found, (found ? "" : found.error().what));
    plan = plan::to_plan({{"box", *found}}, scripts.prelude + undo_functions);
    who.run = "undoing";
    CHECK(run::execute(plan, fleet, seen, run::Mode::preview, who).failed.empty());
    lock();
    const run::Outcome outcome = execute(run::Mode::apply);
    unlock();
    CHECK_MESSAGE(outcome.failed.empty(), last_failure());
    plan = {"", scripts.prelude, {{"one", "The only phase", false, {{"box", {}}}}}};
    return *found;
  }

  void is_as_before() const {
    CHECK(*base::read_file(path) == "first\n");
    struct stat now{};
    REQUIRE(::stat(path.c_str(), &now) == 0);
    CHECK((now.st_mode & 07777) == 0640);
    CHECK(now.st_uid == 1234);
    CHECK(now.st_gid == 4321);
    CHECK(now.st_mtim.tv_sec == 1'700'000'000);
    CHECK(now.st_mtim.tv_nsec == 123'456'789);
  }
};

}  // namespace

TEST_CASE("undo: each run is undone, the last one first, until none is left") {
  if (!is_root()) return;
  Journaled world;
  const std::string deep = (world.place / "deep/er/b.conf").string();
  world.add_file(world.path, "second\n");
  world.add_file(deep, "");
  world.apply("one");
  world.add_file(world.path, "third\n");
  world.add(plan::Kind::shell, "link", "[ ! -e \"$place/deep/er/b.conf\" ]",
            "journal_file \"$place/deep/er/b.conf\"\nrm \"$place/deep/er/b.conf\"");
  world.apply("two");
  CHECK(!std::filesystem::exists(deep));

  CHECK(world.undo().runs == std::vector<std::string>{"two"});
  CHECK(*base::read_file(world.path) == "second\n");
  CHECK(std::filesystem::exists(deep));
  CHECK(world.undo().runs == std::vector<std::string>{"one"});
  world.is_as_before();
  CHECK(!std::filesystem::exists(world.place / "deep"));
  CHECK(!std::filesystem::exists(world.home()));
  CHECK(world.undo().runs.empty());
}

TEST_CASE("undo: all runs at once") {
  if (!is_root()) return;
  Journaled world;
  world.add_file(world.path, "second\n");
  world.apply("one");
  world.add_file(world.path, "third\n");
  world.apply("two");
  CHECK(world.undo({.all = true}).runs == std::vector<std::string>{"two", "one"});
  world.is_as_before();
  CHECK(!std::filesystem::exists(world.home()));
}

TEST_CASE("undo: what others have changed since is kept, unless it is forced; the journal keeps it") {
  if (!is_root()) return;
  Journaled world;
  const std::string other = (world.place / "etc/b.conf").string();
  world.add_file(world.path, "second\n");
  world.add_file(other, "ours\n");
  world.apply("one");
  REQUIRE(base::write_file(world.path, "theirs\n", 0640));

  const plan::UndoPlan way = world.undo();
  REQUIRE(way.kept.size() == 1);
  CHECK(way.kept[0].thing.second == world.path);
  CHECK(*base::read_file(world.path) == "theirs\n");
  CHECK(!std::filesystem::exists(other));
  CHECK(world.journal().find(world.path) != std::string::npos);
  CHECK(world.journal().find(other) == std::string::npos);
  CHECK(world.undo().kept.size() == 1);
  CHECK(world.undo({.force = true}).kept.empty());
  world.is_as_before();
  CHECK(!std::filesystem::exists(world.home()));
}

TEST_CASE("undo: a run that came to nothing goes with the one before it") {
  if (!is_root()) return;
  Journaled world;
  world.add_file(world.path, "second\n");
  world.apply("one");
  world.add(plan::Kind::shell, "nothing", "[ -e \"$place/made\" ] || exit 1",
            "journal_file \"$place/gone\"\n: >\"$place/made\"");
  world.apply("two");
  CHECK(world.undo().runs == std::vector<std::string>{"two", "one"});
  world.is_as_before();
}

TEST_CASE("undo: a line of a journal without what was written is read, and its file stays unless forced") {
  if (!is_root()) return;
  Journaled world;
  world.add_file(world.path, "second\n");
  world.apply("one");
  std::string old;
  const std::string journal = world.journal();
  for (const std::string_view line : base::lines(journal))
    if (!line.starts_with('+')) old += std::string(line) + "\n";
  REQUIRE(base::write_file(world.home() / "journal/log", old));
  CHECK(world.undo().kept.size() == 1);
  CHECK(world.undo({.force = true}).kept.empty());
  world.is_as_before();
}

TEST_CASE("undo: a step that was cut off between two lines is found by what the journal has") {
  if (!is_root()) return;
  Journaled world;
  world.add_file(world.path, "second\n");
  world.apply("one");
  // The rename did not happen: the journal says what was about to be written, the file is the old one.
  const std::string blob = world.home() / "journal/blobs" / base::sha256("first\n");
  REQUIRE(std::filesystem::exists(blob));
  std::filesystem::copy_file(blob, world.path, std::filesystem::copy_options::overwrite_existing);
  REQUIRE(::chmod(world.path.c_str(), 0640) == 0);
  REQUIRE(::chown(world.path.c_str(), 1234, 4321) == 0);
  CHECK(world.undo().kept.empty());
  CHECK(*base::read_file(world.path) == "first\n");
  CHECK(!std::filesystem::exists(world.home()));
}

TEST_CASE("undo: a run that a newer one stands on is refused, with what to type") {
  if (!is_root()) return;
  Journaled world;
  world.add_file(world.path, "second\n");
  world.apply("one");
  world.add_file(world.path, "third\n");
  world.apply("two");
  const auto refused = world.way({.run = "one"});
  REQUIRE(!refused);
  CHECK(refused.error().fault == base::Fault::blocked);
  CHECK(refused.error().what.find("the later run two changed") != std::string::npos);
  CHECK(world.way({.run = "three"}).error().what == "unknown run: three");
}
