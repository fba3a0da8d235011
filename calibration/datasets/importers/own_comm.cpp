// Files of foretoken-measure-comm. Rows of pass 1 repeat others: they tell the noise.
#include "calibration/datasets/comm_importer.hpp"
#include "hardware/dtype.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {

namespace {

/// A cell as the enumerator that it names.
template <class Enum>
Enum parsed(const CsvRows& rows, int column) {
  if (const auto value = parse_enum<Enum>(rows.text(column))) return *value;
  const auto& names = EnumNames<Enum>::names;
  throw ConfigError(rows.position(),
                    unknown_name_message(rows.columns()[static_cast<std::size_t>(column)],
                                         rows.text(column), {names.begin(), names.end()}));
}

}  // namespace

void import_own_comm(const CommFile& file, CommDataset& dataset) {
  CsvRows rows(file.path);
  const int operation = rows.column("operation"), library = rows.column("library"),
            version = rows.column("version"), algorithm = rows.column("algorithm"),
            protocol = rows.column("protocol"), launch = rows.column("launch"),
            dtype = rows.column("dtype"), nodes = rows.column("nodes"),
            ranks = rows.column("ranks"), bytes = rows.column("bytes"),
            time = rows.column("time_us"), pass = rows.column("pass");
  while (rows.next()) {
    if (rows.integer(pass) != 0) {
      ++dataset.left_out["measured again, for the noise"];
      continue;
    }
    CommSample sample;
    sample.gpu = file.gpu;
    sample.nodes = static_cast<int>(rows.integer(nodes));
    sample.ranks = static_cast<int>(rows.integer(ranks));
    sample.op = parsed<CollectiveOp>(rows, operation);
    const bool is_own_kernel = rows.text(library) == "foretoken_cuda";
    sample.library = parsed<CommLibrary>(rows, is_own_kernel ? algorithm : library);
    sample.version = rows.text(version);
    sample.launch = parsed<CommLaunch>(rows, launch);
    if (!is_own_kernel) {
      sample.algorithm = rows.text(algorithm);
      sample.protocol = rows.text(protocol);
    }
    sample.element_bytes = bytes_per_element(parsed<DType>(rows, dtype));
    sample.bytes = rows.number(bytes);
    sample.time = Seconds(rows.number(time) * 1e-6);
    sample.origin = "foretoken";
    dataset.samples.push_back(std::move(sample));
  }
}

}  // namespace foretoken
