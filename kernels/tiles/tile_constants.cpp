#include "kernels/tiles/tile_constants.hpp"

#include "sim/base/embedded.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json.hpp"

namespace foretoken {

std::span<const EmbeddedFile> embedded_tile_models();

namespace {

constexpr std::string_view format_name = "foretoken tile constants 1";

}  // namespace

std::span<const TileConstants::Field> TileConstants::fields() {
  using C = TileConstants;
  static constexpr auto all = std::to_array<Field>({{"group_math", &C::group_math},
                                                    {"warp_step", &C::warp_step},
                                                    {"warp_slice", &C::warp_slice},
                                                    {"slice", &C::slice},
                                                    {"wide_slice", &C::wide_slice},
                                                    {"shared", &C::shared},
                                                    {"l2_burst", &C::l2_burst},
                                                    {"l2_share", &C::l2_share},
                                                    {"miss_cost", &C::miss_cost},
                                                    {"hot_line", &C::hot_line},
                                                    {"latency", &C::latency},
                                                    {"tile", &C::tile},
                                                    {"result", &C::result},
                                                    {"dram", &C::dram},
                                                    {"thin_row", &C::thin_row},
                                                    {"thin_math", &C::thin_math},
                                                    {"short_row", &C::short_row},
                                                    {"far_columns", &C::far_columns},
                                                    {"l2_kept", &C::l2_kept},
                                                    {"reread", &C::reread},
                                                    {"packed", &C::packed},
                                                    {"wide_packed", &C::wide_packed},
                                                    {"reduce", &C::reduce},
                                                    {"reduce_bytes", &C::reduce_bytes},
                                                    {"sustained", &C::sustained},
                                                    {"scale", &C::scale},
                                                    {"next_tile", &C::next_tile},
                                                    {"partner", &C::partner},
                                                    {"partner_bytes", &C::partner_bytes},
                                                    {"unaligned", &C::unaligned}});
  return all;
}

TileConstants read_tile_constants(const Value& root) {
  const Value* const format = root.is_object() ? root.find("format") : nullptr;
  const auto* const name = format == nullptr ? nullptr : std::get_if<std::string>(&format->data);
  if (name == nullptr || *name != format_name) {
    throw ConfigError(root.position, fmt::format("expected format '{}'", format_name));
  }
  const Value* const numbers = root.find("constants");
  TileConstants constants;
  for (const TileConstants::Field& field : TileConstants::fields()) {
    const Value* const found =
        numbers != nullptr && numbers->is_object() ? numbers->find(field.name) : nullptr;
    const auto* const number = found == nullptr ? nullptr : std::get_if<double>(&found->data);
    if (number == nullptr || !(*number > 0)) {
      throw ConfigError(root.position,
                        fmt::format("tile constants need a positive number '{}'", field.name));
    }
    constants.*field.member = *number;
  }
  return constants;
}

Value tile_constants_value(const TileConstants& constants, const ValueObject& provenance) {
  Value numbers;
  for (const TileConstants::Field& field : TileConstants::fields()) {
    numbers.set(std::string(field.name), constants.*field.member);
  }
  return ValueObject{
      {"format", std::string(format_name)}, {"provenance", provenance}, {"constants", numbers}};
}

const TileConstants& embedded_tile_constants() {
  static const TileConstants constants = [] {
    const auto files = embedded_tile_models();
    FORETOKEN_CHECK(files.size() == 1, "{} files of tile constants", files.size());
    return read_tile_constants(parse_json(files[0].text, {fmt::format("{}.json", files[0].stem)}));
  }();
  return constants;
}

}  // namespace foretoken
