// Proves that GPUs compute: runs in a pod, needs nothing but the driver's libcuda.so.1, and prints a line of
// JSON a GPU.
//   gpuadm-proof [--quick]        --quick: without the pass over all of the memory
// Exit: 0 every GPU did what it should, 1 one did not, 2 there is no CUDA or no GPU.
#include "steps.hpp"

#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <string_view>

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

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
    try {
      const proof::Figures figures = run();
      entry += ",\"result\":\"pass\"";
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

bool prove(int index, int gpus, bool quick) {
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
  if (!quick) line.step("memory", [&] { return proof::memory(*gpu); });
  line.step("floats", [&] { return proof::floats(*gpu); });
  line.step("halves", [&] { return proof::halves(*gpu); });
  line.step("link", [&] { return proof::link(*gpu); });
  if (const int next = (index + 1) % gpus; next != index)
    line.step("peer " + std::to_string(next), [&] { return proof::peer(*gpu, cuda::Gpu(next)); });
  return line.end();
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::string_view(argv[1]) == "--quick";
  if (argc > 1 && !quick) {
    std::fputs("usage: gpuadm-proof [--quick]\n", stderr);
    return 2;
  }
  int gpus = 0;
  try {
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
  for (int i = 0; i < gpus; ++i) good = prove(i, gpus, quick) && good;
  return good ? 0 : 1;
}
