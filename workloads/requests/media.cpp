#include "workloads/requests/media.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/requests/traffic_keys.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t pixels_most = 100'000;  // on a side
constexpr std::int64_t items_most = 10'000;    // of a request
constexpr double clip_ms_most = 86'400'000;    // a day
constexpr double different_most = 1e6;

Keys<MediumTraffic> share_keys(const std::string& what, const std::string& unit) {
  using S = MediumTraffic;
  return {
      {"share",
       &S::share,
       {.range = {.low = 0, .high = 1, .has_low = false, .message = "must be above 0, at most 1"}},
       "Share of the requests that have " + what + "; the others are text only."},
      {"repeated",
       &S::repeated,
       {.range = {.low = 0, .high = 1, .message = "must be from 0 to 1"}},
       "Share of the " + what +
           " that repeat earlier ones: one of `different`, all equally likely. One that the "
           "encoder cache still holds is not encoded again."},
      {"different",
       &S::different,
       {.range = between(1, different_most), .unit = unit, .quiet = true},
       std::string(1, static_cast<char>(what[0] - 'a' + 'A')) + what.substr(1) +
           " that are repeated."},
  };
}

Keys<MediumTraffic> image_keys(const LengthRegistry& registry) {
  const auto key = [&](const char* name, const char* meaning,
                       std::shared_ptr<const LengthDistribution> MediumTraffic::*member) {
    return length_key<MediumTraffic>({.name = name, .fallback = "required", .meaning = meaning},
                                     member, {LengthOf::prompt, nullptr}, registry);
  };
  return {key("count", "Images of a request that has any.", &MediumTraffic::count),
          key("width", "Width of an image in pixels.", &MediumTraffic::width),
          key("height", "Height of an image in pixels.", &MediumTraffic::height)};
}

Keys<MediumTraffic> audio_keys(const LengthRegistry& registry) {
  return {length_key<MediumTraffic>({.name = "count",
                                     .fallback = "required",
                                     .meaning = "Audio clips of a request that has any."},
                                    &MediumTraffic::count, {LengthOf::prompt, nullptr}, registry),
          {"duration",
           &MediumTraffic::duration,
           {.fallback = "required"},
           "How long a clip is. The encoder works on pieces of it (Whisper's: 30 s, the last one "
           "padded); what exceeds a model's limit is cut off."}};
}

MediaPatches size(const MediumTraffic& traffic, RandomStream& random) {
  if (traffic.encoder.medium == Medium::audio) {
    const double ms = std::ceil(traffic.duration.sample(random).value() * 1000);
    return traffic.encoder.patches_of_clip(
        static_cast<std::int64_t>(std::clamp(ms, 1.0, clip_ms_most)));
  }
  const std::int64_t width = traffic.width->sample(random, 0);
  const std::int64_t height = traffic.height->sample(random, 0);
  return traffic.encoder.patches_of(std::min(width, pixels_most), std::min(height, pixels_most));
}

}  // namespace

MediaDraws::MediaDraws(const MediaTraffic& traffic, const RandomStreams& random) {
  add(traffic.images, random, "images", "repeated_images");
  add(traffic.audio, random, "audio", "repeated_audio");
}

void MediaDraws::add(const MediumTraffic& traffic, const RandomStreams& random, const char* stream,
                     const char* repeated_stream) {
  if (traffic.empty()) return;
  Draws& draws = draws_.emplace_back(Draws{traffic, random.stream(stream)});
  if (traffic.repeated == 0) return;
  RandomStream sizes = random.stream(repeated_stream);
  for (std::int64_t i = 0; i < traffic.different; ++i) draws.known.push_back(size(traffic, sizes));
}

MediaItem MediaDraws::draw(Draws& draws) {
  const MediumTraffic& traffic = draws.traffic;
  // The same numbers for every one, so that one share of repeated ones follows from another's.
  const double chance = uniform(draws.random);
  const double which = uniform(draws.random);
  const MediaPatches own = size(traffic, draws.random);
  const std::uint64_t from = own.medium == Medium::audio ? clip_identity : 0;
  if (chance >= traffic.repeated) {
    return {from + static_cast<std::uint64_t>(traffic.different) + draws.new_ones++, 0, own};
  }
  const std::size_t count = draws.known.size();
  const auto number =
      std::min(static_cast<std::size_t>(which * static_cast<double>(count)), count - 1);
  return {from + number, 0, draws.known[number]};
}

void MediaDraws::give(Draws& draws, Request& request) {
  if (uniform(draws.random) >= draws.traffic.share) return;
  const std::int64_t count = std::min(draws.traffic.count->sample(draws.random, 0), items_most);
  if (request.prefix_block_tokens > 0) {
    request.prefix_hashes.shorten(request.prompt_tokens / request.prefix_block_tokens);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    MediaItem& item = request.media.emplace_back(draw(draws));
    item.first_token = request.prompt_tokens;
    request.prompt_tokens = item.end();
  }
}

void MediaDraws::give(Request& request) {
  for (Draws& draws : draws_) give(draws, request);
}

std::vector<KeyNote> media_notes() {
  return {{"images", "table", "", "not set", "", "Images of requests: [workload.images]."},
          {"audio", "table", "", "not set", "", "Audio clips of requests: [workload.audio]."}};
}

std::vector<KeyTable> media_key_tables() {
  const LengthRegistry lengths = length_registry();
  const auto notes = [](const Keys<MediumTraffic>& own, const Keys<MediumTraffic>& shared) {
    std::vector<KeyNote> all = own.notes();
    for (KeyNote& note : shared.notes()) all.push_back(std::move(note));
    return all;
  };
  return {
      {"workload.images", "",
       "Images of requests, which the model's encoder turns into tokens. These come after the text "
       "and on top of prompt_tokens. Turns of conversations and calls of agents bring their own, "
       "which later ones read again. How the engine encodes them is set in [engine.encoder].",
       notes(image_keys(lengths), share_keys("images", "images"))},
      {"workload.audio", "",
       "Audio clips of requests, likewise, for models with an audio encoder; after the images of a "
       "request that has both.",
       notes(audio_keys(lengths), share_keys("clips", "clips"))}};
}

namespace {

/// Whether the model has an encoder for them; that it has none is reported.
bool takes(TableReader& workload, Medium medium, const std::optional<MediaEncoder>& encoder) {
  const bool takes_them = encoder && encoder->takes_media();
  const bool is_image = medium == Medium::image;
  workload.expect(is_image ? "images" : "audio", takes_them,
                  is_image
                      ? "the model takes no images, or how it tokenizes them is unknown; choose "
                        "one with a [vision] table (foretoken model show NAME), or remove images"
                      : "the model takes no audio, or how it tokenizes it is unknown; choose one "
                        "with an [audio] table (foretoken model show NAME), or remove audio");
  return takes_them;
}

MediumTraffic read_images(TableReader& workload, const std::optional<MediaEncoder>& vision,
                          const LengthRegistry& lengths) {
  MediumTraffic images;
  const Value* given = workload.find_table("images");
  if (given == nullptr) return images;
  TableReader table(*given, workload.diagnostics(), "workload.images");
  image_keys(lengths).read(table, images);
  share_keys("images", "images").read(table, images);
  table.finish();
  if (!takes(workload, Medium::image, vision)) return {};
  images.encoder = *vision;
  const bool is_whole =
      images.count != nullptr && images.width != nullptr && images.height != nullptr;
  return is_whole ? images : MediumTraffic();
}

MediumTraffic read_audio(TableReader& workload, const std::optional<MediaEncoder>& encoder,
                         const LengthRegistry& lengths) {
  MediumTraffic audio;
  const Value* given = workload.find_table("audio");
  if (given == nullptr) return audio;
  TableReader table(*given, workload.diagnostics(), "workload.audio");
  audio_keys(lengths).read(table, audio);
  if (table.find("duration") == nullptr)
    table.fail("duration", "is missing; write a time, for example \"12 s\"");
  share_keys("clips", "clips").read(table, audio);
  table.finish();
  if (!takes(workload, Medium::audio, encoder)) return {};
  audio.encoder = *encoder;
  return audio;
}

}  // namespace

MediaTraffic read_media(TableReader& workload, const std::optional<MediaEncoder>& vision,
                        const std::optional<MediaEncoder>& audio, const LengthRegistry& lengths) {
  return {read_images(workload, vision, lengths), read_audio(workload, audio, lengths)};
}

void describe(const MediaTraffic& media, Value& workload) {
  const LengthRegistry lengths = length_registry();
  if (!media.images.empty()) {
    Value table;
    image_keys(lengths).write(media.images, table);
    share_keys("images", "images").write(media.images, table);
    workload.set("images", std::move(table));
  }
  if (media.audio.empty()) return;
  Value table;
  audio_keys(lengths).write(media.audio, table);
  share_keys("clips", "clips").write(media.audio, table);
  workload.set("audio", std::move(table));
}

}  // namespace foretoken
