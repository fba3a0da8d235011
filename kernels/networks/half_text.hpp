// Lists of numbers as text in artifacts: half precision (0.05 % of a number, which is far below
// what a network's weights are worth), little end first, in base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

std::string encode_halves(const std::vector<float>& numbers);

/// nullopt unless `text` holds exactly `count` numbers.
std::optional<std::vector<float>> decode_halves(std::string_view text, std::size_t count);

}  // namespace foretoken
