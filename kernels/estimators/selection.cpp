// Sampling the next token and routing tokens to experts. Fitted to kernels of our own on an H200
// (calibration/datasets/h200): softmax and a top-k, top-p draw by rejection over a CTA a row; the
// top k of a router's scores by a warp a token, the winners picked one after the other.
#include <algorithm>
#include <cmath>

#include "kernels/estimators/stream_model.hpp"

namespace foretoken {
namespace {

bool covers_top_p(const Kernel& kernel) {
  const auto* sampling = std::get_if<Sampling>(&kernel);
  return sampling != nullptr && sampling->method == SamplingMethod::top_p;
}

/// Two launches of a CTA a row; softmax reads twice and writes once, the draw reads about once.
StreamShape sampling_shape(const Kernel& kernel, const GpuSpec&) {
  constexpr double logit_bytes = 4, passes = 4;
  const auto& sampling = std::get<Sampling>(kernel);
  const double row_bytes = static_cast<double>(sampling.vocabulary) * logit_bytes;
  StreamShape shape;
  shape.ctas = static_cast<double>(sampling.rows);
  shape.threads = 1024;
  shape.rounds = row_bytes / 16 / shape.threads;
  shape.bytes = shape.ctas * row_bytes * passes;
  if (!sampling.is_cold) shape.footprint = shape.ctas * row_bytes * 2;
  return shape;
}

bool covers_greedy(const Kernel& kernel) {
  const auto* sampling = std::get_if<Sampling>(&kernel);
  return sampling != nullptr && sampling->method == SamplingMethod::greedy;
}

/// PyTorch's cast to float and its argmax: 512 threads walk a row 4 values at a time, and from 256
/// values a thread on as many such CTAs share it as are resident, each with 16 at least.
StreamShape greedy_shape(const Kernel& kernel, const GpuSpec& gpu) {
  constexpr double threads = 512, access_values = 4, split_from = 256, split_least = 16;
  constexpr double bytes = 2 + 4 + 4, float_bytes = 4;
  const auto& sampling = std::get<Sampling>(kernel);
  const auto rows = static_cast<double>(sampling.rows);
  const auto vocabulary = static_cast<double>(sampling.vocabulary);
  const double each = std::ceil(vocabulary / threads);
  double parts = 1;
  if (each >= split_from) {
    const double resident = gpu.sm_count * std::floor(gpu.threads_sm / threads);
    parts = std::clamp(std::ceil(resident / rows), 1.0, std::ceil(each / split_least));
  }
  StreamShape shape;
  shape.ctas = rows * parts;
  shape.threads = threads;
  shape.rounds = std::max(std::floor(vocabulary / parts / (threads * access_values)), 1.0);
  shape.bytes = rows * vocabulary * bytes;
  if (!sampling.is_cold) shape.footprint = rows * vocabulary * float_bytes;
  return shape;
}

bool covers_verification(const Kernel& kernel, SamplingMethod method) {
  const auto* verification = std::get_if<DraftVerification>(&kernel);
  return verification != nullptr && verification->method == method;
}
bool covers_random_verification(const Kernel& kernel) {
  return covers_verification(kernel, SamplingMethod::top_p);
}
bool covers_greedy_verification(const Kernel& kernel) {
  return covers_verification(kernel, SamplingMethod::greedy);
}

/// CTAs as greedy sampling's launches have them where they share rows, but for its steps: other
/// kernels than an argmax have none at 256 values a thread.
StreamShape greedy_verification_shape(const Kernel& kernel, const GpuSpec& gpu) {
  constexpr double threads = 512, access_values = 4, part_values = 16, float_bytes = 4;
  const auto& verification = std::get<DraftVerification>(kernel);
  const auto rows = static_cast<double>(verification.rows);
  const auto vocabulary = static_cast<double>(verification.vocabulary);
  const double resident = gpu.sm_count * std::floor(gpu.threads_sm / threads);
  const double parts_most = std::max(vocabulary / threads / part_values, 1.0);
  const double parts = std::clamp(resident / rows, 1.0, parts_most);
  StreamShape shape;
  shape.ctas = rows * parts;
  shape.threads = threads;
  shape.rounds = std::max(vocabulary / parts / (threads * access_values), 1.0);
  shape.bytes = verification.bytes();
  shape.footprint = rows * vocabulary * float_bytes;
  return shape;
}

/// Softmax, and what replaces rejected tokens (or SGLang's renormalisation), are a CTA a row, as
/// without drafts; gathers and divisions move bytes.
StreamShape verification_shape(const Kernel& kernel, const GpuSpec& gpu) {
  const auto& verification = std::get<DraftVerification>(kernel);
  StreamShape shape = sampling_shape(Sampling{.rows = verification.rows,
                                              .vocabulary = verification.vocabulary,
                                              .method = SamplingMethod::top_p,
                                              .is_cold = false},
                                     gpu);
  shape.bytes = verification.bytes();
  return shape;
}

/// Both of two launches.
constexpr StreamConstants drawing_constants = {.launch = 0.706,
                                               .first_round = 505,
                                               .full_cta = 887,
                                               .round = 4020,
                                               .tail = 887,
                                               .tail_share = 957,
                                               .cta_issue = 51.9,
                                               .dram_share = 1.08,
                                               .overlap = 0.572,
                                               .wave = 0.41};
constexpr StreamConstants greedy_constants = {.launch = 3.98,
                                              .first_round = 7.8,
                                              .full_cta = 0,
                                              .round = 555,
                                              .cta_issue = 3330,
                                              .dram_share = 0.9,
                                              .l2_share = 0.54,
                                              .sm_rate = 10.65,
                                              .overlap = 1.42,
                                              .wave = 0.005};

StreamConstants verification_constants(StreamConstants constants, int launches) {
  constants.launch *= launches / 2.0;
  constants.error = 0.5;
  return constants;
}

StreamShape topk_routing_shape(const Kernel& kernel, const GpuSpec&) {
  constexpr double tokens_a_cta = 4, lanes = 32, score_bytes = 2, pick_bytes = 8;
  const auto& routing = std::get<TopKRouting>(kernel);
  const auto tokens = static_cast<double>(routing.tokens);
  StreamShape shape;
  shape.ctas = std::ceil(tokens / tokens_a_cta);
  shape.threads = tokens_a_cta * lanes;
  shape.rounds = std::ceil(routing.experts / lanes);
  shape.steps = routing.topk;
  shape.bytes = tokens * (routing.experts * score_bytes + routing.topk * pick_bytes);
  if (!routing.is_cold) shape.footprint = shape.bytes;
  return shape;
}

}  // namespace

// Alone within 7.9 and 5.8 % of the launches they were fitted to. An overlap below 1 is the two
// launches of sampling, which do not overlap at all.
const EstimatorFamily& sampling_family() {
  static const StreamFamily family("sampling", covers_top_p, sampling_shape, drawing_constants);
  return family;
}

/// Within 5.5 % of PyTorch's launches on an H200; what a CTA costs is told by their number alone.
const EstimatorFamily& sampling_greedy_family() {
  static const StreamFamily family("sampling_greedy", covers_greedy, greedy_shape,
                                   greedy_constants);
  return family;
}

/// No launch of an engine's verification was measured: the launches of sampling as fitted above,
/// with the bytes and the number of launches that the engines' sources show. The error is a guess.
/// Greedy: gather, cast, argmax and the comparison.
const EstimatorFamily& draft_verification_greedy_family() {
  static const StreamFamily family("draft_verification_greedy", covers_greedy_verification,
                                   greedy_verification_shape,
                                   verification_constants(greedy_constants, 4));
  return family;
}

/// Gather, cast, temperature, softmax, noise, draws in place of rejected tokens, coins, comparison.
const EstimatorFamily& draft_verification_family() {
  static const StreamFamily family("draft_verification", covers_random_verification,
                                   verification_shape,
                                   verification_constants(drawing_constants, 8));
  return family;
}

const EstimatorFamily& topk_routing_family() {
  static const StreamFamily family("topk_routing", is_kind<TopKRouting>, topk_routing_shape,
                                   {.launch = 0.399,
                                    .first_round = 540,
                                    .full_cta = 1090,
                                    .round = 221,
                                    .tail = 1100,
                                    .tail_share = 1460,
                                    .step = 234,
                                    .cta_issue = 167,
                                    .dram_share = 0.102,
                                    .l2_share = 0.4,
                                    .overlap = 1.13,
                                    .wave = 0.921});
  return family;
}

}  // namespace foretoken
