// Reads and writes fabrics: TOML with one table a protocol.
#include "hardware/comm_parameters.hpp"

#include "hardware/spec_source.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
namespace {

void read_not_negative(TableReader& table, std::string_view key, Seconds& out) {
  table.read(key, out);
  table.expect(key, out.value() >= 0.0, "must not be negative");
}

void read_comm_share(TableReader& table, std::string_view key, double& out) {
  table.read(key, out);
  table.expect(key, out >= 0.0 && out <= 1.0, "must be from 0 to 1");
}

void read_protocol(TableReader table, ProtocolCosts& costs) {
  if (table.require("share", costs.share)) {
    table.expect("share", costs.share > 0.0 && costs.share <= 1.0,
                 "must be above 0 and at most 1; omit the table if the fabric lacks it");
  }
  read_not_negative(table, "launch", costs.launch);
  read_not_negative(table, "step", costs.step);
  table.finish();
}

void read_own_part(TableReader table, OwnPart& own) {
  read_comm_share(table, "all_reduce", own.all_reduce);
  read_comm_share(table, "all_gather", own.all_gather);
  read_comm_share(table, "reduce_scatter", own.reduce_scatter);
  read_comm_share(table, "all_to_all", own.all_to_all);
  table.finish();
}

}  // namespace

std::vector<std::string> fabric_names() { return spec_names(embedded_fabrics()); }

FabricCosts load_fabric(const std::string& name_or_path, const SourcePosition& asked_at) {
  if (is_spec_path(name_or_path)) {
    return read_fabric_costs(load_spec_file(name_or_path, "fabric", asked_at));
  }
  if (const EmbeddedFile* file = find_spec(embedded_fabrics(), name_or_path)) {
    return read_fabric_costs(parse_spec(*file, "fabrics"));
  }
  const std::vector<std::string> names = fabric_names();
  throw ConfigError(asked_at,
                    unknown_name_message("fabric", name_or_path, {names.begin(), names.end()}) +
                        ", or a path to a TOML file",
                    Mistake::slip);
}

FabricCosts read_fabric_costs(const Value& root) {
  Diagnostics diagnostics;
  TableReader top(root, diagnostics, "");
  FabricCosts costs;
  if (top.require("name", costs.name)) {
    top.expect("name", is_spec_name(costs.name),
               "must be lower-case letters, digits, '-', '_' and '.', and not end in .toml");
  }
  read_not_negative(top, "host_floor", costs.host_floor);
  if (const Value* own = top.find_table("own_part")) {
    read_own_part(TableReader(*own, diagnostics, "own_part"), costs.own_part);
  }
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const std::string_view name = EnumNames<Protocol>::names[i];
    if (const Value* table = top.find_table(name)) {
      read_protocol(TableReader(*table, diagnostics, std::string(name)), costs.protocols[i]);
    }
  }
  top.finish();
  diagnostics.throw_if_any();
  return costs;
}

Value fabric_table(const FabricCosts& costs) {
  Value root;
  root.set("name", costs.name);
  root.set("host_floor", exact_text(costs.host_floor));
  Value own;
  own.set("all_reduce", costs.own_part.all_reduce);
  own.set("all_gather", costs.own_part.all_gather);
  own.set("reduce_scatter", costs.own_part.reduce_scatter);
  own.set("all_to_all", costs.own_part.all_to_all);
  root.set("own_part", own);
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const ProtocolCosts& protocol = costs.protocols[i];
    if (protocol.share <= 0) continue;
    Value table;
    table.set("launch", exact_text(protocol.launch));
    table.set("step", exact_text(protocol.step));
    table.set("share", protocol.share);
    root.set(EnumNames<Protocol>::names[i], table);
  }
  return root;
}

}  // namespace foretoken
