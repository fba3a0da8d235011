// foretoken predict: prices kernels given as JSON lines, one answer a line in the same order. A
// line that cannot be priced, by the user's mistake or by ours, becomes an error object and the
// rest goes on.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/library/kernel_pricer.hpp"
#include "sim/run/run.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

struct PredictOptions {
  PricingChoice pricing;
  std::string cases;
};

/// The message without the line, which is a member of its own; other files keep their names.
std::string plain_message(const ConfigError& error) {
  std::string text;
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    if (!text.empty()) text += "; ";
    const std::string& file = diagnostic.position.file;
    text += file.empty() ? diagnostic.message : fmt::format("{}: {}", file, diagnostic.message);
  }
  return text;
}

int predict(const PredictOptions& options) {
  const KernelPricer pricer(options.pricing, Catalogs().predictors);
  std::ifstream file;
  if (options.cases != "-") {
    file.open(options.cases);
    std::error_code unreachable;
    if (!file || std::filesystem::is_directory(options.cases, unreachable)) {
      throw ConfigError({options.cases}, "cannot read this file; check the path");
    }
  }
  std::istream& in = options.cases == "-" ? std::cin : file;
  int status = 0;
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Value result;
    const auto fail = [&](const std::string& message, int its_status = 1) {
      result = Value();
      result.set("error", message);
      result.set("line", number);
      status = std::max(status, its_status);
    };
    try {
      result = pricer.answer(parse_json(line, {}));
    } catch (const ConfigError& error) {
      fail(plain_message(error));
    } catch (const PredictionError& error) {
      fail(error.what());
    } catch (const InternalError& error) {
      fail(fmt::format("internal error, please report it: {}", error.what()), 3);
    }
    show_data(to_json(result, -1) + "\n");
  }
  if (in.bad()) {
    throw ConfigError({options.cases}, "cannot be read to the end; give a file of JSON lines");
  }
  return status;
}

}  // namespace

void add_predict(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command =
      program.add_subcommand("predict", "Predict the time of kernels given as JSON lines");
  command->add_option("--gpu", options->pricing.gpu, "GPU: name or TOML file");
  command->add_option("--cluster", options->pricing.cluster,
                      "Cluster: name or TOML file; needed for collectives");
  command->add_option("--predictor", options->pricing.predictor, "Predictor (see foretoken list)");
  command->add_option("--communication", options->pricing.communication,
                      "Source of collective times: model (formulas) or measured (database)");
  command->add_flag("--explain", options->pricing.explain,
                    "Also print each kernel's launches, tasks and busiest-SM cycles");
  command->add_option("cases", options->cases, "File of JSON lines, or - for standard input")
      ->required();
  command->footer(examples(
      "  echo '{\"kernel\":\"gemm\",\"m\":64,\"n\":4096,\"k\":4096,\"dtype\":\"bf16\"}' | "
      "foretoken predict --gpu h200-sxm -\n"
      "  foretoken predict --cluster h100-sxm-8 examples/kernels.jsonl\n"
      "\"cold\": false: weights and inputs are already in L2. \"framework\" (vllm, sglang, trtllm, "
      "or pytorch for the bare launch): whose kernel is launched. Every answer repeats both and "
      "adds the kernel_source used. [predictor.stretch] of a scenario scales times by kernel.\n"
      "A malformed line yields {\"error\": ..., \"line\": n} and exit status 1."));
  command->callback([options, &chosen] { chosen = [options] { return predict(*options); }; });
}

}  // namespace foretoken
