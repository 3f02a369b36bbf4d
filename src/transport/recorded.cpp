#include "transport/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace transport {

namespace {
namespace fs = std::filesystem;

class Recorded final : public Transport {
 public:
  explicit Recorded(fs::path folder) : folder_(std::move(folder)) {}

  Result<void> start(Command command) override {
    if (running_) return base::fail(base::Fault::bug, "a recorded command is running");
    TRY(load());
    running_ = std::move(command);
    return {};
  }
  void interests(std::vector<pollfd>&) const override {}
  std::optional<base::Instant> wake() const override {
    return running_ ? std::optional(base::Clock::now()) : std::nullopt;
  }
  Result<std::optional<Exit>> advance() override {
    if (!running_) return std::nullopt;
    const Command command = *std::exchange(running_, std::nullopt);
    const auto found = answers_.find(mask(command.script, command));
    if (found == answers_.end())
      return base::fail(
          base::Fault::remote,
          fmt::format("{}: the recording has no result of “{}”", folder_.string(), command.label),
          "record the scenario again: docs/reference/recordings.md");
    Sequence& sequence = found->second;
    const auto& result = sequence.results[std::min(sequence.next, sequence.results.size() - 1)];
    ++sequence.next;
    if (!result) return std::unexpected(result.error());
    return *result;
  }
  void close() override { running_.reset(); }
  std::string kind() const override { return "recorded"; }

 private:
  struct Sequence {
    std::vector<Result<Exit>> results;
    std::size_t next = 0;
  };

  Result<> load() {
    if (loaded_) return {};
    std::error_code error;
    std::vector<fs::path> places;
    for (const auto& entry : fs::directory_iterator(folder_, error))
      if (entry.is_directory()) places.push_back(entry.path());
    if (error)
      return base::fail(base::Fault::remote,
                        fmt::format("cannot read the recording {}: {}", folder_.string(), error.message()));
    std::sort(places.begin(), places.end());
    for (const auto& place : places) {
      Answer answer = TRY(read_answer(place));
      answers_[answer.script].results.push_back(std::move(answer.result));
    }
    loaded_ = true;
    return {};
  }

  fs::path folder_;
  bool loaded_ = false;
  std::map<std::string, Sequence> answers_;
  std::optional<Command> running_;
};

class Recording final : public Transport {
 public:
  Recording(std::unique_ptr<Transport> inner, fs::path folder)
      : inner_(std::move(inner)), folder_(std::move(folder)) {}

  Result<void> start(Command command) override {
    command_ = command;
    auto started = inner_->start(std::move(command));
    if (!started) TRY(write_answer(folder_, ++count_, command_, std::unexpected(started.error())));
    return started;
  }
  void interests(std::vector<pollfd>& into) const override { inner_->interests(into); }
  std::optional<base::Instant> wake() const override { return inner_->wake(); }
  Result<std::optional<Exit>> advance() override {
    auto progress = inner_->advance();
    if (!progress)
      TRY(write_answer(folder_, ++count_, command_, std::unexpected(progress.error())));
    else if (*progress)
      TRY(write_answer(folder_, ++count_, command_, **progress));
    return progress;
  }
  void close() override { inner_->close(); }
  std::uint64_t sent() const override { return inner_->sent(); }
  std::string kind() const override { return inner_->kind(); }

 private:
  std::unique_ptr<Transport> inner_;
  fs::path folder_;
  Command command_;
  std::size_t count_ = 0;
};
}  // namespace

std::unique_ptr<Transport> recorded(const std::filesystem::path& folder) {
  return std::make_unique<Recorded>(folder);
}

std::unique_ptr<Transport> recording(std::unique_ptr<Transport> inner, const std::filesystem::path& folder) {
  return std::make_unique<Recording>(std::move(inner), folder);
}

}  // namespace transport
