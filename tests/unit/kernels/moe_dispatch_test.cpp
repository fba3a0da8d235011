// Dispatch by waves: terms counted by hand, the fast path against the plain sum, policies, and GPUs
// that nobody measured.
#include "kernels/tiles/moe_dispatch.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/routing.hpp"
#include "kernels/tiles/expert_histogram.hpp"
#include "kernels/tiles/wave_analytic.hpp"
#include "sim/base/json.hpp"

namespace foretoken::moe_dispatch_test {
namespace {

using testing::HasSubstr;

GpuSpec h200() { return load_gpu("h200-sxm", {}); }

constexpr std::size_t at(WaveTerm term) { return static_cast<std::size_t>(term); }

TEST(RoutedStep, CountsTilesAndTheirTails) {
  // 27, 2, 2 and 1 assignments: at 16 rows 2 + 1 + 1 + 1 tiles; at 2 rows 14 + 1 + 1 + 1.
  const std::vector<std::int64_t> histogram = {2, 27, 0, 2, 1, 0};
  const std::vector<int> heights = {16, 2};
  const RoutedStep step(histogram, heights);
  EXPECT_EQ(step.assignments(), 32);
  EXPECT_EQ(step.active(), 4);
  EXPECT_EQ(step.at(0).tiles, 5);
  EXPECT_EQ(step.at(0).beyond_2, 0);
  EXPECT_EQ(step.at(1).tiles, 17);
  EXPECT_EQ(step.at(1).beyond_2, 12);
  EXPECT_EQ(step.at(1).beyond_4, 10);
  EXPECT_EQ(step.at(1).beyond_8, 6);
  EXPECT_EQ(step.at(1).longest, 14);
}

// OLMoE in fp8 cut into 64 x 128 x 128: 16 column tiles of 16 inner steps, then 16 of 8. 20 row
// tiles are 320 CTAs of either product: one wave of 3 a SM (396 slots), two of 2 (264), three of 1.
TEST(WaveTerms, CountWavesOfResidentCtas) {
  const MoeLayer olmoe{64, 2048, 1024, DType::fp8};
  std::vector<std::int64_t> histogram(64, 0);
  std::fill_n(histogram.begin(), 20, 40);  // 20 experts of one tile each
  const std::vector<int> heights = {64};
  const RoutedStep step(histogram, heights);
  const MoeTile three_stages{64, 128, 128, 1, 1, 4, 3}, four_stages{64, 128, 128, 1, 1, 4, 4};
  const TiledLayer by_three(olmoe, three_stages, resident_ctas(three_stages, DType::fp8, h200()),
                            132);
  const TiledLayer by_four(olmoe, four_stages, resident_ctas(four_stages, DType::fp8, h200()), 132);
  const WaveTerms terms = wave_terms(olmoe, by_three, step, 0);
  EXPECT_EQ(terms[at(WaveTerm::weights)], 20 * 3.0 * 2048 * 1024);
  EXPECT_EQ(terms[at(WaveTerm::tile_steps)], 20 * (16 * 16 + 16 * 8));
  EXPECT_EQ(terms[at(WaveTerm::waves)], 2);  // one a product
  EXPECT_EQ(terms[at(WaveTerm::wave_steps)], 16 + 8);
  EXPECT_EQ(terms[at(WaveTerm::sm_steps)], 3 * 16 + 3 * 8);
  EXPECT_DOUBLE_EQ(terms[at(WaveTerm::log_grid)], std::log(321.0));
  EXPECT_EQ(terms[at(WaveTerm::assignments)], 800);
  EXPECT_EQ(terms[at(WaveTerm::longest)], 24);
  EXPECT_EQ(wave_terms(olmoe, by_four, step, 0)[at(WaveTerm::waves)], 4);
}

// Five experts with a tile of 128 rows each: 60 and 80 CTAs, at most one a SM. In groups of 16 row
// tiles (there could be 64 of them) they lie among 192 and 256 positions: two on some SMs.
TEST(WaveTerms, GroupsSpreadFewRowTiles) {
  const MoeLayer qwen{128, 2048, 768, DType::fp8};
  std::vector<std::int64_t> histogram(128, 0);
  histogram[0] = 53, histogram[1] = 7, histogram[2] = 2, histogram[3] = histogram[4] = 1;
  const std::vector<int> heights = {64};
  const RoutedStep step(histogram, heights);
  const auto spread = [&](int group) {
    const MoeTile tile{64, 128, 128, group, 1, 4, 4};
    return wave_terms(qwen, TiledLayer(qwen, tile, 2, 132), step, 0)[at(WaveTerm::spread_steps)];
  };
  EXPECT_EQ(spread(1), 0);
  EXPECT_EQ(spread(5), 0);
  EXPECT_EQ(spread(16), 16 + 6);  // steps of 2,048 and of 768 in 128
}

/// Constants that are all different, for a pool of tiles.
std::vector<WaveConstants> some_constants(std::size_t tiles) {
  std::vector<WaveConstants> all;
  for (std::size_t i = 0; i < tiles; ++i) {
    WaveConstants constants{static_cast<int>(i), {}};
    constants.us = {20.0 + 0.1 * double(i % 7),
                    2e-7,
                    1e-4 * double(1 + i % 5),
                    0.05,
                    0.4,
                    0.01,
                    1.5,
                    0.02,
                    -0.5,
                    1e-7,
                    1e-3,
                    1e-4,
                    -1e-4,
                    1e-5,
                    0.01,
                    0.03};
    all.push_back(constants);
  }
  return all;
}

TEST(MoeDispatcher, EqualsTheSumOfTerms) {
  const MoeLayer layer{128, 2048, 768, DType::fp8};
  const auto tiles = moe_tiles(measured_pool_options(), DType::fp8, h200());
  const auto constants = some_constants(tiles.size());
  MoeDispatcher dispatcher(layer, h200(), tiles, constants, {});
  RandomStream stream = RandomStreams(3).stream("test");
  for (const std::int64_t tokens : {1, 33, 700}) {
    const auto histogram = draw_histogram({128, 8, tokens, 0.6, HistogramMode::zipf}, stream);
    const auto times = dispatcher.times_us(histogram);
    std::size_t best = 0;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const std::vector<int> heights = {tiles[i].block_m};
      const TiledLayer tiled(layer, tiles[i], resident_ctas(tiles[i], DType::fp8, h200()), 132);
      const WaveTerms terms = wave_terms(layer, tiled, RoutedStep(histogram, heights), 0);
      const double plain =
          std::inner_product(terms.begin(), terms.end(), constants[i].us.begin(), 0.0);
      EXPECT_NEAR(times[i] / plain, 1, 1e-5) << moe_tile_text(tiles[i]);
      if (times[i] < times[best]) best = i;
    }
    EXPECT_EQ(dispatcher.choose(histogram), best);
  }
}

TEST(WaveResidual, CarriesHabitsToLikeSteps) {
  const MoeLayer layer{64, 2048, 1024, DType::fp8};
  const auto tiles = moe_tiles(measured_pool_options(), DType::fp8, h200());
  const auto constants = some_constants(tiles.size());
  const auto even = even_histogram(512, 64);
  const std::vector<std::int64_t> skewed = [] {
    std::vector<std::int64_t> counts(64, 0);
    counts[3] = 500, counts[7] = 12;
    return counts;
  }();
  const StepTraits here = step_traits(RoutedStep(even, trait_heights));
  EXPECT_DOUBLE_EQ(here[0], std::log(512.0));
  EXPECT_DOUBLE_EQ(here[1], std::log(64.0));
  EXPECT_DOUBLE_EQ(here[2], std::log(64.0));  // a tile an expert
  const StepTraits there = step_traits(RoutedStep(skewed, trait_heights));
  EXPECT_DOUBLE_EQ(there[5], std::log(5.0));  // 500 and 12 assignments in tiles of 128 rows
  EXPECT_DOUBLE_EQ(likeness(here, here), 1);
  // A tenth slower on the even step, and the less so elsewhere the less alike.
  WaveResidual residual{{here}, {}};
  residual.weights.assign(tiles.size(), {std::log(1.1)});
  MoeDispatcher plain(layer, h200(), tiles, constants, {});
  MoeDispatcher with(layer, h200(), tiles, constants, {}, residual);
  for (const auto& histogram : {even, skewed}) {
    const double like = likeness(step_traits(RoutedStep(histogram, trait_heights)), here);
    const auto before = plain.times_us(histogram), after = with.times_us(histogram);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      EXPECT_NEAR(after[i] / before[i], std::pow(1.1, like), 1e-5) << moe_tile_text(tiles[i]);
    }
  }
}

TEST(MoeDispatcher, PoliciesLookAtWhatTheySay) {
  MoeDispatcher dispatcher({64, 2048, 1024, DType::fp8}, h200());
  std::vector<std::int64_t> skewed(64, 0);
  skewed[5] = 700;
  skewed[9] = 100;
  const auto aware = dispatched(dispatcher, DispatchPolicy::routing_aware, skewed, 100);
  EXPECT_EQ(aware, dispatcher.choose(skewed));
  EXPECT_EQ(dispatched(dispatcher, DispatchPolicy::fixed, skewed, 100),
            dispatcher.choose(even_histogram(768, 64)));  // 96 tokens
  EXPECT_EQ(dispatched(dispatcher, DispatchPolicy::bucket, skewed, 100),
            dispatcher.choose(even_histogram(1024, 64)));  // 128 tokens
  const auto fixed = dispatched(dispatcher, DispatchPolicy::fixed, skewed, 100);
  const auto times = dispatcher.times_us(skewed);
  EXPECT_LE(times[aware], times[fixed]);
}

TEST(MoeDispatcher, TablesOfPolicies) {
  const auto bucket = [](std::int64_t n) { return tuned_tokens(DispatchPolicy::bucket, n); };
  EXPECT_EQ(bucket(1), 1);
  EXPECT_EQ(bucket(96), 64);  // as near to 128: the smaller
  EXPECT_EQ(bucket(97), 128);
  EXPECT_EQ(bucket(8000), 8192);
  const auto fixed = [](std::int64_t n) { return tuned_tokens(DispatchPolicy::fixed, n); };
  EXPECT_EQ(fixed(3), 2);
  EXPECT_EQ(fixed(20), 16);
  EXPECT_EQ(fixed(21), 24);
  EXPECT_EQ(fixed(100), 96);
  EXPECT_EQ(fixed(192), 128);  // vLLM's tuner has nothing between 128 and 256
  EXPECT_EQ(fixed(193), 256);
  EXPECT_EQ(fixed(100'000), 4096);
  for (std::int64_t power = 1; power <= 4096; power *= 2) {
    EXPECT_EQ(fixed(power), power);
    EXPECT_EQ(bucket(power), power);
    EXPECT_EQ(finer_bucket(power), power);
  }
  EXPECT_EQ(finer_bucket(3), 3);
  EXPECT_EQ(finer_bucket(5), 4);
  EXPECT_EQ(finer_bucket(80), 64);
  EXPECT_EQ(finer_bucket(81), 96);
  EXPECT_EQ(finer_bucket(112), 96);
  EXPECT_EQ(finer_bucket(113), 128);
  EXPECT_EQ(tuned_tokens(DispatchPolicy::routing_aware, 77), 77);
  EXPECT_EQ(even_histogram(10, 4), (std::vector<std::int64_t>{3, 3, 2, 2}));
}

TEST(MoeDispatcher, SaysWhereItsTimesComeFrom) {
  const MoeLayer profiled{64, 2048, 1024, DType::fp8}, other{64, 2304, 1024, DType::fp8};
  EXPECT_EQ(MoeDispatcher(profiled, h200()).source().origin, Origin::measured);
  EXPECT_EQ(MoeDispatcher(profiled, h200()).source().layer, "olmoe");
  EXPECT_EQ(MoeDispatcher(other, h200()).source().origin, Origin::learned);
  for (const char* gpu : {"b200-sxm", "mi300x"}) {
    MoeDispatcher dispatcher(profiled, load_gpu(gpu, {}));
    EXPECT_EQ(dispatcher.source().origin, Origin::analytic) << gpu;
    const auto times = dispatcher.times_us(even_histogram(512, 64));
    for (const float time : times) EXPECT_GT(time, 0) << gpu;
  }
  GpuSpec mine = h200();  // another part of the same name, from a file
  mine.file = "mine.toml";
  EXPECT_EQ(MoeDispatcher(profiled, mine).source().origin, Origin::analytic);
  EXPECT_THROW(MoeDispatcher(profiled, load_gpu("a100-sxm", {})), PredictionError);
}

TEST(MoeDispatcher, TriesWhatTheRegionAdvises) {
  const MoeLayer olmoe{64, 2048, 1024, DType::fp8}, wide{64, 2048, 11776, DType::fp8};
  const auto grouped = [](const MoeTile& tile) { return tile.group_m > 1; };
  const GpuSpec gpu = load_gpu("b200-sxm", {});
  MoeDispatcher whole(olmoe, gpu, MoePool::whole), few(olmoe, gpu);
  EXPECT_TRUE(std::ranges::any_of(whole.tiles(), grouped));
  EXPECT_FALSE(std::ranges::any_of(few.tiles(), grouped));
  EXPECT_EQ(few.whole_pool(), whole.tiles().size());
  EXPECT_LT(few.tiles().size(), few.whole_pool() / 2);
  // What is tried costs what it cost before.
  const auto counts = even_histogram(512, 64);
  const auto times = whole.times_us(counts);
  const auto few_times = few.times_us(counts);
  for (std::size_t i = 0; i < few.tiles().size(); ++i) {
    const auto same = std::ranges::find(whole.tiles(), few.tiles()[i]) - whole.tiles().begin();
    EXPECT_FLOAT_EQ(few_times[i], times[static_cast<std::size_t>(same)]);
  }
  // Experts that L2 does not hold are advised groups, and a B200's holds twice an H200's.
  EXPECT_FALSE(std::ranges::any_of(MoeDispatcher(wide, gpu).tiles(), grouped));
  const MoeLayer wider{64, 2048, 32768, DType::fp8};
  EXPECT_TRUE(std::ranges::any_of(MoeDispatcher(wider, gpu).tiles(), grouped));
  // What measurements name is tried whatever the region says.
  EXPECT_TRUE(std::ranges::any_of(MoeDispatcher(olmoe, h200()).tiles(), grouped));
}

// One expert with one tile of 16 x 128 x 128 in fp8 on an H200: 16 and 16 CTAs, one wave each. An
// inner step computes 2 x 16 x 128 x 128 / 8192 = 64 cycles at half the rate (128), loads 144 x 128
// B at 7.73 TB/s / 132 / 1.83 GHz = 32 B a cycle (576); with 3 stages it cannot be shorter than
// half a round trip of 1,400 (700), and 10 are added. 16 and 8 steps after two round trips; 4 and 2
// MiB of weights at a rate of 0.9; 2 + 7 launches of 2.4 us at a half; 8 x (2 x 2048 + 3 x 1024) x
// 2 B at L2's rate, twice.
TEST(WaveAnalytic, CanBeFollowedByHand) {
  const MoeLayer layer{64, 2048, 1024, DType::fp8};
  const MoeTile tile{16, 128, 128, 1, 1, 4, 3};
  std::vector<std::int64_t> histogram(64, 0);
  histogram[0] = 8;
  const std::vector<int> heights = {16};
  const TiledLayer tiled(layer, tile, resident_ctas(tile, DType::fp8, h200()), 132);
  const WaveMachine machine{.tensor = 1,
                            .narrow = 0.5,
                            .l2 = 1,
                            .dram = 0.9,
                            .round_trip = 1400,
                            .issue = 10,
                            .prologue = 2,
                            .product_launch = 0.5,
                            .small_launch = 0.5,
                            .blend = 2,
                            .activations = 2,
                            .l2_kept = 0.75};
  const auto product = [](double steps, double mebibytes) {
    return std::hypot((2800 + steps * 710) / 1830.0, mebibytes * 1048576 / (0.9 * 4.917e6));
  };
  const double expected =
      product(16, 4) + product(8, 2) + 9 * 0.5 * 2.4 + 2 * 8 * 7168 * 2 / 7.73e6;
  EXPECT_NEAR(
      analytic_wave_us(layer, tile, tiled, RoutedStep(histogram, heights), 0, h200(), machine),
      expected, 1e-6 * expected);
}

// 400 CTAs where 396 fit: a whole wave of three a SM and one of one, not two whole ones.
TEST(WaveAnalytic, LastWavesAreThinner) {
  const MoeLayer layer{64, 2048, 1024, DType::fp8};
  const MoeTile tile{64, 128, 128, 1, 1, 4, 3};
  const std::vector<int> heights = {64};
  const auto time = [&](int experts) {
    std::vector<std::int64_t> histogram(64, 0);
    std::fill_n(histogram.begin(), experts, 64);
    const TiledLayer tiled(layer, tile, 3, 132);
    return analytic_wave_us(layer, tile, tiled, RoutedStep(histogram, heights), 0, h200());
  };
  const double below = time(24), above = time(25), twice = time(48);  // 384, 400 and 768 CTAs
  EXPECT_GT(above - below, 0);
  EXPECT_LT(above - below, twice - above);
}

// A third of OLMoE's experts: no GPU is faster than its memory, and none takes ten times as long.
TEST(WaveAnalytic, StaysNearWhatMemoryAllows) {
  const MoeLayer layer{64, 2048, 1024, DType::bf16};
  std::vector<std::int64_t> histogram(64, 0);
  std::fill_n(histogram.begin(), 21, 3);
  for (const std::string& name : gpu_names()) {
    const GpuSpec gpu = load_gpu(name, {});
    if (gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(layer.dtype)] <= 0) continue;
    MoeDispatcher dispatcher(layer, gpu);
    const double weights_us = 21 * layer.weight_bytes() / gpu.dram_bandwidth.value() * 1e6;
    const auto times = dispatcher.times_us(histogram);
    const double best = static_cast<double>(*std::ranges::min_element(times));
    EXPECT_GT(best, weights_us) << name;
    EXPECT_LT(best, 10 * weights_us) << name;
  }
}

TEST(WaveProfile, ReadsBackWhatItWrote) {
  WaveProfile profile;
  profile.gpu = "h200-sxm";
  profile.dtype = DType::fp8;
  profile.tiles = {{16, 64, 128, 1, 1, 4, 3}, {64, 128, 128, 16, 2, 8, 4}};
  profile.any_layer = some_constants(2);
  const WaveResidual residual{{{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}}, {{0.5, -0.25}}};
  profile.layers = {{"mine", {8, 1024, 512, DType::fp8}, {some_constants(2).back()}, residual}};
  profile.error_layer = 0.03;
  profile.error_any = 0.07;
  const std::string text = write_wave_profile(profile, {{"data", "none"}});
  const WaveProfile read = read_wave_profile(parse_json(text, {"p.json"}));
  EXPECT_EQ(read.tiles, profile.tiles);
  ASSERT_NE(read.find({8, 1024, 512, DType::fp8}), nullptr);
  EXPECT_EQ(read.find({8, 1024, 511, DType::fp8}), nullptr);
  EXPECT_EQ(read.layers[0].contenders[0].tile, 1);
  EXPECT_EQ(read.layers[0].residual.steps, residual.steps);
  EXPECT_EQ(read.layers[0].residual.weights, residual.weights);
  EXPECT_EQ(read.any_layer[1].us, profile.any_layer[1].us);
  EXPECT_EQ(write_wave_profile(read, {{"data", "none"}}), text);
}

std::string profile_error(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  try {
    (void)read_wave_profile(parse_json(text, {"p.json", 0, 0}));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(WaveProfile, MistakesAreNamed) {
  WaveProfile profile;
  profile.gpu = "h200-sxm";
  profile.tiles = {{16, 64, 128, 1, 1, 4, 3}};
  profile.any_layer = some_constants(1);
  profile.layers = {
      {"mine", {8, 1024, 512, DType::bf16}, some_constants(1), {{{1, 2, 3, 4, 5, 6}}, {{0.5}}}}};
  const std::string text = write_wave_profile(profile, {});
  EXPECT_THAT(profile_error(text, "wave profile 2", "wave profile 9"),
              HasSubstr("expected format 'foretoken wave profile 2'"));
  EXPECT_THAT(profile_error(text, "\"terms_version\":2", "\"terms_version\":1"),
              HasSubstr("fit it again with foretoken-calibrate fit wave"));
  EXPECT_THAT(profile_error(text, "[[16,64,128,1,1,4,3]]", "[[16,64,128]]"),
              HasSubstr("must be an array of 7"));
  EXPECT_THAT(profile_error(text, "\"weights\":[[", "\"weights\":[[0],["),
              HasSubstr("must be 1 arrays, one a contender, not 2"));
  EXPECT_THAT(profile_error(text, "\"steps\":[[", "\"steps\":[[0,"),
              HasSubstr("must be an array of 6"));
  EXPECT_THAT(profile_error(text, "\"any_layer\":[[0,", "\"any_layer\":[[7,"),
              HasSubstr("must be an integer from 0 to 0"));
}

Prediction price(const char* dispatch, const FusedMoe& kernel, const char* gpu) {
  Value options;
  options.set("dispatch", dispatch);
  Diagnostics diagnostics;
  TableReader table(options, diagnostics, "predictor");
  const auto predictor = predictor_catalog().find("wave", {}).make(table);
  table.finish();
  diagnostics.throw_if_any();
  return predictor->predict(kernel, load_gpu(gpu, {}));
}

TEST(WavePredictor, PricesByPolicy) {
  FusedMoe kernel{.tokens = 64,
                  .experts = 64,
                  .topk = 8,
                  .hidden = 2048,
                  .intermediate = 1024,
                  .dtype = DType::fp8};
  kernel.routing = {Routing::Kind::balancedness, 0.4, {}};
  const Prediction aware = price("routing_aware", kernel, "h200-sxm");
  const Prediction fixed = price("static", kernel, "h200-sxm");
  EXPECT_EQ(aware.origin, Origin::learned);
  EXPECT_GT(aware.expected_error, 0);
  EXPECT_LT(aware.time, fixed.time);
  // With experts alike there is nothing to see.
  kernel.routing = {};
  EXPECT_EQ(price("routing_aware", kernel, "h200-sxm").time,
            price("static", kernel, "h200-sxm").time);
  EXPECT_EQ(price("bucket", kernel, "mi300x").origin, Origin::transferred);
}

}  // namespace
}  // namespace foretoken::moe_dispatch_test
