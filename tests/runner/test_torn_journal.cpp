// A journal whose end is missing: the power failed, or the disk was full, while it was written.
#include "gpuadm/plan/undo.hpp"

#include "runner/world.hpp"

#include <algorithm>

namespace {

struct Torn : World {
  std::vector<std::string> paths;

  /// Three files that one run has written, and the journal of it.
  Torn() {
    for (const char* name : {"a", "b", "c"}) {
      paths.push_back((place / "etc" / name).string());
      REQUIRE(base::write_file(paths.back(), "first\n", 0640));
      add_file(paths.back(), "second\n");
    }
    who.run = "20260101-000000-run";
    lock();
    CHECK_MESSAGE(execute(run::Mode::apply).failed.empty(), last_failure());
    unlock();
    plan.stages[0].walks[0].actions.clear();
  }

  plan::Journal read() {
    fleet.submit("box", {.label = "read", .script = scripts.prelude + undo_functions + "undo_read\n"});
    const auto completion = fleet.next();
    REQUIRE(completion);
    REQUIRE(completion->result);
    const auto journal = plan::read_journal(completion->result->out);
    REQUIRE_MESSAGE(journal, completion->result->err);
    return *journal;
  }
  void write_log(std::string_view text) { REQUIRE(base::write_file(home() / "journal/log", text)); }

  void undo(const plan::UndoPlan& way) {
    plan = plan::to_plan({{"box", way}}, scripts.prelude + undo_functions);
    who.run = "undoing";
    lock();
    CHECK_MESSAGE(execute(run::Mode::apply).failed.empty(), last_failure());
    unlock();
    plan = {"", scripts.prelude, {{"one", "The only phase", false, {{"box", {}}}}}};
  }
};

/// Where the last `count` lines begin.
std::size_t start_of_last(const std::string& text, int count) {
  std::size_t at = text.size() - 1;
  for (; count > 0; --count) at = text.rfind('\n', at - 1);
  return at + 1;
}

/// Whether a cut before this byte ends a field, or leaves one byte too many or too few of it.
bool is_at_end_of_field(const std::string& text, std::size_t cut) {
  return text.find_first_of("\t\n", cut - 2) <= cut + 1;
}

}  // namespace

TEST_CASE(
    "torn journal: cut within its last three lines, no line is taken for another, and what is missing is "
    "named") {
  if (!is_root()) return;
  Torn world;
  const std::string whole = world.journal();
  const std::size_t lines_before = base::lines(whole).size();
  for (std::size_t cut = start_of_last(whole, 3); cut < whole.size(); ++cut) {
    if (cut % 8 != 0 && !is_at_end_of_field(whole, cut)) continue;  // each cut starts a shell
    const std::string text = whole.substr(0, cut);
    world.write_log(text);
    const plan::Journal journal = world.read();
    const bool at_end_of_line = text.ends_with('\n');
    CAPTURE(text.substr(text.rfind('\n', text.size() - 2) + 1));
    CHECK(journal.unreadable.size() == (at_end_of_line ? 0 : 1));
    for (const auto& line : journal.lines) CHECK(line.run == "20260101-000000-run");
    CHECK(journal.lines.size() + journal.made.size() + journal.unreadable.size() <= lines_before);
    // Each file is restored as it was, or stays and is named: alone, or in the line that cannot be read.
    const auto way = plan::undo_plan(journal, {});
    REQUIRE(way);
    CHECK(way->unreadable == journal.unreadable);
    const std::string lost = at_end_of_line ? "" : text.substr(text.rfind('\n') + 1);
    if (!at_end_of_line) CHECK(journal.unreadable[0] == lost);
    for (const std::string& path : world.paths) {
      bool restored = false;
      for (const auto& [phase, actions] : way->stages)
        for (const plan::Action& action : actions) restored = restored || (action.id == "undo.file:" + path);
      const bool kept =
          std::ranges::any_of(way->kept, [&](const plan::Kept& k) { return k.thing.second == path; });
      const bool in_journal =
          std::ranges::any_of(journal.lines, [&](const auto& line) { return line.thing.second == path; });
      CHECK((restored || kept) == in_journal);
    }
  }
}

TEST_CASE(
    "torn journal: the next run ends the unfinished line, undo restores the rest and says what it cannot, "
    "and --force forgets the line") {
  if (!is_root()) return;
  // In the middle of the line that says what the third file was; and without the last byte of it.
  for (const bool at_end : {false, true}) {
    Torn world;
    const std::string whole = world.journal();
    const std::size_t line = whole.find("file\t" + world.paths[2]);
    world.write_log(whole.substr(0, at_end ? whole.find('\n', line) : line + 6 + world.paths[2].size()));
    const std::string other = (world.place / "etc/d").string();
    world.add_file(other, "later\n");
    world.who.run = "20260102-000000-run";
    world.lock();
    CHECK_MESSAGE(world.execute(run::Mode::apply).failed.empty(), world.last_failure());
    world.unlock();
    world.plan.stages[0].walks[0].actions.clear();

    const plan::Journal journal = world.read();
    REQUIRE(journal.unreadable.size() == 1);
    CHECK(journal.unreadable[0].find(world.paths[2]) != std::string::npos);
    const auto way = plan::undo_plan(journal, {.all = true});
    REQUIRE(way);
    CHECK(way->unreadable.size() == 1);
    world.undo(*way);
    CHECK(*base::read_file(world.paths[0]) == "first\n");
    CHECK(*base::read_file(world.paths[2]) == "second\n");
    CHECK(!std::filesystem::exists(other));
    CHECK(world.read().unreadable.size() == 1);

    const auto forced = plan::undo_plan(world.read(), {.all = true, .force = true});
    REQUIRE(forced);
    CHECK(forced->unreadable.size() == 1);
    world.undo(*forced);
    CHECK(!std::filesystem::exists(world.home()));
  }
}

TEST_CASE("torn journal: two lines that an older gpuadm ran together are one that cannot be read") {
  if (!is_root()) return;
  Torn world;
  const std::string whole = world.journal();
  const std::size_t first = whole.find('\n');
  for (std::size_t cut = 1; cut <= first; cut += 7) {
    world.write_log(whole.substr(0, cut) + whole.substr(first + 1));
    const plan::Journal journal = world.read();
    CAPTURE(cut);
    // Else it is of a kind that no gpuadm knows, which undo refuses.
    CHECK((journal.unreadable.size() == 1 || !plan::undo_plan(journal, {})));
  }
}

TEST_CASE("torn journal: a damaged original is not restored") {
  if (!is_root()) return;
  Torn world;
  const auto blob = world.home() / "journal/blobs" / base::sha256("first\n");
  REQUIRE(base::write_file(blob, "firs", 0600));
  const auto way = plan::undo_plan(world.read(), {});
  REQUIRE(!way);
  CHECK(way.error().what.find("is missing or damaged") != std::string::npos);
}
