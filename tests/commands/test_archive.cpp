#include "gpuadm/base/files.hpp"
#include "gpuadm/session/recording.hpp"

#include "commands/inspect/archive.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sys/stat.h>

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  return base::read_file(path).value_or("");
}

}  // namespace

TEST_CASE("archive: section names of a host cannot leave the directory, and no section is lost") {
  const auto archive = commands::Archive::make("made");
  REQUIRE(archive);
  CHECK(
      archive->add_sections("h",
                            "=== ../../etc/passwd\n| a\n=== a\n| b\n=== a\n| c\n=== a/b\n| d\n=== ///\n| e\n"
                            "=== .hidden\n| f\n=== a?b\n| g\n=== end\n") == 0);
  const fs::path h = archive->folder() / "h";
  CHECK(read(h / "_./_./etc/passwd.txt") == "a\n");
  CHECK(read(h / "a.txt") == "b\n");
  CHECK(read(h / "a-2.txt") == "c\n");
  CHECK(read(h / "a/b.txt") == "d\n");
  CHECK(read(h / "unnamed.txt") == "e\n");
  CHECK(read(h / "_hidden.txt") == "f\n");
  CHECK(read(h / "a_b.txt") == "g\n");
}

TEST_CASE("archive: a section that cannot be written is left out, and the others are there") {
  const auto archive = commands::Archive::make("made");
  REQUIRE(archive);
  CHECK(archive->add_sections("h", "=== a\n| a\n=== a.txt/b\n| b\n=== c\n| c\n") == 1);
  CHECK(read(archive->folder() / "h/c.txt") == "c\n");
}

TEST_CASE("archive: a host with endless sections gets so many files and no more") {
  const auto archive = commands::Archive::make("made");
  REQUIRE(archive);
  std::string answer;
  for (std::size_t i = 0; i < commands::Archive::most_sections + 7; ++i)
    answer += fmt::format("=== s{}\n| x\n", i);
  CHECK(archive->add_sections("h", answer) == 7);
  CHECK(read(archive->folder() / "h/s0.txt") == "x\n");
}

TEST_CASE("recording: a link or a pipe in a recording is refused, not followed or waited for") {
  const auto archive = commands::Archive::make("made");
  REQUIRE(archive);
  const fs::path place = archive->folder();
  const auto refused = [&](const char* folder) {
    const auto recording = session::load_recording(place / folder);
    return recording ? "" : recording.error().what;
  };
  REQUIRE(base::write_file(place / "secret", "=== x\n"));
  REQUIRE(base::write_file(place / "pipe/x", ""));
  REQUIRE(base::write_file(place / "link/x", ""));
  REQUIRE(::mkfifo((place / "pipe/probe.txt").c_str(), 0600) == 0);
  fs::create_symlink(place / "secret", place / "link/probe.txt");
  CHECK(refused("pipe").find("probe.txt is not a regular file") != std::string::npos);
  CHECK(refused("link").find("links are not followed") != std::string::npos);
}

TEST_CASE("recording: of a recording with a link in it only that host is unread") {
  const auto archive = commands::Archive::make("made");
  REQUIRE(archive);
  const fs::path place = archive->folder() / "r";
  REQUIRE(base::write_file(archive->folder() / "elsewhere/probe.txt", "=== x\n"));
  REQUIRE(base::write_file(place / "recording.yaml", "form: gpuadm-recording/1\nhosts: {a: {}, b: {}}\n"));
  REQUIRE(base::write_file(place / "cluster.yaml",
                           "apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\n"
                           "hosts: [{name: a, address: 192.0.2.1}, {name: b, address: 192.0.2.2}]\n"));
  REQUIRE(base::write_file(place / "hosts/a/x", ""));
  REQUIRE(::mkfifo((place / "hosts/a/probe.txt").c_str(), 0600) == 0);
  fs::create_directory_symlink(archive->folder() / "elsewhere", place / "hosts/b");
  const auto recording = session::load_recording(place);
  REQUIRE(recording);
  for (const char* host : {"a", "b"}) {
    CAPTURE(host);
    const auto& survey = recording->survey.census.at(host);
    REQUIRE_FALSE(survey);
    CHECK(survey.error().what.find(host) != std::string::npos);
  }
  fs::create_symlink(archive->folder() / "elsewhere/probe.txt", place / "cluster.txt");
  CHECK_FALSE(session::load_recording(place));
}
