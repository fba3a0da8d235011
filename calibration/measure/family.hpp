// A family of kernels to measure: its shapes, how to launch one, and the columns its dataset has.
// families.cpp lists them all; a new family is one file and one line there.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "arena.hpp"
#include "stopwatch.hpp"

namespace foretoken::measure {

/// One shape. `fields` are the values of Family::columns; `coordinates` place it among the other
/// shapes (logarithms of its sizes), for choosing a few that cover all.
struct Case {
  std::vector<std::string> fields;
  std::vector<double> coordinates;
  Footprint footprint;
  Launch launch;
  std::function<int()> split_k;  // GEMM: of the library's plan, after a launch; 0 = not known
  double heat = 0;  // roughly how many tera-operations a second it will run at; only an order
};

struct Family {
  std::string name;                  // as on the command line, and the dataset's file name
  std::vector<std::string> columns;  // keys of `foretoken predict` cases first
  Fill fill = Fill::bf16;
  std::vector<std::pair<std::string, std::string>> provenance;  // beside the GPU's
  std::vector<std::string> described_columns;                   // what `describe` appends
  std::function<std::vector<std::string>(const Case&, const LaunchIdentity&)> describe;
  std::vector<Case> cases;
};

struct FamilyOptions {
  std::uint64_t seed = 1;
  std::string shapes_file;      // GEMM: lines "m,n,k" instead of the built-in shapes; "" = built in
  std::string gemm_api = "lt";  // or "gemmex"
};

using FamilyFactory = Family (*)(const Gpu&, const FamilyOptions&);

Family gemm_bf16(const Gpu&, const FamilyOptions&);
Family gemm_fp8(const Gpu&, const FamilyOptions&);
Family rms_norm(const Gpu&, const FamilyOptions&);
Family fused_add_rms_norm(const Gpu&, const FamilyOptions&);
Family qk_norm(const Gpu&, const FamilyOptions&);
Family silu_and_mul(const Gpu&, const FamilyOptions&);
Family rope(const Gpu&, const FamilyOptions&);
Family kv_write(const Gpu&, const FamilyOptions&);
Family embedding(const Gpu&, const FamilyOptions&);
Family sampling(const Gpu&, const FamilyOptions&);
Family topk_routing(const Gpu&, const FamilyOptions&);

struct FamilyEntry {
  std::string_view name;
  FamilyFactory make;
};
const std::vector<FamilyEntry>& families();

/// Token counts of serving batches: every size up to 16, then a grid with odd sizes up to `max`.
std::vector<int> token_counts(int max);

}  // namespace foretoken::measure
