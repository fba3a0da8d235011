// Names that AIConfigurator's tables use.
#include "calibration/datasets/importer.hpp"

namespace foretoken {

DType parse_table_dtype(const CsvRows& rows, int column) {
  const std::string_view name = rows.text(column);
  if (name == "bfloat16" || name == "float16")
    return name == "bfloat16" ? DType::bf16 : DType::fp16;
  if (const auto dtype = parse_enum<DType>(name)) return *dtype;
  throw ConfigError(rows.position(), fmt::format("unknown number format '{}'", name));
}

Implementation table_implementation(std::string_view source_name, Framework framework) {
  Implementation implementation;
  implementation.framework = framework;
  implementation.source = find_kernel_source(source_name).value_or(KernelSource::automatic);
  return implementation;
}

}  // namespace foretoken
