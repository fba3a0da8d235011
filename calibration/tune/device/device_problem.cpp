#include "calibration/tune/device/device_problem.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>

#include "calibration/tune/prelude.hpp"

namespace foretoken::tune {
namespace {

// Numbers of CUDA's enumerations (cuda.h).
constexpr int attribute_sms = 16, attribute_major = 75, attribute_minor = 76;
constexpr int function_shared = 1, function_local = 3, function_registers = 4,
              function_dynamic_shared_max = 8;
constexpr int capture_relaxed = 2;
constexpr std::uint64_t guard_bytes = 4096;
constexpr unsigned harness_blocks = 1024;

// A timing is the median of `timings` runs of a graph that repeats the plan for about
// `graph_seconds`; plans that take longer than that run alone.
constexpr int timings = 5;
constexpr double graph_seconds = 200e-6;
constexpr double repetitions_max = 40;

/// Errors after which the context is lost: a kernel's fault, or one the driver met itself.
bool is_fault(int error) { return error >= 700 && error != 701 && error != 704 && error != 705; }

void must(int error, std::string_view what) {
  if (error == 0) return;
  const std::string message = fmt::format("{}: {}", what, cuda_driver().text(error));
  if (is_fault(error)) throw CudaFault(message);
  throw CudaRefusal(message);
}

std::int64_t integer(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return *whole;
  if (const auto* number = std::get_if<double>(&value.data)) {
    return static_cast<std::int64_t>(*number);
  }
  throw std::runtime_error("a number is missing in the request");
}

double number(const Value& value) {
  if (const auto* real = std::get_if<double>(&value.data)) return *real;
  return static_cast<double>(integer(value));
}

const Value& member(const Value& of, std::string_view key) {
  const Value* found = of.find(key);
  if (found == nullptr) throw std::runtime_error(fmt::format("the request has no {}", key));
  return *found;
}

const ValueArray& array_member(const Value& of, std::string_view key) {
  return std::get<ValueArray>(member(of, key).data);
}
std::string text_member(const Value& of, std::string_view key) {
  return std::get<std::string>(member(of, key).data);
}

Handle load_module(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> cubin(std::istreambuf_iterator<char>(file), {});
  if (cubin.empty()) throw std::runtime_error(fmt::format("{} cannot be read", path));
  cubin.push_back('\0');
  Handle module = nullptr;
  must(cuda_driver().module_load(&module, cubin.data()), "module");
  return module;
}

class LoadedModule {
 public:
  explicit LoadedModule(const std::string& path) : handle_(load_module(path)) {}
  ~LoadedModule() { cuda_driver().module_unload(handle_); }
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  [[nodiscard]] Handle handle() const { return handle_; }

 private:
  Handle handle_;
};

std::uint64_t word_of(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

const Gpu& current_gpu() {
  static const Gpu gpu = [] {
    const CudaDriver& driver = cuda_driver();
    Gpu found;
    int device = 0, major = 0, minor = 0;
    if (driver.device_get(&device, 0) != 0) throw std::runtime_error("no GPU is visible");
    std::array<char, 256> name{};
    driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device);
    driver.device_attribute(&found.sms, attribute_sms, device);
    driver.device_attribute(&major, attribute_major, device);
    driver.device_attribute(&minor, attribute_minor, device);
    found.name = name.data();
    found.architecture = fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
    Handle context = nullptr;
    must(driver.context_retain(&context, device), "context");
    must(driver.context_use(context), "context");
    return found;
  }();
  return gpu;
}

DeviceProblem::~DeviceProblem() { release(); }

void DeviceProblem::release() {
  for (ShapeBuffers& shape : shapes_) {
    for (DeviceBuffer& buffer : shape.buffers) {
      if (buffer.data != 0) cuda_driver().release(buffer.data);
      if (buffer.reference != 0) cuda_driver().release(buffer.reference);
    }
  }
  shapes_.clear();
}

void DeviceProblem::wait() { must(cuda_driver().stream_synchronize(stream_), "kernel"); }

void DeviceProblem::call_harness(const char* kernel, std::vector<std::uint64_t> words,
                                 unsigned blocks) {
  Handle function = nullptr;
  must(cuda_driver().module_function(&function, harness_, kernel), kernel);
  std::vector<void*> arguments;
  for (std::uint64_t& word : words) arguments.push_back(&word);
  must(cuda_driver().launch(function, blocks, 1, 1, 256, 1, 1, 0, stream_, arguments.data(),
                            nullptr),
       kernel);
}

void DeviceProblem::fill(DeviceBuffer& buffer, const Value& description, std::uint32_t seed) {
  if (text_member(description, "fill") == "index") {
    call_harness("fill_index",
                 {buffer.data, buffer.count, seed,
                  static_cast<std::uint64_t>(integer(member(description, "below")))},
                 harness_blocks);
  } else {
    call_harness(buffer.type == "f16" ? "fill_f16" : "fill_f32", {buffer.data, buffer.count, seed},
                 harness_blocks);
  }
}

void DeviceProblem::prepare(const Value& request) {
  const CudaDriver& driver = cuda_driver();
  const Gpu& gpu = current_gpu();
  if (stream_ == nullptr) {
    must(driver.stream_create(&stream_, 0), "stream");
    must(driver.event_create(&start_, 0), "event");
    must(driver.event_create(&stop_, 0), "event");
    must(driver.allocate(&counter_, 8), "memory");
    std::string log;
    const std::vector<char> cubin = compile_cuda(std::string(harness()), gpu.architecture, log);
    if (cubin.empty()) throw std::runtime_error("the harness does not compile: " + log);
    must(driver.module_load(&harness_, cubin.data()), "harness");
  }
  release();
  tolerance_ = number(member(request, "tolerance"));
  const Handle module = load_module(text_member(request, "cubin"));
  LoadedFunctions functions;
  std::uint32_t seed = 1;
  for (const Value& described : array_member(request, "shapes")) {
    ShapeBuffers& shape = shapes_.emplace_back();
    for (const Value& description : array_member(described, "buffers")) {
      DeviceBuffer buffer;
      buffer.type = text_member(description, "type");
      buffer.role = text_member(description, "role");
      buffer.count = static_cast<std::uint64_t>(integer(member(description, "count")));
      buffer.bytes = static_cast<std::uint64_t>(integer(member(description, "bytes")));
      buffer.scale = number(member(description, "scale"));
      must(driver.allocate(&buffer.data, buffer.bytes + guard_bytes), "memory");
      shape.buffers.push_back(buffer);
      if (buffer.role == "output") {
        must(driver.allocate(&shape.buffers.back().reference, buffer.bytes + guard_bytes),
             "memory");
      } else if (buffer.role == "input") {
        fill(shape.buffers.back(), description, seed++);
      }
    }
    run(plan(member(described, "launches"), module, shape, true, functions));
    wait();
  }
  driver.module_unload(module);
}

DeviceProblem::Plan DeviceProblem::plan(const Value& launches, Handle module,
                                        const ShapeBuffers& shape, bool reference,
                                        LoadedFunctions& functions) {
  const CudaDriver& driver = cuda_driver();
  Plan planned;
  for (const Value& description : std::get<ValueArray>(launches.data)) {
    PlannedLaunch launch;
    const std::string name = text_member(description, "k");
    const auto [entry, added] = functions.try_emplace(name);
    LoadedFunction& function = entry->second;
    if (added) must(driver.module_function(&function.handle, module, name.c_str()), name);
    launch.function = function.handle;
    const auto sizes = [&](std::string_view key, unsigned(&to)[3]) {
      const ValueArray& from = array_member(description, key);
      for (std::size_t i = 0; i < std::min<std::size_t>(from.size(), 3); ++i) {
        to[i] = static_cast<unsigned>(std::clamp<std::int64_t>(integer(from[i]), 0, 0x7fffffff));
      }
    };
    sizes("g", launch.grid);
    sizes("b", launch.block);
    launch.shared = static_cast<unsigned>(
        std::clamp<std::int64_t>(integer(member(description, "s")), 0, 0x7fffffff));
    if (launch.shared > function.shared_max) {
      function.shared_max = launch.shared;
      must(driver.function_set_attribute(launch.function, function_dynamic_shared_max,
                                         static_cast<int>(launch.shared)),
           fmt::format("{}: {} bytes of shared memory", name, launch.shared));
    }
    for (const Value& argument : array_member(description, "a")) {
      const ValueArray& pair = std::get<ValueArray>(argument.data);
      const std::int64_t value = integer(pair.at(1));
      if (std::get<std::string>(pair.at(0).data) == "b") {
        const DeviceBuffer& buffer = shape.buffers.at(static_cast<std::size_t>(value));
        launch.words.push_back(reference && buffer.reference != 0 ? buffer.reference : buffer.data);
      } else {
        launch.words.push_back(static_cast<std::uint32_t>(value));
      }
    }
    planned.push_back(std::move(launch));
  }
  for (PlannedLaunch& launch : planned) {
    for (std::uint64_t& word : launch.words) launch.arguments.push_back(&word);
  }
  return planned;
}

void DeviceProblem::run(const Plan& plan) {
  for (const PlannedLaunch& launch : plan) {
    must(cuda_driver().launch(launch.function, launch.grid[0], launch.grid[1], launch.grid[2],
                              launch.block[0], launch.block[1], launch.block[2], launch.shared,
                              stream_, const_cast<void**>(launch.arguments.data()), nullptr),
         "launch");
  }
}

std::string DeviceProblem::disagreement(const ShapeBuffers& shape) {
  const CudaDriver& driver = cuda_driver();
  for (std::size_t i = 0; i < shape.buffers.size(); ++i) {
    const DeviceBuffer& buffer = shape.buffers[i];
    if (buffer.role != "output") continue;
    must(driver.fill_bytes(counter_, 0, 8), "memory");
    const std::string kernel = "compare_" + buffer.type;
    call_harness(
        kernel.c_str(),
        {buffer.data, buffer.reference, buffer.count, word_of(static_cast<float>(tolerance_)),
         word_of(static_cast<float>(buffer.scale)), counter_},
        harness_blocks);
    call_harness("check_guard", {buffer.data + buffer.bytes, guard_bytes, counter_ + 4}, 1);
    wait();
    std::array<std::uint32_t, 2> counts{};
    must(driver.copy_out(counts.data(), counter_, sizeof counts), "memory");
    if (counts[0] != 0) {
      return fmt::format("{} of {} elements of output {} are off", counts[0], buffer.count, i);
    }
    if (counts[1] != 0) return fmt::format("writes beyond the end of output {}", i);
  }
  return {};
}

double DeviceProblem::seconds(const Plan& plan) {
  const CudaDriver& driver = cuda_driver();
  const auto timed = [&](const auto& launch) {
    must(driver.event_record(start_, stream_), "event");
    launch();
    must(driver.event_record(stop_, stream_), "event");
    must(driver.event_synchronize(stop_), "kernel");
    float milliseconds = 0;
    must(driver.event_elapsed(&milliseconds, start_, stop_), "event");
    return static_cast<double>(milliseconds) * 1e-3;
  };
  const double once = timed([&] { run(plan); });
  const int repetitions = static_cast<int>(
      std::clamp(std::ceil(graph_seconds / std::max(once, 1e-6)), 1.0, repetitions_max));
  Handle graph = nullptr, executable = nullptr;
  must(driver.capture_begin(stream_, capture_relaxed), "capture");
  for (int i = 0; i < repetitions; ++i) run(plan);
  must(driver.capture_end(stream_, &graph), "capture");
  must(driver.graph_instantiate(&executable, graph, 0), "graph");
  must(driver.graph_launch(executable, stream_), "graph");
  std::vector<double> times;
  for (int i = 0; i < timings; ++i) {
    times.push_back(timed([&] { must(driver.graph_launch(executable, stream_), "graph"); }));
  }
  driver.graph_executable_destroy(executable);
  driver.graph_destroy(graph);
  std::ranges::nth_element(times, times.begin() + timings / 2);
  return times[timings / 2] / repetitions;
}

const ValueArray& DeviceProblem::launches_of(const Value& request) const {
  if (shapes_.empty()) throw std::runtime_error("no problem is prepared");
  const ValueArray& launches = array_member(request, "shapes");
  if (launches.size() != shapes_.size()) throw std::runtime_error("as many plans as shapes");
  return launches;
}

ValueObject DeviceProblem::count(const Value& request) {
  const CudaDriver& driver = cuda_driver();
  const ValueArray& launches = launches_of(request);
  const LoadedModule module(text_member(request, "cubin"));
  LoadedFunctions functions;
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    plans.push_back(plan(launches[i], module.handle(), shapes_[i], false, functions));
  }
  const auto run_all = [&] {
    for (const Plan& planned : plans) run(planned);
    wait();
  };
  run_all();
  must(driver.profiler_start(), "profiler");
  run_all();
  must(driver.profiler_stop(), "profiler");
  std::int64_t counted = 0;
  for (const Plan& planned : plans) counted += static_cast<std::int64_t>(planned.size());
  return {{"status", "ok"}, {"launches", counted}};
}

ValueObject DeviceProblem::evaluate(const Value& request) {
  const CudaDriver& driver = cuda_driver();
  const ValueArray& launches = launches_of(request);
  const LoadedModule module(text_member(request, "cubin"));
  LoadedFunctions functions;
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const ShapeBuffers& shape = shapes_[i];
    plans.push_back(plan(launches[i], module.handle(), shape, false, functions));
    for (const DeviceBuffer& buffer : shape.buffers) {
      if (buffer.role != "output") continue;
      must(driver.fill_bytes(buffer.data, 0xff, buffer.bytes), "memory");
      must(driver.fill_bytes(buffer.data + buffer.bytes, 0xa5, guard_bytes), "memory");
    }
    run(plans.back());
    wait();
    if (const std::string problem = disagreement(shape); !problem.empty()) {
      return {{"status", "wrong"}, {"detail", fmt::format("shape {}: {}", i, problem)}};
    }
  }
  ValueArray times;
  for (const Plan& planned : plans) times.emplace_back(seconds(planned));
  ValueArray kernels;
  // Resources are those of the largest shape's launches; its shared memory counts.
  for (const PlannedLaunch& launch : plans.back()) {
    int registers = 0, shared = 0, local = 0, blocks = 0;
    driver.function_attribute(&registers, function_registers, launch.function);
    driver.function_attribute(&shared, function_shared, launch.function);
    driver.function_attribute(&local, function_local, launch.function);
    const int threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
    driver.occupancy(&blocks, launch.function, threads, launch.shared);
    kernels.emplace_back(ValueObject{
        {"registers", registers},
        {"shared", shared + static_cast<int>(launch.shared)},
        {"local", local},
        {"threads", threads},
        {"blocks_per_sm", blocks},
        {"blocks", static_cast<std::int64_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2]}});
  }
  return {{"status", "ok"}, {"seconds", std::move(times)}, {"kernels", std::move(kernels)}};
}

}  // namespace foretoken::tune
