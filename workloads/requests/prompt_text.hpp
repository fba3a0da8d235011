// How many tokens a prompt has where only its text is known, as in logs and requests of clients
// that send no token ids. An estimate: no tokenizer is part of the project.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/value.hpp"
#include "workloads/requests/image_header.hpp"
#include "workloads/requests/trace_media.hpp"

namespace foretoken {

/// Bytes of text that count as a token, where a client gives text and no token ids: what English
/// takes with today's vocabularies (3.9 to 4.5), within a third for code and most other languages.
inline constexpr std::int64_t text_bytes_per_token = 4;

/// At least 1.
std::int64_t text_tokens(std::string_view text);

/// Messages or a prompt that cannot be read; what() says what they must be.
class BadPrompt : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An image, and how many bytes of text stand before it.
struct ChatImage {
  SentImage image;
  std::size_t text_before = 0;
};

struct RenderedChat {
  std::string text;
  std::vector<ChatImage> images = {};  // in their order
};

/// What a message says: a string, or parts of which each is text or an image. Throws BadPrompt.
RenderedChat rendered_content(const Value& content);

/// The images of a prompt whose text alone is counted in tokens, as a trace has them: each stands
/// behind the text before it, and how many tokens it was nobody says.
std::vector<TraceItem> images_among_text(const RenderedChat& chat);

/// The body of an OpenAI chat request as a chat template would write it: every message with its
/// role, then tools. Throws BadPrompt.
RenderedChat rendered_chat(const Value& body);

}  // namespace foretoken
