#include "workloads/measurements/closed_loop_points.hpp"

#include <charconv>

#include "workloads/measurements/csv_rows.hpp"

namespace foretoken {
namespace {

/// The value of "key=value" among parts separated by "; "; "" if there is none.
std::string_view part(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    std::string_view pair = text.substr(at, end - at);
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    if (pair.starts_with(key) && pair.substr(key.size()).starts_with('=')) {
      return pair.substr(key.size() + 1);
    }
    at = end + 1;
  }
  return {};
}

int positive(const CsvRows& rows, int column) {
  const std::int64_t value = rows.integer(column);
  if (value < 1 || value > 1'000'000) {
    throw ConfigError(rows.position(),
                      fmt::format("{} = {} must be from 1 to 1,000,000",
                                  rows.columns()[static_cast<std::size_t>(column)], value));
  }
  return static_cast<int>(value);
}

/// An empty or zero degree of parallelism means none.
int degree(const CsvRows& rows, int column) {
  if (column < 0 || rows.text(column).empty() || rows.text(column) == "0") return 1;
  return positive(rows, column);
}

double time_ms(const CsvRows& rows, int column) {
  const double value = rows.number(column);
  if (!(value > 0.0)) throw ConfigError(rows.position(), "a latency must be above 0 ms");
  return value;
}

/// Whether all users that the source tells of were served by the one server of the row.
bool says_users(std::string_view source, int users) {
  const std::string_view said = part(source, "silicon_concurrency");
  int concurrency = 0;
  std::from_chars(said.data(), said.data() + said.size(), concurrency);
  return concurrency == users;
}

}  // namespace

ClosedLoopPoints load_closed_loop_points(const std::filesystem::path& csv) {
  ClosedLoopPoints loaded;
  CsvRows rows(csv);
  const int id = rows.column("id"), source = rows.column("silicon_data_source");
  const int engine = rows.column("backend"), version = rows.column("backend_version");
  const int model = rows.column("model_path"), system = rows.column("system");
  const int gemm = rows.column("gemm_quant_mode"), moe = rows.column("moe_quant_mode");
  const int prompt = rows.column("isl"), output = rows.column("osl");
  const int users = rows.column("batch_size"), tensor = rows.column("tp_size");
  const int pipeline = rows.column("pp_size"), expert = rows.column("moe_ep_size");
  const int ttft = rows.column("silicon_ttft_ms"), tpot = rows.column("silicon_tpot_ms");
  while (rows.next()) {
    ClosedLoopPoint point;
    point.users = positive(rows, users);
    if (!says_users(rows.text(source), point.users)) {
      ++loaded.without_users;
      continue;
    }
    point.id = rows.text(id);
    point.source = part(rows.text(source), "source_file");
    point.engine = rows.text(engine);
    point.version = rows.text(version);
    point.model = rows.text(model);
    point.system = rows.text(system);
    point.gemm_format = rows.text(gemm);
    point.moe_format = rows.text(moe);
    point.prompt_tokens = positive(rows, prompt);
    point.output_tokens = positive(rows, output);
    point.tensor_parallel = degree(rows, tensor);
    point.pipeline_parallel = degree(rows, pipeline);
    point.expert_parallel = degree(rows, expert);
    point.ttft_ms = time_ms(rows, ttft);
    point.tpot_ms = time_ms(rows, tpot);
    point.position = rows.position();
    loaded.points.push_back(std::move(point));
  }
  return loaded;
}

}  // namespace foretoken
