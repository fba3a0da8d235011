#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "kernels/launch_limits.hpp"
#include "sim/app/step_subject.hpp"
#include "workloads/encoder_kernels.hpp"

namespace foretoken {
namespace {

std::string_view next_piece(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const std::string_view piece = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return piece;
}

std::int64_t parse_count(std::string_view text, const char* option, std::string_view whole) {
  std::int64_t count = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (status != std::errc() || end != text.data() + text.size() || count < 1) {
    throw ConfigError(
        {option}, fmt::format("'{}' is not {}", whole,
                              std::string_view(option) == "--prefill"
                                  ? "COUNTxTOKENS or COUNTxTOKENS@CACHED, such as 1x2048,1x512@4096"
                                  : "COUNTxCONTEXT, as in 64x1024,8x4096"));
  }
  return count;
}

/// Each of so many tokens that nothing can overflow.
void check_tokens(std::int64_t tokens, const char* option) {
  if (tokens <= launch_query_tokens_max) return;
  throw ConfigError({option}, fmt::format("{} tokens are too many for a step; it has at most {}",
                                          tokens, launch_query_tokens_max));
}

/// "2x512@4096,1x64": COUNTxTOKENS[@ALREADY_CACHED] for prompts, COUNTxCONTEXT for decodes.
/// A decode verifies `drafts` tokens behind its own.
void add_slices(const std::string& text, const char* option, bool is_prefill, int drafts,
                std::vector<SequenceSlice>& slices) {
  std::string_view rest = text;
  std::int64_t all_tokens = 0;
  while (!rest.empty()) {
    const std::string_view piece = next_piece(rest, ',');
    std::string_view body = piece;
    const std::string_view count_text = next_piece(body, 'x');
    const std::int64_t count = parse_count(count_text, option, piece);
    const std::string_view tokens_text = is_prefill ? next_piece(body, '@') : body;
    const std::int64_t tokens = parse_count(tokens_text, option, piece);
    SequenceSlice slice{is_prefill ? tokens : 1 + drafts, tokens + drafts};
    if (is_prefill && piece.find('@') != std::string_view::npos) {
      slice.context_tokens += body == "0" ? 0 : parse_count(body, option, piece);
    }
    if (count > 1'000'000)
      throw ConfigError({option}, fmt::format("{} sequences are too many", count));
    check_tokens(slice.query_tokens, option);
    check_tokens(all_tokens += count * slice.query_tokens, option);
    slices.insert(slices.end(), static_cast<std::size_t>(count), slice);
  }
}

}  // namespace

namespace {

/// "2x1280x720": COUNTxWIDTHxHEIGHT.
void add_images(std::string_view piece, const MediaEncoder& vision,
                std::vector<MediaPatches>& images) {
  constexpr std::int64_t side_max = 100'000, count_max = 10'000;
  std::array<std::int64_t, 3> numbers{};
  std::string_view body = piece;
  for (std::int64_t& number : numbers) {
    const std::string_view text = next_piece(body, 'x');
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = status == std::errc() && end == text.data() + text.size();
    if (!is_whole || number < 1 || number > side_max) {
      throw ConfigError({"--images"}, fmt::format("'{}' is not COUNTxWIDTHxHEIGHT in pixels, such "
                                                  "as 2x1280x720",
                                                  piece));
    }
  }
  if (!body.empty() || numbers[0] > count_max)
    throw ConfigError({"--images"}, fmt::format("'{}' is not COUNTxWIDTHxHEIGHT", piece));
  images.insert(images.end(), static_cast<std::size_t>(numbers[0]),
                vision.patches_of(numbers[1], numbers[2]));
}

}  // namespace

namespace {

/// "1x12.5": COUNTxSECONDS.
void add_clips(std::string_view piece, const MediaEncoder& audio,
               std::vector<MediaPatches>& media) {
  constexpr std::int64_t count_max = 10'000;
  constexpr double seconds_max = 86'400;
  std::string_view body = piece;
  const std::string_view count_text = next_piece(body, 'x');
  std::int64_t count = 0;
  double seconds = 0;
  const auto first =
      std::from_chars(count_text.data(), count_text.data() + count_text.size(), count);
  const auto second = std::from_chars(body.data(), body.data() + body.size(), seconds);
  const bool is_whole = first.ec == std::errc() && second.ec == std::errc() &&
                        first.ptr == count_text.data() + count_text.size() &&
                        second.ptr == body.data() + body.size();
  if (!is_whole || count < 1 || count > count_max || !(seconds > 0 && seconds <= seconds_max)) {
    throw ConfigError({"--audio"}, fmt::format("'{}' is not COUNTxSECONDS, such as 1x12.5", piece));
  }
  const auto ms = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(seconds * 1000)));
  media.insert(media.end(), static_cast<std::size_t>(count), audio.patches_of_clip(ms));
}

/// Throws ConfigError unless the model takes what `option` asks for, on this layout.
const MediaEncoder& encoder_for(const StepSubject& subject, Medium medium, const char* option) {
  const bool is_image = medium == Medium::image;
  if (!subject.model.takes(medium)) {
    throw ConfigError(
        {option}, fmt::format("{} takes no {}, or how it cuts them is not known; choose a model "
                              "with {} table",
                              subject.model.name, is_image ? "images" : "audio clips",
                              is_image ? "a [vision]" : "an [audio]"));
  }
  const MediaEncoder& encoder = *subject.model.encoder(medium);
  const std::string problem = encoder_problem(encoder, subject.layout);
  if (!problem.empty()) throw ConfigError({option}, problem + "; see --encoder-data");
  return encoder;
}

}  // namespace

std::vector<MediaPatches> step_media(const StepOptions& options, const StepSubject& subject) {
  std::vector<MediaPatches> media;
  if (options.encoder_by_data && options.images.empty() && options.audio.empty())
    throw ConfigError({"--encoder-data"}, "needs --images or --audio");
  const auto read = [&](std::string_view pieces, Medium medium, const char* option, auto add) {
    if (pieces.empty()) return;
    const MediaEncoder& encoder = encoder_for(subject, medium, option);
    while (!pieces.empty()) add(next_piece(pieces, ','), encoder, media);
  };
  read(options.images, Medium::image, "--images", add_images);
  read(options.audio, Medium::audio, "--audio", add_clips);
  return media;
}

BatchShape step_batch(const StepOptions& options, const ParallelLayout& layout, int drafts) {
  std::vector<SequenceSlice> slices;
  add_slices(options.prefill, "--prefill", true, 0, slices);
  const std::size_t prompts = slices.size();
  add_slices(options.decode, "--decode", false, drafts, slices);
  if (slices.empty()) {
    throw ConfigError({"step"}, "is empty; give --prefill 1x2048 or --decode 64x1024");
  }
  BatchShape batch;
  const auto decodes = static_cast<std::int64_t>(slices.size() - prompts);
  batch.draft_rows = decodes * drafts;
  batch.verifying = drafts > 0 ? decodes : 0;
  batch.logit_rows = static_cast<std::int64_t>(slices.size()) + batch.draft_rows;
  batch.attention = AttentionLoad::exact(std::move(slices), 1 + drafts);
  batch.tokens = batch.attention.query_tokens();
  batch.stage_tokens = batch.tokens * layout.data_parallel_attention;
  batch.stage_tokens_max = batch.tokens;
  const std::int64_t sequences = static_cast<std::int64_t>(prompts) + decodes;
  batch.adapters = std::min<std::int64_t>(options.adapters, sequences);
  if (batch.adapters > 0) batch.adapted_tokens = batch.tokens;
  return batch;
}

}  // namespace foretoken
