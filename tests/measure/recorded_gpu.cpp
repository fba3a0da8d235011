#include "tests/measure/recorded_gpu.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace foretoken::recorded {
namespace {

enum class Heat { cold, warm, hot };

struct Fault {
  std::string name;
  int count = 1, code = 0;
};

const Fault& asked_fault() {
  static const Fault fault = [] {
    Fault result;
    const char* const text = std::getenv("FORETOKEN_RECORDED_FAULT");
    if (text != nullptr) std::istringstream(text) >> result.name >> result.count >> result.code;
    return result;
  }();
  return fault;
}

/// The recorded time of the `replay`-th of `repeats` replays: the smallest tenth is p10_us, the
/// largest p90_us, the others time_us, taken from both ends in turn; so their percentiles are the
/// row's.
double replayed_us(const Row& row, int replay) {
  const int last = static_cast<int>(row.number("repeats")) - 1;
  const int rank = replay % 2 == 0 ? replay / 2 : last - replay / 2;
  if (rank <= std::ceil(0.1 * last)) return row.number("p10_us");
  if (rank >= std::floor(0.9 * last)) return row.number("p90_us");
  return row.number("time_us");
}

double recorded_us(const Row& row, Heat heat, int replay) {
  if (heat == Heat::hot && row.number("sustained_us") > 0) return row.number("sustained_us");
  if (heat == Heat::warm && row.number("warm_us") > 0) return row.number("warm_us");
  return replay >= 0 ? replayed_us(row, replay) : row.number("time_us");
}

/// `replay` counts from 0; below, the median.
void run(CUstream_st& stream, const Launched& launched, Heat heat, int replay) {
  if (launched.sweeps_l2) stream.is_swept = true;
  double us = launched.us;
  if (launched.piece.row != nullptr) {
    const Row& row = *launched.piece.row;
    const double clock = row.number(heat == Heat::hot ? "sustained_clock_mhz" : "sm_clock_mhz");
    if (clock > 0) stream.clock_mhz = clock;
    us =
        launched.share * recorded_us(row, heat, replay) / static_cast<double>(launched.piece.count);
  }
  stream.advance(us);
}

/// The clock that the kernel's own power sets.
void settle_clock(CUstream_st& stream, const std::vector<CUgraphNode_st>& nodes) {
  for (const CUgraphNode_st& node : nodes) {
    const Row* const row = node.launched.piece.row;
    const double clock = row == nullptr ? 0 : row->number("sustained_clock_mhz");
    if (clock > 0) stream.clock_mhz = clock;
  }
}

bool is_collective(const Launched& launched) {
  return launched.piece.row != nullptr && !launched.piece.row->text("operation").empty();
}

}  // namespace

bool has_fault(const std::string& name) { return asked_fault().name == name; }

int fault_of(const char* function) {
  static std::atomic<int> calls = 0;
  const Fault& fault = asked_fault();
  if (fault.name != function) return 0;
  return ++calls == fault.count ? fault.code : 0;
}

void enqueue(cudaStream_t stream, Launched launched) {
  if (stream->capture) {
    stream->capture->nodes.push_back({std::move(launched)});
    return;
  }
  run(*stream, launched, Heat::warm, -1);
}

bool is_capturing(cudaStream_t stream) { return stream->capture != nullptr; }

std::string extent_text(const dim3& extent) {
  return std::to_string(extent.x) + "x" + std::to_string(extent.y) + "x" + std::to_string(extent.z);
}

dim3 extent_of(const std::string& text) {
  dim3 extent(0, 0, 0);
  char x = 0;
  std::istringstream(text) >> extent.x >> x >> extent.y >> x >> extent.z;
  return extent;
}

void enqueue_call(cudaStream_t stream, const Row& row, const std::vector<const void*>& buffers) {
  const std::size_t count = row.kernels();
  for (std::size_t i = 0; i < count; ++i) {
    Launched launched{.name = row.part("kernel_name", i),
                      .grid = extent_of(row.part("grid", i)),
                      .block = extent_of(row.part("block", i)),
                      .piece = {&row, i, count}};
    const std::string shared = row.part("dynamic_shared_bytes", i);
    launched.shared = shared.empty() ? 0 : std::stoull(shared);
    launched.is_memset = launched.name == "memset";
    for (const void* buffer : buffers)
      launched.pointers.push_back(reinterpret_cast<std::uintptr_t>(buffer));
    enqueue(stream, std::move(launched));
  }
}

std::string shown_name(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : mangled;
  std::free(text);
  return result;
}

std::vector<std::uintptr_t> pointers_of(const std::string& shown, void** arguments) {
  // The parameters stand in the last pair of parentheses.
  std::size_t open = shown.size();
  for (int depth = 0; open > 0;) {
    const char c = shown[--open];
    depth += c == ')' ? 1 : c == '(' ? -1 : 0;
    if (depth == 0) break;
  }
  std::vector<std::uintptr_t> pointers;
  std::size_t index = 0;
  int depth = 0;
  for (std::size_t i = open + 1; i < shown.size(); ++i) {
    const char c = shown[i];
    depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
    const bool ends = (c == ',' && depth == 0) || (c == ')' && depth < 0);
    if (!ends) continue;
    if (shown[i - 1] == '*')
      pointers.push_back(*static_cast<const std::uintptr_t*>(arguments[index]));
    ++index;
  }
  return pointers;
}

void add_up(const std::vector<const void*>& inputs, void* out, std::size_t count) {
  const auto value = [](std::uint16_t bits) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float result = 0;
    static_assert(sizeof result == sizeof wide);
    std::copy_n(reinterpret_cast<const char*>(&wide), sizeof wide,
                reinterpret_cast<char*>(&result));
    return result;
  };
  const auto bits_of = [](float sum) {
    std::uint32_t wide = 0;
    std::copy_n(reinterpret_cast<const char*>(&sum), sizeof sum, reinterpret_cast<char*>(&wide));
    return static_cast<std::uint16_t>(wide >> 16);  // the sums that are checked need no rounding
  };
  const bool is_wrong = has_fault("sums");
  for (std::size_t i = 0; i < count; ++i) {
    float sum = is_wrong && i + 1 == count ? 1.0F : 0.0F;
    for (const void* input : inputs) sum += value(static_cast<const std::uint16_t*>(input)[i]);
    static_cast<std::uint16_t*>(out)[i] = bits_of(sum);
  }
}

}  // namespace foretoken::recorded

extern "C" {

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  using namespace foretoken::recorded;
  if (const int error = fault_of("cudaGraphInstantiate"); error != 0) return failed(error);
  *executable = new CUgraphExec_st{.nodes = graph->nodes};
  for (std::size_t i = 1; i < graph->nodes.size(); ++i) {
    // The neighbour that runs the same kernel: calls of several kernels come in turn.
    const auto& mine = graph->nodes[i].launched;
    for (std::size_t j = i; j-- > 0;) {
      const auto& before = graph->nodes[j].launched;
      if (before.name != mine.name) continue;
      if (before.pointers == mine.pointers) (*executable)->rotates = false;
      break;
    }
  }
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  using namespace foretoken::recorded;
  if (const int error = fault_of("cudaGraphLaunch"); error != 0) return failed(error);
  const Recording& recording = Recording::get();
  const bool is_chain = !executable->nodes.empty() && is_collective(executable->nodes[0].launched);
  const double settle_us = 1000 * recording.said_number("settle_ms", 40);
  const bool is_cold = stream->is_swept && executable->rotates;
  const bool is_hot = is_cold && stream->busy_us >= settle_us;
  const Heat heat = is_hot ? Heat::hot : is_cold ? Heat::cold : Heat::warm;
  // A chain of collectives: two replays warm up, and their time holds the graph's own.
  const int replay = is_chain ? executable->replays - 2 : is_cold ? executable->cold_replays : -1;
  const double before = stream->now_us;
  if (!is_chain) stream->advance(recording.said_number("graph_head_us", 2));
  for (const CUgraphNode_st& node : executable->nodes) run(*stream, node.launched, heat, replay);
  ++executable->replays;
  if (is_cold) ++executable->cold_replays;
  if (!stream->is_swept) stream->busy_us += stream->now_us - before;
  if (stream->busy_us >= settle_us) settle_clock(*stream, executable->nodes);
  stream->is_swept = false;
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (nodes != nullptr)
    for (std::size_t i = 0; i < *count; ++i) nodes[i] = &graph->nodes[i];
  *count = graph->nodes.size();
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  *type = node->launched.is_memset ? cudaGraphNodeTypeMemset : cudaGraphNodeTypeKernel;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  stream->capture = std::make_unique<CUgraph_st>();
  stream->busy_us = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = stream->capture.release();
  return cudaSuccess;
}

}  // extern "C"
