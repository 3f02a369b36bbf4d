// Proves that GPUs compute: runs in a pod, needs nothing but the driver's libcuda.so.1, and prints a line of
// JSON a GPU.
//   gpuadm-proof [--quick | --look | --hold SECONDS] [--again SECONDS] [--deadline SECONDS]
//     --quick     without the pass over all of the memory
//     --look      only a context on each GPU
//     --hold      nothing but to keep a pod, and with it its GPU, for so long
//     --again     --look, or --quick, with a pause of two seconds for so long, each time in a new process:
//     {"exit": its status} after each
//     --deadline  for each GPU (300): one that does not answer hangs in the driver forever
//     --network   not GPUs, but what a pod reaches: network.cpp
// Exit: 0 every GPU did what it should, 1 one did not, 2 there is no CUDA or no GPU.
#include "deadline.hpp"
#include "network.hpp"
#include "quoted.hpp"
#include "steps.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string_view>

namespace {

/// Four digits are more than two runs agree in.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, std::fabs(value) < 10000 ? "%.4g" : "%.0f", value);
  return text;
}

/// One GPU's line: every step, in order, until one fails.
class Line {
 public:
  explicit Line(int index) { text_ = "{\"gpu\":" + std::to_string(index); }

  void say(const char* key, const std::string& value) {
    text_ += std::string(",\"") + key + "\":" + quoted(value);
  }
  void step(const std::string& name, const std::function<proof::Figures()>& run) {
    if (failed_) return;
    std::string entry = "{\"step\":" + quoted(name);
    deadline::enter(name);
    try {
      const proof::Figures figures = run();
      entry += figures.empty() ? ",\"result\":\"skip\"" : ",\"result\":\"pass\"";
      for (const auto& [key, value] : figures) entry += "," + quoted(key) + ":" + number(value);
    } catch (const cuda::Broken& broken) {
      failed_ = true;
      entry += ",\"result\":\"fail\",\"says\":" + quoted(broken.what());
    }
    steps_ += (steps_.empty() ? "" : ",") + entry + "}";
  }
  /// Prints the line; whether every step was good.
  bool end() const {
    std::printf("%s,\"steps\":[%s]}\n", text_.c_str(), steps_.c_str());
    std::fflush(stdout);
    return !failed_;
  }

 private:
  std::string text_, steps_;
  bool failed_ = false;
};

enum class Work { all, quick, look, hold };

bool prove(int index, int gpus, Work work) {
  Line line(index);
  std::optional<cuda::Gpu> gpu;
  line.step("context", [&]() -> proof::Figures {
    gpu.emplace(index);
    line.say("name", gpu->name());
    line.say("uuid", gpu->uuid());
    line.say("cuda", cuda::version());
    line.say("computeCapability",
             std::to_string(gpu->attribute(cuda::Attribute::compute_capability_major)) + "." +
                 std::to_string(gpu->attribute(cuda::Attribute::compute_capability_minor)));
    return {{"bytes", static_cast<double>(gpu->total_memory())}};
  });
  if (work == Work::look) return line.end();
  if (work == Work::all) line.step("memory", [&] { return proof::memory(*gpu); });
  line.step("floats", [&] { return proof::floats(*gpu); });
  line.step("halves", [&] { return proof::halves(*gpu); });
  line.step("link", [&] { return proof::link(*gpu); });
  if (const int next = (index + 1) % gpus; next != index)
    line.step("peer " + std::to_string(next), [&] { return proof::peer(*gpu, cuda::Gpu(next)); });
  return line.end();
}

/// Every GPU, one after the other; the exit status.
int prove_all(Work work, int seconds) {
  int gpus = 0;
  try {
    deadline::begin("the driver", seconds);
    cuda::open();
    gpus = cuda::count();
  } catch (const cuda::Broken& broken) {
    std::fprintf(stderr, "gpuadm-proof: %s\n", broken.what());
    return 2;
  }
  if (gpus == 0) {
    std::fputs("gpuadm-proof: the driver shows no GPU\n", stderr);
    return 2;
  }
  bool good = true;
  for (int i = 0; i < gpus; ++i) {
    deadline::begin("GPU " + std::to_string(i), seconds);
    good = prove(i, gpus, work) && good;
  }
  return good ? 0 : 1;
}

/// Whether it was asked to end before the time had passed.
bool sleeps(int seconds) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  const timespec time{seconds, 0};
  return sigtimedwait(&ends, nullptr, &time) < 0;
}

/// A device that is open stays usable; only a new process shows whether it may be opened.
int prove_again(Work work, int seconds, int limit) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    const pid_t child = fork();
    if (child == 0) _exit(prove_all(work, limit));
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("{\"exit\":%d}\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    std::fflush(stdout);
    if (!sleeps(2)) break;
  }
  return 0;
}

struct Options {
  Work work = Work::all;
  int deadline = 300;  ///< seconds, all three
  int hold = 0, again = 0;
};

/// Nothing: the arguments are invalid.
std::optional<Options> read(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool wants_seconds = word == "--deadline" || word == "--hold" || word == "--again";
    const int seconds = wants_seconds && i + 1 < argc ? std::atoi(argv[++i]) : 0;
    if (wants_seconds && (seconds < 1 || seconds > 86400)) return std::nullopt;
    if (word == "--deadline" || word == "--again") {
      (word == "--again" ? options.again : options.deadline) = seconds;
      continue;
    }
    if (options.work != Work::all) return std::nullopt;
    options.hold = seconds;
    options.work = word == "--quick"  ? Work::quick
                   : word == "--look" ? Work::look
                   : word == "--hold" ? Work::hold
                                      : Work::all;
    if (options.work == Work::all) return std::nullopt;
  }
  if (options.again > 0 && options.work == Work::hold) return std::nullopt;
  if (options.again > 0 && options.work == Work::all) options.work = Work::look;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--network")
    return network::run({argv + 2, static_cast<std::size_t>(argc - 2)});
  const auto options = read(argc, argv);
  if (!options) {
    std::fprintf(
        stderr,
        "usage: gpuadm-proof [--quick | --look | --hold SECONDS] [--again SECONDS] [--deadline SECONDS]\n"
        "       gpuadm-proof %s\n",
        network::usage);
    return 2;
  }
  if (options->work == Work::hold) return sleeps(options->hold), 0;
  if (options->again > 0) return prove_again(options->work, options->again, options->deadline);
  return prove_all(options->work, options->deadline);
}
