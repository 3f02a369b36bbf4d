#include "gpuadm/base/files.hpp"

#include "place.hpp"

#include <doctest/doctest.h>

using namespace testing_transport;
using namespace std::chrono_literals;

namespace {
std::string everything_in(const std::filesystem::path& folder) {
  std::string text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) text += base::read_file(entry.path()).value();
  return text;
}

/// A fleet of one local host whose answers are recorded.
struct Recorder {
  explicit Recorder(const std::filesystem::path& folder) {
    fleet.add("here", transport::recording(transport::open(*session, "here", {.local = true}), folder));
  }
  transport::SessionPtr session = transport::make_session({}, {});
  transport::Fleet fleet{1, nullptr};
};
}  // namespace

TEST_CASE("recorded: a recording replays output, status, errors, and each answer in turn") {
  Place place;
  const std::string state = (place.path / "state").string();
  const std::string check = "test -e " + state + " && echo there";
  {
    Recorder recorder(place.path / "host");
    CHECK(run(recorder.fleet, "here", reads(check))->status == 1);
    CHECK(run(recorder.fleet, "here", reads("touch " + state + "; echo é >&2"))->status == 0);
    CHECK(run(recorder.fleet, "here", reads(check))->status == 0);
    auto hangs = reads("sleep 60");
    hangs.timeout = 1s;
    CHECK_FALSE(run(recorder.fleet, "here", std::move(hangs)));
  }
  std::filesystem::remove(state);
  transport::Fleet fleet(1, nullptr);
  fleet.add("here", transport::recorded(place.path / "host"));
  CHECK(run(fleet, "here", reads(check))->status == 1);
  CHECK(run(fleet, "here", reads("touch " + state + "; echo é >&2"))->err == "é\n");
  CHECK(run(fleet, "here", reads(check))->out == "there\n");
  CHECK(run(fleet, "here", reads(check))->out == "there\n");
  CHECK_FALSE(std::filesystem::exists(state));
  const auto hung = run(fleet, "here", reads("sleep 60"));
  REQUIRE_FALSE(hung);
  CHECK(hung.error().fault == base::Fault::timeout);
}

TEST_CASE("recorded: a command without an answer is named") {
  Place place;
  std::filesystem::create_directory(place.path / "host");
  transport::Fleet fleet(1, nullptr);
  fleet.add("here", transport::recorded(place.path / "host"));
  auto command = reads("true");
  command.label = "read the swap";
  const auto exit = run(fleet, "here", std::move(command));
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::remote);
  CHECK(exit.error().what.find("read the swap") != std::string::npos);
}

TEST_CASE("recorded: a folder that is not there, or a broken answer, is named") {
  Place place;
  transport::Fleet fleet(1, nullptr);
  fleet.add("gone", transport::recorded(place.path / "nowhere"));
  CHECK(run(fleet, "gone", reads("true")).error().what.find("nowhere") != std::string::npos);
  std::filesystem::create_directories(place.path / "host" / "0001-x");
  place.write("host/0001-x/command.sh", "true");
  place.write("host/0001-x/answer.yaml", "label: x\n");
  fleet.add("broken", transport::recorded(place.path / "host"));
  CHECK(run(fleet, "broken", reads("true")).error().what.find("0001-x/answer.yaml") != std::string::npos);
}

TEST_CASE("recorded: no secret reaches a recording, and a command with one is found again") {
  Place place;
  const auto with_secret = [] {
    auto command = reads("token='it'\\''s-9a8b7c'; echo \"$token\"");
    command.secrets.emplace_back("it's-9a8b7c");
    return command;
  };
  const auto prints_secret = [] {
    auto command = reads("echo abc.d; echo ef >&2");
    command.output = transport::Output::secret;
    return command;
  };
  {
    Recorder recorder(place.path / "host");
    CHECK(run(recorder.fleet, "here", with_secret())->out == "it's-9a8b7c\n");
    CHECK(run(recorder.fleet, "here", prints_secret())->out == "abc.d\n");
  }
  CHECK(everything_in(place.path / "host").find("9a8b7c") == std::string::npos);
  transport::Fleet fleet(1, nullptr);
  fleet.add("here", transport::recorded(place.path / "host"));
  CHECK(run(fleet, "here", with_secret())->out == "<secret>\n");
  CHECK(run(fleet, "here", prints_secret())->out == "<secret>\n");
}
