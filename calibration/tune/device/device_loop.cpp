#include "calibration/tune/device/device_loop.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "calibration/tune/device/cuda_driver.hpp"
#include "calibration/tune/device/device_problem.hpp"
#include "calibration/tune/device/sandbox.hpp"
#include "sim/base/json.hpp"

namespace foretoken::tune {
namespace {

std::string text_member(const Value& request, std::string_view key) {
  const Value* found = request.find(key);
  if (found == nullptr || !found->is_string()) {
    throw std::runtime_error(fmt::format("the request has no {}", key));
  }
  return std::get<std::string>(found->data);
}

ValueObject hello() {
  const Gpu& gpu = current_gpu();
  return {
      {"status", "ok"}, {"gpu", gpu.name}, {"sms", gpu.sms}, {"architecture", gpu.architecture}};
}

ValueObject compile(const Value& request) {
  std::string log;
  const std::vector<char> cubin =
      compile_cuda(text_member(request, "source"), text_member(request, "architecture"), log);
  if (cubin.empty()) return {{"status", "compile_error"}, {"detail", log}};
  std::ofstream file(text_member(request, "to"), std::ios::binary);
  file.write(cubin.data(), static_cast<std::streamsize>(cubin.size()));
  if (!file.flush()) throw std::runtime_error("the cubin cannot be written");
  return {{"status", "ok"}};
}

}  // namespace

void serve_device() {
  // A kernel may print; only answers go to the one who asked.
  std::FILE* answers = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  setenv("CUDA_CACHE_DISABLE", "1", 1);  // its files lie where nothing may be written
  if (const std::string missing = enter_sandbox(); !missing.empty()) {
    fmt::print(stderr, "foretoken-tune: kernels run without limits on {}\n", missing);
  }
  DeviceProblem problem;
  std::string line;
  bool usable = true;
  while (usable && std::getline(std::cin, line)) {
    ValueObject answer;
    try {
      const Value request = parse_json(line, {"request", 1, 0});
      const std::string op = text_member(request, "op");
      if (op == "hello") {
        answer = hello();
      } else if (op == "compile") {
        answer = compile(request);
      } else if (op == "prepare") {
        problem.prepare(request);
        answer = {{"status", "ok"}};
      } else if (op == "evaluate") {
        answer = problem.evaluate(request);
      } else if (op == "count") {
        answer = problem.count(request);
      } else {
        answer = {{"status", "error"}, {"detail", fmt::format("unknown request '{}'", op)}};
      }
    } catch (const CudaFault& fault) {
      answer = {{"status", "fault"}, {"detail", fault.what()}};
      usable = false;
    } catch (const CudaRefusal& refusal) {
      answer = {{"status", "launch_failure"}, {"detail", refusal.what()}};
    } catch (const std::exception& error) {
      answer = {{"status", "error"}, {"detail", error.what()}};
    }
    fmt::print(answers, "{}\n", to_json(Value(answer), -1));
    std::fflush(answers);
  }
  // A context that a kernel has broken cannot be taken down in order.
  _exit(0);
}

}  // namespace foretoken::tune
