#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/report/reporters.hpp"

#include <unistd.h>

#include <filesystem>

TEST_CASE("events.jsonl is one object a line, readable by its owner alone, complete after each event") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("gpuadm-jsonl-{}", getpid());
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / "events.jsonl";
  auto lines = report::json_lines(file);
  REQUIRE(lines);
  (*lines)->on({.at = base::Time{},
                .host = "cp1",
                .step = "a",
                .did = report::Did::applied,
                .detail = "two\nlines",
                .seconds = 1.5});
  CHECK(
      base::read_file(file).value() ==
      R"({"at":"1970-01-01T00:00:00.000Z","did":"applied","host":"cp1","step":"a","detail":"two\nlines","seconds":1.5})"
      "\n");
  (*lines)->on({.did = report::Did::finished});
  CHECK(base::read_file(file).value().find("\"finished\"") != std::string::npos);
  CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::all) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  std::filesystem::remove_all(folder);
}

TEST_CASE("events.jsonl in a folder that does not exist names the file") {
  const auto lines = report::json_lines("/nowhere/events.jsonl");
  REQUIRE_FALSE(lines);
  CHECK(lines.error().what.find("/nowhere/events.jsonl") != std::string::npos);
}

TEST_CASE("a fan-out forwards events to its reporters in order") {
  report::Collector first, second;
  const auto all = report::fan_out({&first, &second});
  all->on({.step = "a"});
  CHECK(first.events().size() == 1);
  CHECK(second.events().at(0).step == "a");
}
