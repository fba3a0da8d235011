// Walks a graph through the driver API, whose entry points come from the runtime so that the
// program links no driver library.
#include "launch_identity.hpp"

#include <cuda.h>
#include <cxxabi.h>

#include <cstdlib>
#include <stdexcept>

#include "gpu.hpp"

namespace foretoken::measure {
namespace {

template <typename Function>
Function* driver_function(const char* name, unsigned version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult result = {};
  check(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &result),
        name);
  if (address == nullptr) throw std::runtime_error(std::string(name) + ": not in this driver");
  return reinterpret_cast<Function*>(address);
}

void check_driver(CUresult status, const char* what) {
  if (status != CUDA_SUCCESS)
    throw std::runtime_error(std::string(what) + ": driver error " + std::to_string(status));
}

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

std::string extent(unsigned x, unsigned y, unsigned z) {
  return std::to_string(x) + "x" + std::to_string(y) + "x" + std::to_string(z);
}

int attribute(CUfunction_attribute which, CUfunction function) {
  static const auto read =
      driver_function<CUresult(int*, CUfunction_attribute, CUfunction)>("cuFuncGetAttribute", 2020);
  int value = 0;
  check_driver(read(&value, which, function), "cuFuncGetAttribute");
  return value;
}

std::string cluster_of(CUgraphNode node) {
  static const auto read =
      driver_function<CUresult(CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue*)>(
          "cuGraphKernelNodeGetAttribute", 11000);
  CUlaunchAttributeValue value = {};
  if (read(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value) != CUDA_SUCCESS) return "";
  if (value.clusterDim.x == 0) return "";
  return extent(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
}

KernelLaunch read_kernel(CUgraphNode node) {
  static const auto read_node = driver_function<CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*)>(
      "cuGraphKernelNodeGetParams", 12000);
  static const auto kernel_function =
      driver_function<CUresult(CUfunction*, CUkernel)>("cuKernelGetFunction", 12000);
  static const auto function_name =
      driver_function<CUresult(const char**, CUfunction)>("cuFuncGetName", 12030);
  static const auto occupancy = driver_function<CUresult(int*, CUfunction, int, size_t)>(
      "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050);
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  check_driver(read_node(node, &parameters), "cuGraphKernelNodeGetParams");
  CUfunction function = parameters.func;
  if (function == nullptr)
    check_driver(kernel_function(&function, parameters.kern), "cuKernelGetFunction");
  const char* name = "";
  check_driver(function_name(&name, function), "cuFuncGetName");

  KernelLaunch launch;
  launch.name = demangled(name);
  launch.grid = extent(parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ);
  launch.block = extent(parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ);
  launch.cluster = cluster_of(node);
  launch.dynamic_shared_bytes = static_cast<int>(parameters.sharedMemBytes);
  launch.static_shared_bytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
  launch.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS, function);
  const auto threads =
      static_cast<int>(parameters.blockDimX * parameters.blockDimY * parameters.blockDimZ);
  occupancy(&launch.ctas_per_sm, function, threads, parameters.sharedMemBytes);
  return launch;
}

template <typename Text>
std::string join(const LaunchIdentity& identity, Text text) {
  std::string result;
  for (const KernelLaunch& launch : identity) {
    if (!result.empty()) result += " + ";
    result += text(launch);
  }
  return result;
}

}  // namespace

LaunchIdentity identify(cudaGraph_t graph) {
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count), "counting graph nodes");
  std::vector<cudaGraphNode_t> nodes(count);
  check(cudaGraphGetNodes(graph, nodes.data(), &count), "reading graph nodes");
  LaunchIdentity identity;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = {};
    check(cudaGraphNodeGetType(node, &type), "reading a graph node");
    if (type == cudaGraphNodeTypeKernel) identity.push_back(read_kernel(node));
    if (type == cudaGraphNodeTypeMemset) {
      KernelLaunch memset;
      memset.name = "memset";
      identity.push_back(memset);
    }
  }
  return identity;
}

std::string joined(const LaunchIdentity& identity, std::string KernelLaunch::*field) {
  return join(identity, [field](const KernelLaunch& launch) { return launch.*field; });
}

std::string joined(const LaunchIdentity& identity, int KernelLaunch::*field) {
  return join(identity,
              [field](const KernelLaunch& launch) { return std::to_string(launch.*field); });
}

}  // namespace foretoken::measure
