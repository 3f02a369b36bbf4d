#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/last_error.hpp"

#include "case_text.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

// A case is tests/cases/last-error/<what it shows>.txt: expected fields, "---", the log.

namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : base::lines(text)) lines.emplace_back(line);
  return lines;
}

std::map<std::string, std::string> fields_of(const kube::LastError& error,
                                             const std::vector<std::string>& log) {
  std::map<std::string, std::string> fields = {{"text", error.text}};
  if (!error.origin.empty()) fields["origin"] = error.origin;
  if (!error.previous.empty()) fields["previous"] = error.previous;
  if (!error.rank.empty()) fields["rank"] = error.rank;
  if (error.signal > 0) fields["signal"] = std::to_string(error.signal);
  if (error.end != log.size()) fields["end"] = std::to_string(error.end);
  return fields;
}

}  // namespace

TEST_CASE("last error: every case quotes the error that ended the program") {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(GPUADM_TESTS_DIR "/cases/last-error")) {
    CAPTURE(entry.path().filename().string());
    const std::string text = case_text(entry.path());
    const std::size_t middle = text.find("---\n");
    REQUIRE(middle != std::string::npos);
    const auto log = lines_of(std::string_view(text).substr(middle + 4));
    std::string fields;
    for (const auto& [name, value] : fields_of(kube::last_error(log), log))
      fields += fmt::format("{}: {}\n", name, value);
    if (std::getenv("GPUADM_REWRITE_CASES"))
      REQUIRE(base::write_file(entry.path(), fields + text.substr(middle), 0644));
    else
      CHECK(fields == text.substr(0, middle));
    ++count;
  }
  CHECK(count >= 20);
}

TEST_CASE("last error: a line without a known word is quoted") {
  const std::vector<std::string> words = {"zorblat overran the quonset at 0x17",
                                          "kernel thunk 5 went sideways",
                                          "gave up after nine moons",
                                          "the flux ratio went above 11",
                                          "bad moon rising: code 3",
                                          "no luck with the third lathe",
                                          "Bye.",
                                          "status=9 phase=shear",
                                          "ölpumpe steht",
                                          "内存条松动"};
  for (const std::string& line : words) {
    CAPTURE(line);
    CHECK(kube::last_error(std::vector<std::string>{"started", line, "", "   "}).text == line);
  }
  CHECK(kube::last_error({}).text.empty());
  CHECK(kube::last_error(std::vector<std::string>{"", "=========="}).text == "==========");
}

TEST_CASE("last error: a log of any length and form ends in time") {
  std::vector<std::string> log;
  for (int i = 0; i < 400; ++i) {
    log.push_back(i % 2 == 0 ? "[rank" + std::to_string(i) + "]: Traceback (most recent call last):"
                             : std::string(8000, '['));
    log.push_back("==========");
  }
  CHECK(!kube::last_error(log).text.empty());
}
