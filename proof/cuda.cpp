#include "cuda.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdio>

namespace cuda {
namespace {

using Result = int;
constexpr Result already_enabled = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED

/// The functions under the names that libcuda.so.1 exports them by: _v2 are those of CUDA 4.0 and newer.
struct Api {
  Result (*cuInit)(unsigned);
  Result (*cuDriverGetVersion)(int*);
  Result (*cuGetErrorName)(Result, const char**);
  Result (*cuGetErrorString)(Result, const char**);
  Result (*cuDeviceGetCount)(int*);
  Result (*cuDeviceGet)(int*, int);
  Result (*cuDeviceGetName)(char*, int, int);
  Result (*cuDeviceGetUuid)(unsigned char*, int);
  Result (*cuDeviceGetAttribute)(int*, int, int);
  Result (*cuDeviceTotalMem_v2)(std::size_t*, int);
  Result (*cuDeviceCanAccessPeer)(int*, int, int);
  Result (*cuDevicePrimaryCtxRetain)(void**, int);
  Result (*cuDevicePrimaryCtxRelease_v2)(int);
  Result (*cuCtxSetCurrent)(void*);
  Result (*cuCtxEnablePeerAccess)(void*, unsigned);
  Result (*cuMemGetInfo_v2)(std::size_t*, std::size_t*);
  Result (*cuMemAlloc_v2)(Pointer*, std::size_t);
  Result (*cuMemFree_v2)(Pointer);
  Result (*cuMemAllocHost_v2)(void**, std::size_t);
  Result (*cuMemFreeHost)(void*);
  Result (*cuMemcpyHtoD_v2)(Pointer, const void*, std::size_t);
  Result (*cuMemcpyDtoH_v2)(void*, Pointer, std::size_t);
  Result (*cuMemcpyPeer)(Pointer, void*, Pointer, void*, std::size_t);
  Result (*cuModuleLoadData)(void**, const void*);
  Result (*cuModuleUnload)(void*);
  Result (*cuModuleGetFunction)(void**, void*, const char*);
  Result (*cuLaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                           void**, void**);
  Result (*cuEventCreate)(void**, unsigned);
  Result (*cuEventRecord)(void*, void*);
  Result (*cuEventSynchronize)(void*);
  Result (*cuEventElapsedTime)(float*, void*, void*);
  Result (*cuEventDestroy_v2)(void*);
};
Api api{};

void check(Result result, const char* call) {
  if (result == 0) return;
  const char* name = nullptr;
  const char* words = nullptr;
  if (api.cuGetErrorName) api.cuGetErrorName(result, &name);
  if (api.cuGetErrorString) api.cuGetErrorString(result, &words);
  throw Broken(std::string(call) + ": " + (name ? name : "error " + std::to_string(result)) +
               (words ? std::string(": ") + words : ""));
}

#define CALL(function, ...) check(api.function(__VA_ARGS__), #function)

template <typename Function>
void find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (!function) throw Broken(std::string("libcuda.so.1 has no ") + name + ": the driver is too old");
}

}  // namespace

void open() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) throw Broken(::dlerror());
#define FIND(name) find(library, api.name, #name)
  FIND(cuInit), FIND(cuDriverGetVersion), FIND(cuGetErrorName), FIND(cuGetErrorString),
      FIND(cuDeviceGetCount);
  FIND(cuDeviceGet), FIND(cuDeviceGetName), FIND(cuDeviceGetUuid), FIND(cuDeviceGetAttribute),
      FIND(cuDeviceTotalMem_v2);
  FIND(cuDeviceCanAccessPeer), FIND(cuDevicePrimaryCtxRetain), FIND(cuDevicePrimaryCtxRelease_v2),
      FIND(cuCtxSetCurrent);
  FIND(cuCtxEnablePeerAccess), FIND(cuMemGetInfo_v2), FIND(cuMemAlloc_v2), FIND(cuMemFree_v2),
      FIND(cuMemAllocHost_v2);
  FIND(cuMemFreeHost), FIND(cuMemcpyHtoD_v2), FIND(cuMemcpyDtoH_v2), FIND(cuMemcpyPeer),
      FIND(cuModuleLoadData);
  FIND(cuModuleUnload), FIND(cuModuleGetFunction), FIND(cuLaunchKernel), FIND(cuEventCreate),
      FIND(cuEventRecord);
  FIND(cuEventSynchronize), FIND(cuEventElapsedTime), FIND(cuEventDestroy_v2);
#undef FIND
  CALL(cuInit, 0);
}

std::string version() {
  int number = 0;  // 1000 × major + 10 × minor
  CALL(cuDriverGetVersion, &number);
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

int count() {
  int number = 0;
  CALL(cuDeviceGetCount, &number);
  return number;
}

Memory::Memory(std::size_t bytes) {
  CALL(cuMemAlloc_v2, &at_, bytes);
}
Memory::~Memory() {
  api.cuMemFree_v2(at_);
}

Pinned::Pinned(std::size_t bytes) {
  CALL(cuMemAllocHost_v2, &at_, bytes);
}
Pinned::~Pinned() {
  api.cuMemFreeHost(at_);
}

void to_device(Pointer to, const void* from, std::size_t bytes) {
  CALL(cuMemcpyHtoD_v2, to, from, bytes);
}
void to_host(void* to, Pointer from, std::size_t bytes) {
  CALL(cuMemcpyDtoH_v2, to, from, bytes);
}

Gpu::Gpu(int index) {
  CALL(cuDeviceGet, &device_, index);
  CALL(cuDevicePrimaryCtxRetain, &context_, device_);
  make_current();
}
Gpu::~Gpu() {
  api.cuDevicePrimaryCtxRelease_v2(device_);
}

void Gpu::make_current() const {
  CALL(cuCtxSetCurrent, context_);
}

std::string Gpu::name() const {
  std::array<char, 128> text{};
  CALL(cuDeviceGetName, text.data(), static_cast<int>(text.size()) - 1, device_);
  return text.data();
}

std::string Gpu::uuid() const {
  std::array<unsigned char, 16> bytes{};
  CALL(cuDeviceGetUuid, bytes.data(), device_);
  std::string text = "GPU-";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += two.data();
  }
  return text;
}

int Gpu::attribute(Attribute which) const {
  int value = 0;
  CALL(cuDeviceGetAttribute, &value, static_cast<int>(which), device_);
  return value;
}

std::size_t Gpu::total_memory() const {
  std::size_t bytes = 0;
  CALL(cuDeviceTotalMem_v2, &bytes, device_);
  return bytes;
}

std::size_t Gpu::free_memory() const {
  std::size_t free = 0, total = 0;
  make_current();
  CALL(cuMemGetInfo_v2, &free, &total);
  return free;
}

bool Gpu::reaches(const Gpu& peer) const {
  int can = 0;
  CALL(cuDeviceCanAccessPeer, &can, device_, peer.device_);
  return can != 0;
}

void Gpu::open_way_to(const Gpu& peer) const {
  if (!reaches(peer)) return;
  make_current();
  const Result result = api.cuCtxEnablePeerAccess(peer.context_, 0);
  if (result != already_enabled) check(result, "cuCtxEnablePeerAccess");
}

void Gpu::copy_to(const Gpu& peer, Pointer to, Pointer from, std::size_t bytes) const {
  CALL(cuMemcpyPeer, to, peer.context_, from, context_, bytes);
}

Module::Module(const char* ptx) {
  CALL(cuModuleLoadData, &module_, ptx);
}
Module::~Module() {
  api.cuModuleUnload(module_);
}

void Module::start(const char* kernel, unsigned grid_x, unsigned grid_y, unsigned threads,
                   std::vector<void*> arguments) const {
  void* function = nullptr;
  CALL(cuModuleGetFunction, &function, module_, kernel);
  check(api.cuLaunchKernel(function, grid_x, grid_y, 1, threads, 1, 1, 0, nullptr, arguments.data(), nullptr),
        kernel);
}

Stopwatch::Stopwatch() {
  CALL(cuEventCreate, &begin_, 0);
  CALL(cuEventCreate, &end_, 0);
  CALL(cuEventRecord, begin_, nullptr);
}
Stopwatch::~Stopwatch() {
  api.cuEventDestroy_v2(begin_);
  api.cuEventDestroy_v2(end_);
}

double Stopwatch::seconds() const {
  float milliseconds = 0;
  CALL(cuEventRecord, end_, nullptr);
  CALL(cuEventSynchronize, end_);
  CALL(cuEventElapsedTime, &milliseconds, begin_, end_);
  return static_cast<double>(milliseconds) / 1000;
}

}  // namespace cuda
