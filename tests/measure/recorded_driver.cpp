// The driver's functions that read kernels out of a graph, by name as CUDA hands them out.
#include <cstdio>
#include <string_view>

#include "tests/measure/gpu/cuda.h"
#include "tests/measure/recorded_gpu.hpp"

namespace foretoken::recorded {
namespace {

/// A graph's node stands for its kernel and its function too.
const Launched& launched_of(const void* node) {
  return static_cast<const CUgraphNode_st*>(node)->launched;
}

int recorded_number(const void* function, const char* column) {
  const Piece& piece = launched_of(function).piece;
  const std::string text = piece.row == nullptr ? "" : piece.row->part(column, piece.index);
  return text.empty() ? 0 : std::stoi(text);
}

CUresult node_parameters(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
  const Launched& launched = launched_of(node);
  const dim3 grid = launched.grid, block = launched.block;
  *parameters = {nullptr,
                 grid.x,
                 grid.y,
                 grid.z,
                 block.x,
                 block.y,
                 block.z,
                 static_cast<unsigned>(launched.shared),
                 reinterpret_cast<CUkernel>(node)};
  return CUDA_SUCCESS;
}

CUresult kernel_function(CUfunction* function, CUkernel kernel) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult function_name(const char** name, CUfunction function) {
  *name = launched_of(function).name.c_str();
  return CUDA_SUCCESS;
}

CUresult function_attribute(int* value, CUfunction_attribute which, CUfunction function) {
  *value = recorded_number(
      function, which == CU_FUNC_ATTRIBUTE_NUM_REGS ? "registers" : "static_shared_bytes");
  return CUDA_SUCCESS;
}

CUresult occupancy(int* ctas, CUfunction function, int, std::size_t) {
  *ctas = recorded_number(function, "ctas_per_sm");
  return CUDA_SUCCESS;
}

CUresult node_attribute(CUgraphNode node, CUlaunchAttributeID which,
                        CUlaunchAttributeValue* value) {
  if (which != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) return CUDA_ERROR_INVALID_VALUE;
  const Piece& piece = launched_of(node).piece;
  const dim3 cluster =
      extent_of(piece.row == nullptr ? "" : piece.row->part("cluster", piece.index));
  value->clusterDim = {cluster.x, cluster.y, cluster.z};
  return CUDA_SUCCESS;
}

struct Entry {
  std::string_view name;
  void* address;
};
const Entry entries[] = {
    {"cuGraphKernelNodeGetParams", reinterpret_cast<void*>(node_parameters)},
    {"cuKernelGetFunction", reinterpret_cast<void*>(kernel_function)},
    {"cuFuncGetName", reinterpret_cast<void*>(function_name)},
    {"cuFuncGetAttribute", reinterpret_cast<void*>(function_attribute)},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", reinterpret_cast<void*>(occupancy)},
    {"cuGraphKernelNodeGetAttribute", reinterpret_cast<void*>(node_attribute)}};

}  // namespace
}  // namespace foretoken::recorded

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** address, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *result = cudaDriverEntryPointSuccess;
  *address = nullptr;
  if (foretoken::recorded::has_fault(name)) return cudaSuccess;  // an old driver
  for (const auto& entry : foretoken::recorded::entries)
    if (entry.name == name) *address = entry.address;
  return cudaSuccess;
}
