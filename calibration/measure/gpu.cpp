// Reads the identity of a GPU. NVML's few functions are declared here by hand: its header comes
// with the toolkit's optional part, its library with the driver.
#include "gpu.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace foretoken::measure {
namespace {

constexpr int nvml_success = 0;
constexpr int nvml_clock_sm = 1;      // NVML_CLOCK_SM
constexpr int nvml_clock_memory = 2;  // NVML_CLOCK_MEM

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
    const auto initialise = find<int (*)()>("nvmlInit_v2");
    loaded_ = initialise != nullptr && initialise() == nvml_success;
  }
  ~Nvml() {
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  void read(const char* pci_bus_id, Gpu& gpu) const {
    void* device = nullptr;
    const auto by_bus = find<int (*)(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    if (!loaded_ || by_bus == nullptr) return;
    char text[96] = "";
    const auto driver = find<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
    if (driver != nullptr && driver(text, sizeof text) == nvml_success) gpu.driver = text;
    if (by_bus(pci_bus_id, &device) != nvml_success) return;
    const auto clock = find<int (*)(void*, int, unsigned*)>("nvmlDeviceGetMaxClockInfo");
    unsigned value = 0;
    if (clock != nullptr && clock(device, nvml_clock_sm, &value) == nvml_success)
      gpu.sm_clock_max_mhz = static_cast<int>(value);
    if (clock != nullptr && clock(device, nvml_clock_memory, &value) == nvml_success)
      gpu.memory_clock_max_mhz = static_cast<int>(value);
    const auto limit = find<int (*)(void*, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit");
    if (limit != nullptr && limit(device, &value) == nvml_success)
      gpu.power_limit_w = value / 1000.0;
  }

 private:
  template <typename Function>
  Function find(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library_, name));
  }
  void* library_;
  bool loaded_ = false;
};

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(status) + " (" +
                           cudaGetErrorString(status) + ")");
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Gpu open_gpu(int device) {
  check(cudaSetDevice(device), "choosing the GPU");
  cudaDeviceProp properties = {};
  check(cudaGetDeviceProperties(&properties, device), "reading the GPU's properties");
  Gpu gpu;
  gpu.name = properties.name;
  gpu.driver = "unknown";
  check(cudaRuntimeGetVersion(&gpu.cuda_runtime), "reading the CUDA version");
  check(cudaDriverGetVersion(&gpu.cuda_driver), "reading the driver's CUDA version");
  gpu.compute_major = properties.major;
  gpu.compute_minor = properties.minor;
  gpu.sm_count = properties.multiProcessorCount;
  gpu.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  gpu.memory_bytes = properties.totalGlobalMem;
  char bus[32] = "";
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "reading the PCI bus id");
  Nvml().read(bus, gpu);
  check(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking), "creating a stream");
  return gpu;
}

}  // namespace foretoken::measure
