#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/// The part of NVIDIA's CUDA driver API that the proof uses, from libcuda.so.1, which is loaded at run
/// time: the program is built without CUDA and starts without it.
namespace cuda {

/// A call that failed, in the driver's words. Ends the proof of the GPU it happened on.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Pointer = unsigned long long;  ///< into a GPU's memory

/// CUdevice_attribute.
enum class Attribute : int {
  clock_khz = 13,
  multiprocessors = 16,
  memory_clock_khz = 36,
  memory_bus_bits = 37,
  compute_capability_major = 75,
  compute_capability_minor = 76,
};

/// Loads libcuda.so.1 and initializes it. Throws Broken: there is none, or its kernel module does not answer.
void open();
/// The CUDA version that the driver speaks, "13.0".
[[nodiscard]] std::string version();
[[nodiscard]] int count();

/// Device memory, freed with it.
class Memory {
 public:
  explicit Memory(std::size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] Pointer at() const { return at_; }

 private:
  Pointer at_ = 0;
};

/// Page-locked memory of the host, which a GPU reads and writes at the link's full speed.
class Pinned {
 public:
  explicit Pinned(std::size_t bytes);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  [[nodiscard]] void* at() const { return at_; }

 private:
  void* at_ = nullptr;
};

void to_device(Pointer to, const void* from, std::size_t bytes);
void to_host(void* to, Pointer from, std::size_t bytes);

/// One GPU with its context, which is current from then on.
class Gpu {
 public:
  explicit Gpu(int index);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  void make_current() const;
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string uuid() const;
  [[nodiscard]] int attribute(Attribute which) const;
  [[nodiscard]] std::size_t total_memory() const;
  [[nodiscard]] std::size_t free_memory() const;
  [[nodiscard]] bool reaches(const Gpu& peer) const;
  /// Lets the two copy to each other without the host's memory in between, where they can.
  void open_way_to(const Gpu& peer) const;
  void copy_to(const Gpu& peer, Pointer to, Pointer from, std::size_t bytes) const;

 private:
  int device_ = 0;
  void* context_ = nullptr;
};

/// PTX, compiled by the driver for the current GPU.
class Module {
 public:
  explicit Module(const char* ptx);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  /// Starts a kernel; `arguments` point to its parameters.
  void start(const char* kernel, unsigned grid_x, unsigned grid_y, unsigned threads,
             std::vector<void*> arguments) const;

 private:
  void* module_ = nullptr;
};

/// Seconds on the current GPU between its making and seconds(), which waits for all work begun in between.
class Stopwatch {
 public:
  Stopwatch();
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  [[nodiscard]] double seconds() const;

 private:
  void* begin_ = nullptr;
  void* end_ = nullptr;
};

}  // namespace cuda
