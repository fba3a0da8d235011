// SynPerf: a kernel's first-order time, corrected by what networks learned from measured launches
// of its family (kernels/estimators/estimator.hpp). A GPU of the user's is priced by that of a
// known part, or of those of its generation, and what its other numbers do to the kernel
// (kernels/estimators/transfer.hpp), so that better hardware never costs more; one of no known
// generation by the same networks from its specification, as built-in parts are that nobody
// measured. Kernels that no trained family covers are a PredictionError unless `fallback` names who
// prices them.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "hardware/known_relatives.hpp"
#include "kernels/estimators/attention_mixed.hpp"
#include "kernels/estimators/gpu_adaptations.hpp"
#include "kernels/estimators/larger_problems.hpp"
#include "kernels/estimators/price_errors.hpp"
#include "kernels/estimators/row_prices.hpp"
#include "kernels/estimators/trained_families.hpp"
#include "kernels/estimators/transfer.hpp"
#include "kernels/fallback.hpp"

namespace foretoken {

namespace {

/// Errors on GPUs that a family was not trained on are about this many times those on GPUs that it
/// was (leave-one-GPU-out, all families); used where the artifact does not say.
constexpr double unseen_gpu_factor = 2.5;
/// What each feature outside the trained range adds to the expected error, relative to it.
constexpr double clamped_factor = 0.25;
constexpr double expected_error_max = 1.0;

struct SynPerfConfig {
  /// A folder with artifacts of one's own training, instead of those inside the program.
  std::string artifacts;
  /// Files that `foretoken-calibrate adapt` wrote: each corrects the prices of one GPU. Where it is
  /// not given, a GPU's TOML file is looked beside (new.toml: new.adaptation.json).
  std::optional<std::vector<std::string>> adaptations;

  static SynPerfConfig from_table(TableReader& options);
};

SynPerfConfig SynPerfConfig::from_table(TableReader& options) {
  SynPerfConfig config;
  if (options.read("artifacts", config.artifacts)) {
    options.expect("artifacts", std::filesystem::is_directory(config.artifacts),
                   "must be a folder of artifacts, as foretoken-calibrate train writes it");
  }
  std::vector<std::string> adaptations;
  if (options.read("adaptations", adaptations)) config.adaptations = std::move(adaptations);
  return config;
}

double unseen_error(const Artifact& artifact) {
  return artifact.error_unseen_gpu > 0 ? artifact.error_unseen_gpu
                                       : unseen_gpu_factor * artifact.error_seen;
}

/// Of a GPU that was not measured, or one adapted to a few launches.
double expected_error(double base, const Ensemble::Answer& answer) {
  const double wide = std::hypot(base, answer.spread) * (1 + clamped_factor * answer.clamped);
  return std::min(wide, expected_error_max);
}

/// As an artifact of one's own says it.
double seen_error(const Artifact& artifact, const GpuSpec& gpu) {
  const auto found = artifact.error_by_gpu.find(gpu.name);
  return found != artifact.error_by_gpu.end() ? found->second : artifact.error_seen;
}

class SynPerf final : public Predictor {
 public:
  /// `fallback` prices kernels without a trained family; nullptr: they are an error.
  SynPerf(const SynPerfConfig& config, std::unique_ptr<Predictor> fallback)
      : families_(config.artifacts),
        adaptations_(config.adaptations),
        errors_(config.artifacts.empty() ? &PriceErrors::built_in() : nullptr),
        fallback_(std::move(fallback)) {}

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    if (const EstimatorFamily* family = family_of(kernel, gpu)) {
      if (const Artifact* artifact = families_.find(*family)) {
        Prediction prediction = price(*family, artifact, kernel, gpu);
        if (const auto single = without_drafts(kernel)) {
          prediction.time = std::max(prediction.time, predict(*single, gpu).time);
        }
        return prediction;
      }
      if (family->first_order_error() > 0) return price(*family, nullptr, kernel, gpu);
    } else if (is_mixed(kernel)) {
      return price_mixed(kernel, gpu);
    }
    if (fallback_ != nullptr) return fallback_->predict(kernel, gpu);
    throw PredictionError(fmt::format(
        "{}: no trained family covers this kernel on {}; set fallback = \"roofline\" to "
        "price it by its roofline",
        kernel_name(kernel), gpu.name));
  }

 private:
  /// `artifact` is null where the family has no networks.
  [[nodiscard]] Prediction price(const EstimatorFamily& family, const Artifact* artifact,
                                 const Kernel& kernel, const GpuSpec& gpu) const {
    if (const auto other = family.substitute(kernel, gpu)) {
      Prediction prediction = price(family, artifact, other->kernel, gpu);
      prediction.expected_error =
          std::min(std::hypot(prediction.expected_error, other->error), expected_error_max);
      return prediction;
    }
    const auto at = [&](const Kernel& row) { return price_of_row(family, artifact, row, gpu); };
    const bool has_rows = artifact != nullptr && family.row_end(kernel, gpu) != 0;
    return has_rows ? rows_.find(family, kernel, gpu, at) : at(kernel);
  }

  /// By what known parts take, where nobody measured the GPU.
  [[nodiscard]] Prediction price_of_row(const EstimatorFamily& family, const Artifact* artifact,
                                        const Kernel& kernel, const GpuSpec& gpu) const {
    const auto own = [&](const GpuSpec& part) {
      return artifact == nullptr ? first_order(family, kernel, part)
                                 : learned(family, *artifact, kernel, part);
    };
    const bool is_adapted =
        artifact != nullptr && adaptations_.find(family, *artifact, gpu) != nullptr;
    if (is_adapted) return own(gpu);
    std::optional<Prediction> known = transferred(family, kernel, kin_of(artifact, gpu), gpu, own);
    if (!known) return own(gpu);
    if (known->origin == Origin::transferred) {
      known->expected_error = std::max(known->expected_error, unseen_error(*artifact));
    }
    return *known;
  }

  /// Of the known parts that are like the GPU, those that the family was trained on, if any was.
  [[nodiscard]] std::vector<const GpuSpec*> kin_of(const Artifact* artifact,
                                                   const GpuSpec& gpu) const {
    std::vector<const GpuSpec*> all, trained;
    for (const GpuSpec& part : relatives_.kin(gpu)) {
      all.push_back(&part);
      const bool is_trained = artifact != nullptr &&
                              std::ranges::find(artifact->gpus, part.name) != artifact->gpus.end();
      if (is_trained) trained.push_back(&part);
    }
    return trained.empty() ? all : trained;
  }

  /// Networks inside the program answer every predictor alike, so what one has asked for serves the
  /// next: a plan's children start with what it has asked for itself.
  [[nodiscard]] static const LargerProblems& larger_of_built_in() {
    thread_local const LargerProblems larger;
    return larger;
  }

  /// By a family that has no networks.
  [[nodiscard]] static Prediction first_order(const EstimatorFamily& family, const Kernel& kernel,
                                              const GpuSpec& gpu) {
    const FirstOrder first = family.first_order(kernel, gpu);
    Prediction prediction{first.time, first.bound_by, Origin::analytic, family.first_order_error()};
    if (is_cold(kernel)) prediction.time += family.cold_extra(kernel, gpu);
    return prediction;
  }

  [[nodiscard]] Prediction learned(const EstimatorFamily& family, const Artifact& artifact,
                                   const Kernel& kernel, const GpuSpec& gpu) const {
    const FamilyAdaptation* adaptation = adaptations_.find(family, artifact, gpu);
    const auto [parts, answer] = estimate(family, artifact, kernel, gpu, adaptation);
    const FirstOrder& first = parts.first;
    Prediction prediction{first.time * std::exp(answer.mean), first.bound_by, Origin::transferred};
    if (is_cold(kernel)) prediction.time += parts.cold_extra;
    const auto ask = [&](const Kernel& larger) {
      const auto [of, says] = estimate(family, artifact, larger, gpu, adaptation);
      const double extra = is_cold(larger) ? of.cold_extra.value() : 0;
      const double time = of.first.time.value();
      return LargerProblems::Price{time + extra, time * std::exp(says.mean) + extra};
    };
    const LargerProblems& larger =
        errors_ != nullptr && adaptation == nullptr ? larger_of_built_in() : larger_;
    prediction.time = Seconds(larger.held(family, kernel, gpu, prediction.time.value(), ask));
    if (adaptation != nullptr) {
      prediction.origin = Origin::adapted;
      prediction.expected_error = expected_error(adaptation->error, answer);
    } else if (std::ranges::find(artifact.gpus, gpu.name) != artifact.gpus.end()) {
      prediction.origin = Origin::learned;
      const auto known =
          errors_ == nullptr
              ? std::nullopt
              : errors_->find(error_cell(family.name(), kernel, gpu, prediction.time));
      prediction.expected_error = known ? std::min(*known, expected_error_max)
                                        : expected_error(seen_error(artifact, gpu), answer);
    } else {
      prediction.expected_error = expected_error(unseen_error(artifact), answer);
    }
    return prediction;
  }

  /// Both kinds of sequences are priced apart, and what one launch pays once is taken off.
  [[nodiscard]] Prediction price_mixed(const Kernel& kernel, const GpuSpec& gpu) const {
    // What one launch pays once is the known part's: it must not shrink as the GPU gets better.
    const GpuSpec* const known = relatives_.find(gpu);
    const MixedAttention parts = split_mixed_attention(kernel, known != nullptr ? *known : gpu);
    const Prediction prefill = predict(parts.prefill, gpu);
    const Prediction decode = predict(parts.decode, gpu);
    const Prediction& longer = prefill.time >= decode.time ? prefill : decode;
    // Never below the longer part alone.
    const Seconds once = std::min(parts.shared, std::min(prefill.time, decode.time));
    Prediction sum = longer;
    sum.time = prefill.time + decode.time - once;
    sum.expected_error = (prefill.expected_error * prefill.time.value() +
                          decode.expected_error * decode.time.value()) /
                         (prefill.time + decode.time).value();
    return sum;
  }

  TrainedFamilies families_;
  GpuAdaptations adaptations_;
  const PriceErrors* errors_;  // null: networks of one's own, whose artifacts say
  RowPrices rows_;
  LargerProblems larger_;
  KnownRelatives relatives_;
  std::unique_ptr<Predictor> fallback_;  // null: there is none
};

}  // namespace

std::unique_ptr<Predictor> make_synperf(TableReader& options) {
  const SynPerfConfig config = SynPerfConfig::from_table(options);
  return std::make_unique<SynPerf>(config, read_fallback(options, "fallback", Fallback::roofline));
}

}  // namespace foretoken
