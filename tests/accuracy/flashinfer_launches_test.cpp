// Every launch that FlashInfer 0.6.18 made on an H200 (FORETOKEN_DATA/h200_flashinfer) against its
// decomposition: grid, threads, shared memory and residency of each kernel, and the plan (padded
// batch, split, chunk, tile). Prints the share that agrees, by kernel.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "kernels/tasks/decomposition.hpp"
#include "kernels/tasks/sm_scheduler.hpp"
#include "workloads/requests/text_lines.hpp"

namespace foretoken::flashinfer_launches_test {
namespace {

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + separator.size()) {
    end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return parts;
}

/// "7|9*3" = 7, 9, 9, 9.
std::vector<std::int64_t> list(const std::string& text) {
  std::vector<std::int64_t> values;
  for (const std::string& part : split(text, "|")) {
    const auto repeated = split(part, "*");
    const std::size_t count = repeated.size() > 1 ? std::stoul(repeated[1]) : 1;
    values.insert(values.end(), count, std::stoll(repeated[0]));
  }
  return values;
}

struct Row {
  std::string kernel;
  std::string plan;      // "padded,split,chunk,tile" as recorded
  std::string launches;  // "gXxYxZ:threads:smem:occ" joined by " + "
  std::map<std::string, std::string> spec;
  [[nodiscard]] int number(const std::string& key) const { return std::stoi(spec.at(key)); }
};

/// A launch as recorded, without what a specification cannot know (registers).
std::string recorded_launch(const std::string& text) {
  const auto fields = split(text, ":");  // grid, block, dynamic and static shared memory, …
  std::int64_t threads = 1;
  for (const std::string& side : split(fields[1].substr(1), "x")) threads *= std::stoll(side);
  return fields[0] + ":" + std::to_string(threads) + ":" + fields[2] + ":" + fields[5];
}

Row read_row(const std::string& line) {
  const auto cells = split(line, ",");
  Row row;
  row.kernel = cells[0];
  row.plan = cells[7] + "," + cells[8] + "," + cells[9] + "," + cells[10];
  for (const std::string& launch : split(cells[11], " + ")) {
    row.launches += (row.launches.empty() ? "" : " + ") + recorded_launch(launch);
  }
  for (const std::string& entry : split(cells[12], ";")) {
    const auto pair = split(entry, "=");
    row.spec[pair[0]] = pair[1];
  }
  return row;
}

Kernel attention_of(const Row& row) {
  Attention kernel;
  kernel.query_heads = row.number("nh");
  kernel.kv_heads = row.number("nkv");
  kernel.head_dim = row.number("hd");
  kernel.page_tokens = row.spec.contains("page") ? row.number("page") : 0;
  const auto contexts = list(row.spec.at("kv"));
  const auto queries = row.spec.contains("q") ? list(row.spec.at("q"))
                                              : std::vector<std::int64_t>(contexts.size(), 1);
  std::vector<SequenceSlice> slices;
  for (std::size_t i = 0; i < contexts.size(); ++i) slices.push_back({queries[i], contexts[i]});
  kernel.load = AttentionLoad::exact(slices);
  kernel.implementation.framework = Framework::pytorch;
  kernel.implementation.source = row.kernel == "decode"      ? KernelSource::flashinfer_decode
                                 : row.kernel == "decode_tc" ? KernelSource::flashinfer_decode_tc
                                 : row.kernel.starts_with("prefill_fa3")
                                     ? KernelSource::flashinfer_fa3
                                     : KernelSource::flashinfer_fa2;
  return kernel;
}

Kernel kernel_of(const Row& row) {
  if (row.kernel == "rmsnorm") return RmsNorm{row.number("rows"), row.number("d")};
  if (row.kernel == "fused_add_rmsnorm") {
    return FusedAddRmsNorm{row.number("rows"), row.number("d")};
  }
  if (row.kernel == "silu_and_mul") return SiluAndMul{row.number("rows"), row.number("d")};
  return attention_of(row);
}

std::string plan_text(const Row& row, const Decomposition& decomposition) {
  if (!decomposition.plan) return "-1,-1,-1,-1";
  const AttentionPlan& plan = *decomposition.plan;
  const std::int64_t chunk = row.kernel.starts_with("prefill_fa3") ? -1 : plan.kv_chunk;
  return fmt::format("{},{},{},{}", plan.padded_batch, plan.is_split ? 1 : 0, chunk,
                     plan.cta_tile_q);
}

std::string launches_text(const Decomposition& decomposition, const GpuSpec& gpu) {
  std::string text;
  for (const Launch& launch : decomposition.launches) {
    const LaunchShape& shape = launch.shape;
    text += fmt::format("{}g{}x{}x{}:{}:smem{}:occ{}", text.empty() ? "" : " + ", shape.grid_x,
                        shape.grid_y, shape.grid_z, shape.threads,
                        static_cast<std::int64_t>(shape.shared_memory.value()),
                        resident_ctas(shape, gpu));
  }
  return text;
}

TEST(FlashInferLaunches, AllMatchTheRecordedOnes) {
  const char* const folder = std::getenv("FORETOKEN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  const auto path =
      std::filesystem::path(folder) / "h200_flashinfer" / "flashinfer_0.6.18_h200.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  struct Share {
    int matched = 0, all = 0;
  };
  std::map<std::string, Share> shares;
  TextLines lines(path);
  std::string_view line;
  lines.next(line);  // the header
  while (lines.next(line)) {
    const Row row = read_row(std::string(line));
    if (row.kernel == "empty") continue;
    const Decomposition decomposition = decompose(kernel_of(row), gpu);
    const std::string plan = plan_text(row, decomposition);
    const std::string launches = launches_text(decomposition, gpu);
    Share& share = shares[row.kernel];
    ++share.all;
    if (plan == row.plan && launches == row.launches) {
      ++share.matched;
    } else if (share.all - share.matched <= 3) {
      ADD_FAILURE() << "line " << lines.number() << ", " << row.kernel << "\n  recorded "
                    << row.plan << " " << row.launches << "\n  planned  " << plan << " "
                    << launches;
    }
  }
  int total = 0;
  for (const auto& [kernel, share] : shares) {
    std::cout << fmt::format("{:20} {:4} of {:4} launches match\n", kernel, share.matched,
                             share.all);
    EXPECT_EQ(share.matched, share.all) << kernel;
    total += share.all;
  }
  EXPECT_EQ(total, 3942);
}

}  // namespace
}  // namespace foretoken::flashinfer_launches_test
