// The grammars: nvjet_<types>_<M>x<N>_<K>x<stages>_<cm>x<cn>_<v|h>_bz[_coopA|B][_splitK]_<layout>
// (Hopper, Blackwell), ampere_…_<M>x<N>_…_stages_<K>x<stages>_<layout> and cutlass_80_…
// (Ampere, Ada), and xmma's tilesize<M>x<N>x<K>_stage<stages>. Seen in cuBLAS 11 to 13.
#include "kernel_name.hpp"

#include <regex>

namespace foretoken::measure {
namespace {

using Match = std::match_results<std::string_view::const_iterator>;

int number(const Match& match, std::size_t group) { return std::stoi(match[group].str()); }

bool find(std::string_view text, const std::regex& pattern, Match& match) {
  return std::regex_search(text.begin(), text.end(), match, pattern);
}

GemmKernelName read_nvjet(std::string_view name, const Match& shape) {
  static const std::regex layout(R"(_([TNtn]{2,3})(?:_|$))");
  static const std::regex raster(R"(_([vh])_)");
  GemmKernelName result;
  result.family = "nvjet";
  result.tile_m = number(shape, 1);
  result.tile_n = number(shape, 2);
  result.tile_k = number(shape, 3);
  result.stages = number(shape, 4);
  result.cluster_m = number(shape, 5);
  result.cluster_n = number(shape, 6);
  Match match;
  if (find(name, raster, match)) result.raster = match[1].str();
  if (find(name, layout, match)) result.layout = match[1].str();
  if (name.find("coopA") != name.npos) result.coop = "coopA";
  if (name.find("coopB") != name.npos) result.coop = "coopB";
  result.split_k = name.find("splitK") != name.npos;
  return result;
}

}  // namespace

std::optional<GemmKernelName> parse_gemm_kernel_name(std::string_view name) {
  static const std::regex nvjet(R"(^nvjet_.*?_(\d+)x(\d+)_(\d+)x(\d+)_(\d+)x(\d+)_)");
  static const std::regex ampere(
      R"(^(ampere|turing|volta)_.*?_(\d+)x(\d+)_.*?(\d+)x(\d+)_([tn]{2}))");
  static const std::regex cutlass(R"(cutlass_\w*?_(\d+)x(\d+)_(\d+)x(\d+)_([tn]{2}))");
  static const std::regex xmma(
      R"(tilesize(\d+)x(\d+)x(\d+)(?:_cgasize(\d+)x(\d+)x\d+)?_stage(\d+))");
  Match match;
  if (find(name, nvjet, match)) return read_nvjet(name, match);
  GemmKernelName result;
  result.split_k = name.find("splitK") != name.npos || name.find("split_k") != name.npos;
  if (find(name, ampere, match)) {
    result.family = "ampere";
    result.tile_m = number(match, 2);
    result.tile_n = number(match, 3);
    result.tile_k = number(match, 4);
    result.stages = number(match, 5);
    result.layout = match[6].str();
    return result;
  }
  if (find(name, xmma, match)) {
    result.family = "xmma";
    result.tile_m = number(match, 1);
    result.tile_n = number(match, 2);
    result.tile_k = number(match, 3);
    if (match[4].matched) result.cluster_m = number(match, 4);
    if (match[5].matched) result.cluster_n = number(match, 5);
    result.stages = number(match, 6);
    return result;
  }
  if (find(name, cutlass, match)) {
    result.family = "cutlass";
    result.tile_m = number(match, 1);
    result.tile_n = number(match, 2);
    result.tile_k = number(match, 3);
    result.stages = number(match, 4);
    result.layout = match[5].str();
    return result;
  }
  return std::nullopt;
}

}  // namespace foretoken::measure
