#include "gpuadm/base/json.hpp"
#include "gpuadm/base/redact.hpp"
#include "gpuadm/report/reporters.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace report {
namespace {

class JsonLines final : public Reporter {
 public:
  explicit JsonLines(Write write) : write_(std::move(write)) {}
  void on(const Event& event) override { write_(base::json::write(to_tree(event), 0) + "\n"); }

 private:
  Write write_;
};

class FanOut final : public Reporter {
 public:
  explicit FanOut(std::vector<Reporter*> to) : to_(std::move(to)) {}
  /// Output of hosts and contents of files are redacted.
  void on(const Event& event) override {
    Event redacted = event;
    for (std::string* text : {&redacted.detail, &redacted.hint, &redacted.diff, &redacted.output})
      *text = base::text_without_secrets(*text);
    for (Reporter* reporter : to_) reporter->on(redacted);
  }
  void tick(base::Time now) override {
    for (Reporter* reporter : to_) reporter->tick(now);
  }

 private:
  std::vector<Reporter*> to_;
};

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;  // a full disk must not end a run on hosts
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::unique_ptr<Reporter> json_lines(Write write) {
  return std::make_unique<JsonLines>(std::move(write));
}

base::Result<std::unique_ptr<Reporter>> json_lines(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return base::fail(base::Fault::usage, fmt::format("{}: {}", file.string(), std::strerror(errno)));
  const std::shared_ptr<const int> owner(new int(descriptor), [](const int* held) {
    ::close(*held);
    delete held;
  });
  return json_lines([owner](std::string_view text) { write_all(*owner, text); });
}

std::unique_ptr<Reporter> fan_out(std::vector<Reporter*> to) {
  return std::make_unique<FanOut>(std::move(to));
}

}  // namespace report
