#include "calibration/tune/device/cuda_driver.hpp"

#include <dlfcn.h>

#include <array>
#include <stdexcept>

#include "sim/base/error.hpp"

namespace foretoken::tune {
namespace {

void* open_first(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <class Function>
void bind(void* library, const char* name, Function*& to) {
  to = reinterpret_cast<Function*>(dlsym(library, name));
  if (to == nullptr) throw std::runtime_error(fmt::format("the CUDA library has no {}", name));
}

CudaDriver load_driver() {
  void* library = open_first({"libcuda.so.1", "libcuda.so"});
  if (library == nullptr) {
    throw std::runtime_error("libcuda.so.1 not found: no NVIDIA driver on this machine");
  }
  CudaDriver driver{};
  bind(library, "cuInit", driver.init);
  bind(library, "cuDeviceGet", driver.device_get);
  bind(library, "cuDeviceGetName", driver.device_name);
  bind(library, "cuDeviceGetAttribute", driver.device_attribute);
  bind(library, "cuDevicePrimaryCtxRetain", driver.context_retain);
  bind(library, "cuCtxSetCurrent", driver.context_use);
  bind(library, "cuCtxSynchronize", driver.context_synchronize);
  bind(library, "cuGetErrorString", driver.error_text);
  bind(library, "cuModuleLoadData", driver.module_load);
  bind(library, "cuModuleUnload", driver.module_unload);
  bind(library, "cuModuleGetFunction", driver.module_function);
  bind(library, "cuFuncGetAttribute", driver.function_attribute);
  bind(library, "cuFuncSetAttribute", driver.function_set_attribute);
  bind(library, "cuOccupancyMaxActiveBlocksPerMultiprocessor", driver.occupancy);
  bind(library, "cuMemAlloc_v2", driver.allocate);
  bind(library, "cuMemFree_v2", driver.release);
  bind(library, "cuMemsetD8_v2", driver.fill_bytes);
  bind(library, "cuMemcpyDtoH_v2", driver.copy_out);
  bind(library, "cuLaunchKernel", driver.launch);
  bind(library, "cuStreamCreate", driver.stream_create);
  bind(library, "cuStreamSynchronize", driver.stream_synchronize);
  bind(library, "cuStreamBeginCapture_v2", driver.capture_begin);
  bind(library, "cuStreamEndCapture", driver.capture_end);
  bind(library, "cuGraphInstantiateWithFlags", driver.graph_instantiate);
  bind(library, "cuGraphLaunch", driver.graph_launch);
  bind(library, "cuGraphExecDestroy", driver.graph_executable_destroy);
  bind(library, "cuGraphDestroy", driver.graph_destroy);
  bind(library, "cuEventCreate", driver.event_create);
  bind(library, "cuEventRecord", driver.event_record);
  bind(library, "cuEventSynchronize", driver.event_synchronize);
  bind(library, "cuEventElapsedTime", driver.event_elapsed);
  bind(library, "cuProfilerStart", driver.profiler_start);
  bind(library, "cuProfilerStop", driver.profiler_stop);
  if (const int error = driver.init(0)) {
    throw std::runtime_error(
        fmt::format("the NVIDIA driver cannot be initialized: {}", driver.text(error)));
  }
  return driver;
}

struct Nvrtc {
  int (*create)(Handle*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Handle, int, const char* const*);
  int (*log_bytes)(Handle, std::size_t*);
  int (*log)(Handle, char*);
  int (*cubin_bytes)(Handle, std::size_t*);
  int (*cubin)(Handle, char*);
  int (*destroy)(Handle*);
};

Nvrtc load_nvrtc() {
  void* library = open_first(
      {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"});
  if (library == nullptr) {
    throw std::runtime_error(
        "libnvrtc.so not found: install CUDA's NVRTC or name its folder in LD_LIBRARY_PATH");
  }
  Nvrtc nvrtc{};
  bind(library, "nvrtcCreateProgram", nvrtc.create);
  bind(library, "nvrtcCompileProgram", nvrtc.compile);
  bind(library, "nvrtcGetProgramLogSize", nvrtc.log_bytes);
  bind(library, "nvrtcGetProgramLog", nvrtc.log);
  bind(library, "nvrtcGetCUBINSize", nvrtc.cubin_bytes);
  bind(library, "nvrtcGetCUBIN", nvrtc.cubin);
  bind(library, "nvrtcDestroyProgram", nvrtc.destroy);
  return nvrtc;
}

}  // namespace

std::string CudaDriver::text(int error) const {
  const char* said = nullptr;
  if (error_text(error, &said) != 0 || said == nullptr) return fmt::format("error {}", error);
  return said;
}

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = load_driver();
  return driver;
}

std::vector<char> compile_cuda(const std::string& source, const std::string& architecture,
                               std::string& log) {
  static const Nvrtc nvrtc = load_nvrtc();
  Handle program = nullptr;
  if (nvrtc.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) {
    throw std::runtime_error("NVRTC rejects the program");
  }
  const std::string target = "--gpu-architecture=" + architecture;
  const std::array<const char*, 2> options{target.c_str(), "--std=c++17"};
  const int status = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  std::size_t bytes = 0;
  nvrtc.log_bytes(program, &bytes);
  log.assign(bytes, '\0');
  if (bytes > 0) nvrtc.log(program, log.data());
  while (!log.empty() && log.back() == '\0') log.pop_back();
  std::vector<char> cubin;
  if (status == 0) {
    nvrtc.cubin_bytes(program, &bytes);
    cubin.resize(bytes);
    nvrtc.cubin(program, cubin.data());
  }
  nvrtc.destroy(&program);
  return cubin;
}

}  // namespace foretoken::tune
