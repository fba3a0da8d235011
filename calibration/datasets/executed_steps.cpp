#include "calibration/datasets/executed_steps.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "sim/base/nearest_name.hpp"
#include "workloads/measurements/measured_rows.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

/// "512x2048|300x300" as pairs.
std::vector<std::pair<std::int64_t, std::int64_t>> pairs_of(std::string_view cell,
                                                            const SourcePosition& position) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  while (!cell.empty()) {
    const std::string_view part = cell.substr(0, cell.find('|'));
    cell.remove_prefix(std::min(cell.size(), part.size() + 1));
    std::pair<std::int64_t, std::int64_t> pair;
    const char* const end = part.data() + part.size();
    const auto first = std::from_chars(part.data(), end, pair.first);
    const bool is_joined = first.ec == std::errc() && first.ptr != end && *first.ptr == 'x';
    const auto second =
        is_joined ? std::from_chars(first.ptr + 1, end, pair.second) : std::from_chars_result{};
    if (!is_joined || second.ec != std::errc() || second.ptr != end || pair.first < 1 ||
        pair.second < 1) {
      throw ConfigError(position,
                        fmt::format("'{}' must be two counts, as in 512x2048", std::string(part)));
    }
    pairs.push_back(pair);
  }
  return pairs;
}

BatchShape batch_of(std::string_view prefill, std::string_view decode,
                    const SourcePosition& position) {
  std::vector<SequenceSlice> slices;
  for (const auto& [context, count] : pairs_of(decode, position)) {
    slices.insert(slices.end(), static_cast<std::size_t>(count), SequenceSlice{1, context});
  }
  for (const auto& [tokens, context] : pairs_of(prefill, position)) {
    slices.push_back({tokens, context});
  }
  if (slices.empty()) throw ConfigError(position, "has neither prefill nor decode");
  BatchShape batch;
  batch.logit_rows = static_cast<std::int64_t>(slices.size());
  batch.attention = AttentionLoad::exact(std::move(slices));
  batch.tokens = batch.attention.query_tokens();
  return batch;
}

template <class Enum>
Enum said(const CsvRows& rows, std::string_view key) {
  const std::string text(rows.provenance(key));
  if (const auto value = parse_enum<Enum>(text)) return *value;
  const auto& names = EnumNames<Enum>::names;
  throw ConfigError(rows.provenance_position(key),
                    unknown_name_message(std::string(key), text, {names.begin(), names.end()}));
}

/// The table of kernels of a table of steps: "steps.csv.gz" → "steps_kernels.csv.gz".
fs::path kernels_path(const fs::path& steps) {
  const std::string name = steps.filename().string();
  const std::size_t stem = name.find('.');
  return steps.parent_path() / (name.substr(0, stem) + "_kernels" + name.substr(stem));
}

using RolesByStep = std::map<std::int64_t, std::vector<ExecutedStep::Role>>;

RolesByStep load_roles(const fs::path& steps) {
  const fs::path path = kernels_path(steps);
  if (!fs::is_regular_file(path)) {
    throw ConfigError({steps.string()}, fmt::format("has no table of its kernels beside it: {}",
                                                    path.filename().string()));
  }
  CsvRows rows(path);
  if (rows.provenance("format") != step_kernels_format) {
    throw ConfigError({path.string()},
                      fmt::format("needs a first line '# format: {}'", step_kernels_format));
  }
  const int step = rows.column("step"), role = rows.column("role");
  const int launches = rows.column("launches"), time = rows.column("time_us");
  const int name = rows.column("kernel_name");
  RolesByStep roles;
  while (rows.next()) {
    roles[rows.integer(step)].push_back(
        {std::string(rows.text(role)), static_cast<int>(rows.integer(launches)),
         Seconds(rows.number(time) * 1e-6), std::string(rows.text(name))});
  }
  return roles;
}

/// From one kernel's end to the next one's start in a CUDA graph, at most (h200/microbench.json).
constexpr Seconds gap_max = Seconds(0.5e-6);

/// Makes the roles add up to the step: what the trace does not show is gaps between kernels as far
/// as these can be, then another clock than in the timed replays, which stretches all alike.
void fit_to_step(ExecutedStep& step) {
  Seconds kernels;
  for (const ExecutedStep::Role& role : step.roles) kernels += role.time;
  const Seconds gaps = std::clamp(step.gpu_time - kernels, Seconds(0), gap_max * step.launches);
  const double stretch = (step.gpu_time - gaps) / kernels;
  for (ExecutedStep::Role& role : step.roles) {
    role.time = role.time * stretch + gaps * (static_cast<double>(role.launches) / step.launches);
  }
}

void append_steps(const fs::path& path, const std::string& name, std::vector<ExecutedStep>& steps) {
  CsvRows rows(path);
  RolesByStep roles = load_roles(path);
  const std::string gpu = measured_gpu(rows, path);
  const auto framework = said<Framework>(rows, "framework");
  const auto attention = said<KernelSource>(rows, "attention");
  const bool has_multicast = !rows.provenance("collectives").ends_with("multicast off");
  const int step = rows.column("step"), model = rows.column("model"), tp = rows.column("tp");
  const int ranks = rows.column("ranks"), phase = rows.column("phase");
  const int prefill = rows.column("prefill"), decode = rows.column("decode");
  const int time = rows.column("gpu_us"), launches = rows.column("launches");
  const int rested = rows.find("rested_us");
  const int run = rows.find("run"), stands_for = rows.find("stands_for");
  const int graph_host = rows.column("graph_host_us"), eager_host = rows.column("eager_host_us");
  while (rows.next()) {
    ExecutedStep one;
    one.file = name;
    one.model = rows.text(model);
    one.layout.tensor = static_cast<int>(rows.integer(tp));
    one.ranks = static_cast<int>(rows.integer(ranks));
    one.gpu = gpu;
    one.phase = rows.text(phase);
    one.prefill = rows.text(prefill);
    one.decode = rows.text(decode);
    one.framework = framework;
    one.attention = attention;
    one.has_multicast = has_multicast;
    one.batch = batch_of(rows.text(prefill), rows.text(decode), rows.position());
    one.gpu_time = Seconds(rows.number(time) * 1e-6);
    if (rested >= 0 && !rows.text(rested).empty()) {
      one.rested_time = Seconds(rows.number(rested) * 1e-6);
    }
    one.launches = static_cast<int>(rows.integer(launches));
    one.graph_host = Seconds(rows.number(graph_host) * 1e-6);
    one.eager_host = Seconds(rows.number(eager_host) * 1e-6);
    if (run >= 0) one.run = rows.text(run);
    if (stands_for >= 0) one.stands_for = rows.number(stands_for);
    one.roles = std::move(roles[rows.integer(step)]);
    fit_to_step(one);
    steps.push_back(std::move(one));
  }
}

}  // namespace

std::vector<ExecutedStep> load_executed_steps(const fs::path& path) {
  std::vector<ExecutedStep> steps;
  for (const fs::path& file : measured_files(path)) {
    if (CsvRows(file).provenance("format") != steps_format) continue;
    append_steps(file,
                 fs::is_directory(path) ? fs::relative(file, path).generic_string()
                                        : file.filename().string(),
                 steps);
  }
  return steps;
}

KernelSequence kernels_of(const ExecutedStep& step, const Transformer& model) {
  ExecutionSettings execution;
  execution.block_tokens = 0;
  execution.sampling = SamplingMethod::top_p;  // step_kernels.cu
  KernelSequence kernels = generate(model, step.layout, execution, step.batch, 0);
  for (KernelCall& call : kernels) {
    if (auto* gemm = std::get_if<Gemm>(&call.kernel))
      gemm->implementation.framework = step.framework;
    if (auto* attention = std::get_if<Attention>(&call.kernel)) {
      attention->implementation.framework = step.framework;
      attention->implementation.source = step.attention;
    }
  }
  if (step.ranks == 1) {
    std::erase_if(kernels, [](const KernelCall& call) {
      return std::holds_alternative<Collective>(call.kernel);
    });
  }
  return kernels;
}

}  // namespace foretoken
