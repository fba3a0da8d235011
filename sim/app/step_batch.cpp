#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/app/step_subject.hpp"

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

/// "2x512@4096,1x64": COUNTxTOKENS[@ALREADY_CACHED] for prompts, COUNTxCONTEXT for decodes.
/// A decode verifies `drafts` tokens behind its own.
void add_slices(const std::string& text, const char* option, bool is_prefill, int drafts,
                std::vector<SequenceSlice>& slices) {
  std::string_view rest = text;
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
    slices.insert(slices.end(), static_cast<std::size_t>(count), slice);
  }
}

}  // namespace

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
  batch.logit_rows = static_cast<std::int64_t>(slices.size()) + decodes * drafts;
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
