// Files of foretoken-measure-comm. Rows of pass 1 repeat others: they tell the noise.
#include <optional>

#include "calibration/datasets/comm_importer.hpp"
#include "hardware/dtype.hpp"

namespace foretoken {

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
    const auto format = parse_enum<DType>(rows.text(dtype));
    if (!format) {
      throw ConfigError(rows.position(),
                        fmt::format("unknown number format '{}'", rows.text(dtype)));
    }
    CommSample sample;
    sample.gpu = file.gpu;
    sample.nodes = static_cast<int>(rows.integer(nodes));
    sample.ranks = static_cast<int>(rows.integer(ranks));
    sample.operation = rows.text(operation);
    const bool is_own_kernel = rows.text(library) == "foretoken_cuda";
    sample.library = rows.text(is_own_kernel ? algorithm : library);
    sample.version = rows.text(version);
    sample.launch = rows.text(launch);
    if (!is_own_kernel) {
      sample.algorithm = rows.text(algorithm);
      sample.protocol = rows.text(protocol);
    }
    sample.element_bytes = bytes_per_element(*format);
    sample.bytes = rows.number(bytes);
    sample.time = Seconds(rows.number(time) * 1e-6);
    sample.origin = "foretoken";
    dataset.samples.push_back(std::move(sample));
  }
}

}  // namespace foretoken
