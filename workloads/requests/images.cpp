#include "workloads/requests/images.hpp"

#include <algorithm>

#include "workloads/requests/traffic_keys.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t pixels_most = 100'000;  // on a side
constexpr std::int64_t images_most = 10'000;   // of a request
constexpr double different_most = 1e6;

const Keys<ImageTraffic>& image_share_keys() {
  using S = ImageTraffic;
  static const Keys<S> keys = {
      {"share",
       &S::share,
       {.range = {.low = 0, .high = 1, .has_low = false, .message = "must be above 0, at most 1"}},
       "Share of the requests that have images; the others are text alone."},
      {"repeated",
       &S::repeated,
       {.range = {.low = 0, .high = 1, .message = "must be from 0 to 1"}},
       "Share of the images that were sent before: one of `different`, all alike. An encoder cache "
       "that still has it spares encoding it again."},
      {"different",
       &S::different,
       {.range = between(1, different_most), .unit = "images", .quiet = true},
       "Images that are repeated."},
  };
  return keys;
}

Keys<ImageTraffic> image_length_keys(const LengthRegistry& registry) {
  const auto key = [&](const char* name, const char* meaning,
                       std::shared_ptr<const LengthDistribution> ImageTraffic::*member) {
    return length_key<ImageTraffic>({.name = name, .fallback = "required", .meaning = meaning},
                                    member, {LengthOf::prompt, nullptr}, registry);
  };
  return {key("count", "Images of a request that has any.", &ImageTraffic::count),
          key("width", "Width of an image in pixels.", &ImageTraffic::width),
          key("height", "Height of an image in pixels.", &ImageTraffic::height)};
}

}  // namespace

ImageDraws::ImageDraws(const ImageTraffic& traffic, const RandomStreams& random)
    : traffic_(traffic), random_(random.stream("images")) {
  if (traffic_.empty() || traffic_.repeated == 0) return;
  RandomStream sizes = random.stream("repeated_images");
  for (std::int64_t i = 0; i < traffic_.different; ++i) known_.push_back(size(sizes));
}

ImagePatches ImageDraws::size(RandomStream& random) const {
  const std::int64_t width = traffic_.width->sample(random, 0);
  const std::int64_t height = traffic_.height->sample(random, 0);
  return traffic_.encoder.patches_of(std::min(width, pixels_most), std::min(height, pixels_most));
}

PromptImage ImageDraws::draw() {
  // The same numbers for every image, so that one share of repeated ones follows from another's.
  const double chance = uniform(random_);
  const double which = uniform(random_);
  const ImagePatches own = size(random_);
  if (chance >= traffic_.repeated) {
    return {static_cast<std::uint64_t>(traffic_.different) + new_ones_++, 0, own};
  }
  const auto number = std::min(static_cast<std::size_t>(which * static_cast<double>(known_.size())),
                               known_.size() - 1);
  return {number, 0, known_[number]};
}

void ImageDraws::give(Request& request) {
  if (traffic_.empty() || uniform(random_) >= traffic_.share) return;
  const std::int64_t count = std::min(traffic_.count->sample(random_, 0), images_most);
  if (request.prefix_block_tokens > 0) {
    const auto whole =
        static_cast<std::size_t>(request.prompt_tokens / request.prefix_block_tokens);
    request.prefix_hashes.resize(std::min(request.prefix_hashes.size(), whole));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    PromptImage& image = request.images.emplace_back(draw());
    image.first_token = request.prompt_tokens;
    request.prompt_tokens = image.end();
  }
}

KeyNote images_note() {
  return {"images", "table", "", "not set", "", "Images of requests: [workload.images]."};
}

KeyTable image_key_table() {
  const LengthRegistry lengths = length_registry();
  std::vector<KeyNote> notes = image_length_keys(lengths).notes();
  for (KeyNote& note : image_share_keys().notes()) notes.push_back(std::move(note));
  return {"workload.images", "",
          "Images of requests, which the model's encoder makes tokens of; they are counted beside "
          "prompt_tokens and stand behind the text. Turns of conversations and calls of agents "
          "bring theirs, which later ones read again. How the engine encodes them is "
          "[engine.encoder].",
          notes};
}

ImageTraffic read_images(TableReader& workload, const std::optional<VisionEncoder>& vision,
                         const LengthRegistry& lengths) {
  ImageTraffic images;
  const Value* given = workload.find_table("images");
  if (given == nullptr) return images;
  TableReader table(*given, workload.diagnostics(), "workload.images");
  image_length_keys(lengths).read(table, images);
  image_share_keys().read(table, images);
  table.finish();
  workload.expect("images", vision && vision->takes_images(),
                  "the model takes no images, or how it cuts them is not known; choose one with a "
                  "[vision] table (foretoken model show NAME), or remove images");
  if (vision) images.encoder = *vision;
  if (images.count == nullptr || images.width == nullptr || images.height == nullptr ||
      !images.encoder.takes_images()) {
    return {};
  }
  return images;
}

void describe(const ImageTraffic& images, Value& workload) {
  if (images.empty()) return;
  Value table;
  const LengthRegistry lengths = length_registry();
  image_length_keys(lengths).write(images, table);
  image_share_keys().write(images, table);
  workload.set("images", std::move(table));
}

}  // namespace foretoken
