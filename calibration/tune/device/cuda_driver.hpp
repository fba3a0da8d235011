// The few calls of CUDA's driver and of NVRTC that judging a kernel takes, loaded when they are
// first asked for: nothing of CUDA is needed to build or to start the program. Signatures are those
// of CUDA 12 and 13 (driver API reference; names with _v2 are what the headers' macros stand for).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace foretoken::tune {

using DevicePointer = unsigned long long;
using Handle = void*;  // context, module, function, stream, event, graph

struct CudaDriver {
  int (*init)(unsigned);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_attribute)(int*, int, int);
  int (*context_retain)(Handle*, int);
  int (*context_use)(Handle);
  int (*context_synchronize)();
  int (*error_text)(int, const char**);
  int (*module_load)(Handle*, const void*);
  int (*module_unload)(Handle);
  int (*module_function)(Handle*, Handle, const char*);
  int (*function_attribute)(int*, int, Handle);
  int (*function_set_attribute)(Handle, int, int);
  int (*occupancy)(int*, Handle, int, std::size_t);
  int (*allocate)(DevicePointer*, std::size_t);
  int (*release)(DevicePointer);
  int (*fill_bytes)(DevicePointer, unsigned char, std::size_t);
  int (*copy_out)(void*, DevicePointer, std::size_t);
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                Handle, void**, void**);
  int (*stream_create)(Handle*, unsigned);
  int (*stream_synchronize)(Handle);
  int (*capture_begin)(Handle, int);
  int (*capture_end)(Handle, Handle*);
  int (*graph_instantiate)(Handle*, Handle, unsigned long long);
  int (*graph_launch)(Handle, Handle);
  int (*graph_executable_destroy)(Handle);
  int (*graph_destroy)(Handle);
  int (*event_create)(Handle*, unsigned);
  int (*event_record)(Handle, Handle);
  int (*event_synchronize)(Handle);
  int (*event_elapsed)(float*, Handle, Handle);
  int (*profiler_start)();
  int (*profiler_stop)();

  [[nodiscard]] std::string text(int error) const;
};

/// The driver, initialised. Throws std::runtime_error that says what is missing.
const CudaDriver& cuda_driver();

/// Compiles with NVRTC for `architecture` ("sm_90a"). Returns the cubin, or nothing and the
/// compiler's `log`. Throws std::runtime_error where NVRTC is not installed.
std::vector<char> compile_cuda(const std::string& source, const std::string& architecture,
                               std::string& log);

}  // namespace foretoken::tune
