// A predictor of your own: the roofline with a share of peak that grows with the work, as a rule of
// thumb would have it. It joins the built-in ones under the name "saturating", takes an option from
// the scenario's [predictor] table, and prices a simulation and a single kernel.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/kernel_work.hpp"
#include "kernels/roof.hpp"
#include "sim/base/json.hpp"
#include "sim/library/foretoken.hpp"

namespace {

using foretoken::Seconds;

/// Reaches half of the roof with work that takes `half_time` there, nearly all of it with much
/// more.
class Saturating final : public foretoken::Predictor {
 public:
  explicit Saturating(Seconds half_time) : half_time_(half_time) {}

  [[nodiscard]] foretoken::Prediction predict(const foretoken::Kernel& kernel,
                                              const foretoken::GpuSpec& gpu) const override {
    const foretoken::Roof roof = foretoken::roof_of(kernel, gpu, true, {});
    return {roof.time + half_time_ + gpu.launch_latency, roof.bound_by,
            foretoken::Origin::analytic};
  }

 private:
  Seconds half_time_;
};

std::unique_ptr<foretoken::Predictor> make_saturating(foretoken::TableReader& options) {
  Seconds half_time{3e-6};
  options.read("half_time", half_time);
  options.expect("half_time", half_time >= Seconds(0.0), "must not be negative");
  return std::make_unique<Saturating>(half_time);
}

int run(const std::string& scenario) {
  foretoken::Catalogs catalogs;
  catalogs.predictors.add("saturating", "roofline with a constant loss a kernel", make_saturating);

  const foretoken::Value gemm = foretoken::parse_json(
      R"({"kernel": "gemm", "m": 64, "n": 4096, "k": 4096, "dtype": "bf16"})", {"example"});
  const auto price =
      foretoken::predict({gemm}, {.gpu = "h200-sxm", .predictor = "saturating"}, catalogs);
  fmt::print("{}\n", foretoken::to_json(price.front(), -1));

  const auto question = foretoken::load_question(
      scenario, {"predictor.name=saturating", "predictor.half_time='5 us'"});
  const foretoken::Answer answer = foretoken::simulate(question, catalogs);
  fmt::print("TPOT {}\n", foretoken::to_json(*answer.report.find("tpot_ms"), -1));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: custom_predictor SCENARIO.toml\n");
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "custom_predictor: {}\n", error.what());
    return 1;
  }
}
