// Any CSV with a header that names its columns; others are ignored, and there is no quoting.
//   arrival seconds   arrival_s, arrived_at (Splitwise's, as Vidur ships it), arrival_time
//   prompt tokens     prompt_tokens, num_prefill_tokens, input_tokens, input_length, input_toks
//   output tokens     output_tokens, num_decode_tokens, output_length, output_toks
// A file without arrivals serves as a source of lengths.
#include <algorithm>
#include <array>
#include <optional>

#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr auto arrival_names =
    std::to_array<std::string_view>({"arrival_s", "arrived_at", "arrival_time"});
constexpr auto prompt_names = std::to_array<std::string_view>(
    {"prompt_tokens", "num_prefill_tokens", "input_tokens", "input_length", "input_toks"});
constexpr auto output_names =
    std::to_array<std::string_view>({"output_tokens", "num_decode_tokens", "output_length", "output_toks"});

struct Column {
  std::size_t index;
  std::string name;  // as the file spells it
};

template <class Names>
std::optional<Column> find_column(const std::vector<std::string_view>& fields, const Names& names) {
  const auto found = std::ranges::find_first_of(fields, names);
  if (found == fields.end()) return std::nullopt;
  return Column{static_cast<std::size_t>(found - fields.begin()), std::string(*found)};
}

class Csv final : public TraceFormat {
 public:
  bool recognises(std::string_view first_line) const override {
    const auto fields = comma_fields(first_line);
    return find_column(fields, prompt_names) && find_column(fields, output_names);
  }

  bool take_header(std::string_view first_line) override {
    const auto fields = comma_fields(first_line);
    arrival_ = find_column(fields, arrival_names);
    const auto prompt = find_column(fields, prompt_names);
    const auto output = find_column(fields, output_names);
    if (!prompt || !output) {
      throw BadLine("expected a header such as arrival_s,prompt_tokens,output_tokens");
    }
    prompt_ = *prompt;
    output_ = *output;
    columns_ = fields.size();
    return true;
  }

  TraceRow parse(std::string_view line) const override {
    const auto fields = comma_fields(line);
    if (fields.size() != columns_) {
      throw BadLine(
          fmt::format("expected {} fields as in the header, found {}", columns_, fields.size()));
    }
    return {arrival_ ? time_ns(fields[arrival_->index], arrival_->name, 1.0) : 0,
            token_count(fields[prompt_.index], prompt_.name),
            token_count(fields[output_.index], output_.name),
            {}};
  }

  bool has_arrivals() const override { return arrival_.has_value(); }

 private:
  std::optional<Column> arrival_;
  Column prompt_ = {};
  Column output_ = {};
  std::size_t columns_ = 0;
};

}  // namespace

std::unique_ptr<TraceFormat> csv_trace() { return std::make_unique<Csv>(); }

}  // namespace foretoken
