// Any bytes as the body of a completion: it is refused with a reason, or asks for at least one
// token in and out, and its stop strings end the answer within it.
#include <cstdint>
#include <string_view>

#include "sim/base/error.hpp"
#include "sim/live/completion_request.hpp"
#include "sim/live/completion_text.hpp"
#include "tests/fuzz/target.hpp"

FORETOKEN_FUZZ(completion)(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for (const bool is_chat : {false, true}) {
    try {
      MediaEncoder encoder;
      encoder.layers = encoder.heads = 1;
      encoder.projector = {4, 4};
      encoder.patch = 14;
      encoder.merge = 2;
      encoder.sizing = MediaSizing::rounded;
      encoder.patches_max = 16'384;
      const CompletionRequest asked = read_completion(body, is_chat, [&](const std::string&) {
        return PromptCut{16, encoder, ""};
      });
      FORETOKEN_CHECK(asked.prompt_tokens >= 1, "a prompt of {} tokens", asked.prompt_tokens);
      FORETOKEN_CHECK(!asked.tokens_max || *asked.tokens_max >= 1, "no token is asked for");
      FORETOKEN_CHECK(
          asked.prefix_hashes.size() * 16 <= static_cast<std::size_t>(asked.prompt_tokens),
          "{} blocks of {} tokens", asked.prefix_hashes.size(), asked.prompt_tokens);
      const auto stop = find_stop(asked.stop, 2000);
      FORETOKEN_CHECK(!stop || (stop->tokens >= 1 && stop->tokens <= 2000), "ends elsewhere");
    } catch (const RequestRefused& why) {
      FORETOKEN_CHECK(!error_object(why.status(), why.type(), why.what()).empty(), "no reason");
    }
  }
  return 0;
}
