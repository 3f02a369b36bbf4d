#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "place.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <unistd.h>

using namespace testing_transport;
using namespace std::chrono_literals;

namespace {
struct Here {
  transport::SessionPtr session = transport::make_session({}, {});
  transport::Fleet fleet{4, nullptr};
  Here() { fleet.add("here", transport::open(*session, "here", {.local = true})); }
  transport::Result<transport::Exit> operator()(transport::Command command) {
    return run(fleet, "here", std::move(command));
  }
  transport::Result<transport::Exit> operator()(const std::string& script) {
    return run(fleet, "here", reads(script));
  }
};
}  // namespace

TEST_CASE("local: a program's output, error output and status come back") {
  Here here;
  const auto exit = here("echo out; echo err >&2; exit 3");
  REQUIRE(exit);
  CHECK(exit->out == "out\n");
  CHECK(exit->err == "err\n");
  CHECK(exit->status == 3);
}

TEST_CASE("local: a program that reads stdin gets nothing and does not eat itself") {
  Here here;
  const auto exit = here("cat; echo after");
  REQUIRE(exit);
  CHECK(exit->out == "after\n");
}

TEST_CASE("local: quotes, dollars, backslashes and non-ASCII bytes arrive as written") {
  Here here;
  const auto exit = here("printf '%s' 'a'\"'\"'b $HOME \\ ü \xff'");
  REQUIRE(exit);
  CHECK(exit->out == "a'b $HOME \\ ü \xff");
}

TEST_CASE("local: a script with a stray brace or a syntax error runs nothing of it") {
  Here here;
  for (const std::string broken : {"echo one\n}\necho two", "echo one\nfi\necho two", "echo one\nif",
                                   "echo one\ncat <<E\n", "echo 'one"}) {
    CAPTURE(broken);
    const auto exit = here(broken);
    REQUIRE(exit);
    CHECK(exit->status != 0);
    CHECK(exit->out == "");
    CHECK(exit->err != "");
  }
}

TEST_CASE("local: a script may be empty, end in a comment or end in a backslash") {
  Here here;
  CHECK(here("")->status == 0);
  CHECK(here("echo a # b")->out == "a\n");
  CHECK(here("echo a \\")->out == "a\n");
}

TEST_CASE("local: the locale is C and the administrator's programs are on the path") {
  Here here;
  const auto exit = here("echo $LC_ALL; case :$PATH: in *:/usr/sbin:*) echo yes;; esac; umask");
  REQUIRE(exit);
  CHECK(exit->out == "C\nyes\n0022\n");
}

TEST_CASE("local: a program killed by a signal ends with 128 and its number") {
  Here here;
  CHECK(here("kill -KILL $$")->status == 137);
}

TEST_CASE("local: a program that hangs is stopped at its deadline, with its children") {
  Here here;
  Place place;
  auto command = reads("sleep 97 & echo $! > " + (place.path / "pid").string() + "; sleep 98");
  command.timeout = 1s;
  command.label = "sleep";
  const auto exit = here(std::move(command));
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::timeout);
  CHECK(exit.error().what.find("“sleep” did not end within") != std::string::npos);
  const auto stat = "/proc/" + std::string(base::trim(base::read_file(place.path / "pid").value())) + "/stat";
  const auto lives = [&] {
    const auto text = base::read_file(stat);
    return text && text->find(") Z ") == std::string::npos;
  };
  for (int i = 0; i < 100 && lives(); ++i) ::usleep(10'000);
  CHECK_FALSE(lives());
  CHECK(here("echo next")->out == "next\n");
}

TEST_CASE("local: a program that ignores SIGTERM is killed") {
  Here here;
  auto command = reads("trap '' TERM; while :; do sleep 1; done");
  command.timeout = 1s;
  const auto exit = here(std::move(command));
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::timeout);
}

TEST_CASE("local: a background process that keeps the output open does not hold the answer back") {
  Here here;
  const auto from = base::Clock::now();
  const auto exit = here("sleep 30 & echo done");
  REQUIRE(exit);
  CHECK(exit->out == "done\n");
  CHECK(base::Clock::now() - from < 10s);
}

TEST_CASE("local: a flood is cut at the limit and counted") {
  Here here;
  auto command = reads("head -c 5000000 /dev/zero; head -c 100 /dev/zero >&2");
  command.output_limit = 1000;
  const auto exit = here(std::move(command));
  REQUIRE(exit);
  CHECK(exit->out.size() == 1000);
  CHECK(exit->err.size() == 100);
  CHECK(exit->dropped == 4'999'000);
}

TEST_CASE("local: a file is streamed to the program's stdin") {
  Here here;
  Place place;
  std::string bytes(3'000'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7919 >> 3);
  auto command = reads("sha256sum | cut -d' ' -f1");
  command.input = place.write("bytes", bytes);
  const auto exit = here(std::move(command));
  REQUIRE(exit);
  CHECK(exit->out == base::sha256(bytes) + "\n");
}

TEST_CASE("local: a program that stops reading its file early is answered") {
  Here here;
  Place place;
  auto command = reads("head -c 3");
  command.input = place.write("bytes", std::string(3'000'000, 'x'));
  const auto exit = here(std::move(command));
  REQUIRE(exit);
  CHECK(exit->out == "xxx");
}

TEST_CASE("local: a file that is not there is named") {
  Here here;
  auto command = reads("cat");
  command.input = "/nonexistent/file";
  const auto exit = here(std::move(command));
  REQUIRE_FALSE(exit);
  CHECK(exit.error().what.find("/nonexistent/file") != std::string::npos);
}

TEST_CASE("read-only: a command that changes the host is refused by name, one that reads goes through") {
  auto session = transport::make_session({}, {});
  transport::Fleet fleet(1, nullptr);
  fleet.add("here", transport::read_only(transport::open(*session, "here", {.local = true})));
  CHECK(fleet.at("here").kind() == "read-only (local)");
  auto command = reads("echo no");
  command.effect = transport::Effect::changes;
  command.label = "write the file";
  const auto refused = run(fleet, "here", std::move(command));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().fault == base::Fault::bug);
  CHECK(refused.error().what.find("write the file") != std::string::npos);
  CHECK(run(fleet, "here", reads("echo yes"))->out == "yes\n");
}
