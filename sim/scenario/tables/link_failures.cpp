// [[failures]] of links: what loses rate or is down, and whether what is down leaves a way.
#include <algorithm>
#include <cmath>

#include "hardware/wiring.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {

const Keys<LinkFailure>& link_failure_keys() {
  using S = LinkFailure;
  static const Keys<S> keys = {
      {"at", &S::at, {.range = not_negative(), .required = true}, "When it fails."},
      Key<S>("nic", &S::nic,
             {.range = at_least(0, "counts from 0"), .fallback = "required, or link or nvswitch"},
             "Network card that runs at a reduced rate in both directions, counted from 0 over "
             "the cluster.")
          .written_if([](const S& s) { return s.is_nic(); }),
      Key<S>("nvswitch", &S::nvswitch,
             {.range = at_least(0, "counts nodes from 0"),
              .fallback = "required, or link or nic",
              .quiet = true},
             "Node whose NVSwitch runs at a reduced rate: every GPU's port, in both directions "
             "(0.75: one of four switches is lost).")
          .written_if([](const S& s) { return s.nvswitch >= 0; }),
      {"link",
       &S::link,
       {.fallback = "required, or nic or nvswitch", .quiet = true},
       "Link that runs at a reduced rate in one direction, by its name in reports: \"node 0 gpu "
       "3 "
       "out\" (a port of a switch), \"node 0 gpu 0 to 1\" (a wire), \"node 0 gpu pcie 3 in\", "
       "\"node 0 bridge 0 out\". For an unknown name the nearest one is suggested."},
      {"rate",
       &S::rate,
       {.range = {.low = 0,
                  .high = std::nextafter(1.0, 0.0),
                  .message = "is the remaining share of the full rate: from 0, below 1"},
        .allowed = "0 (not between nodes) or more, below 1",
        .required = true},
       "Remaining share of the full rate. At 0 it is down: new transfers take another path, over "
       "another card of the node, other links or PCIe."},
      {"recovers_after",
       &S::recovers_after,
       {.range = not_negative(), .fallback = "not set (never)"},
       "Time until the full rate is back."},
  };
  return keys;
}

void read_link_failure(TableReader& table, Scenario& scenario) {
  LinkFailure failure;
  std::string_view named;
  for (const std::string_view key : {"link", "nvswitch", "nic"}) {
    if (table.find(key) == nullptr) continue;
    if (!named.empty())
      table.fail(key, fmt::format("and {} both name what fails; keep one", named));
    if (named.empty()) named = key;
  }
  link_failure_keys().read(table, failure);
  failure.position = table.position(named);
  finish(table);
  scenario.link_failures.push_back(failure);
}

std::pair<int, int> place_of_nic(const ClusterSpec& cluster, int nic) {
  int node = 0;
  while (node < cluster.nodes && nic >= cluster.node_at(node).nics)
    nic -= cluster.node_at(node++).nics;
  return {node, nic};
}

std::vector<LinkIndex> links_of(const LinkFailure& failure, const Wiring& wiring) {
  if (failure.nvswitch >= 0) {
    if (failure.nvswitch >= wiring.cluster().nodes) return {};
    return wiring.ports_of(failure.nvswitch);
  }
  std::vector<std::string> names = {failure.link};
  if (failure.link.empty()) {
    const auto [node, nic] = place_of_nic(wiring.cluster(), failure.nic);
    names = {fmt::format("node {} nic {} out", node, nic),
             fmt::format("node {} nic {} in", node, nic)};
  }
  std::vector<LinkIndex> links;
  for (LinkIndex link = 0; link < wiring.link_count(); ++link) {
    if (std::ranges::find(names, wiring.name(link)) != names.end()) links.push_back(link);
  }
  return links;
}

namespace {

std::string no_such_link(const std::string& link, const Wiring& wiring) {
  const std::string& cluster = wiring.cluster().name;
  std::vector<std::string> names;
  for (LinkIndex known = 0; known < wiring.link_count(); ++known)
    names.push_back(wiring.name(known));
  if (names.empty()) return fmt::format("cluster {} has no links that could fail", cluster);
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view nearest = nearest_name(link, known);
  return nearest.empty() ? fmt::format("cluster {} has no link '{}'; the first is called '{}'",
                                       cluster, link, names.front())
                         : fmt::format("cluster {} has no link '{}'; did you mean '{}'?", cluster,
                                       link, nearest);
}

/// What `failure` leaves without a way as it begins, beside others that are down then; "": nothing.
std::string cut_off_by(const LinkFailure& failure, const Scenario& scenario, Wiring wiring) {
  const ClusterSpec& cluster = scenario.cluster;
  for (const LinkFailure& other : scenario.link_failures) {
    if (!other.is_down_at(failure.at)) continue;
    const auto [node, nic] = place_of_nic(cluster, other.nic);
    if (other.is_nic() && node < cluster.nodes) wiring.set_nic(node, nic, false);
    if (other.is_nic()) continue;
    for (const LinkIndex link : links_of(other, wiring)) wiring.set_link(link, false);
  }
  if (!failure.is_nic()) {
    return wiring.cut_off(*wiring.node_around(links_of(failure, wiring).front()));
  }
  const int node = place_of_nic(cluster, failure.nic).first;
  const bool is_last = cluster.nodes > 1 && wiring.nics_up(node).empty();
  return is_last ? fmt::format("node {} to the others", node) : "";
}

/// What fails, as the scenario calls it.
std::string name_of(const LinkFailure& failure) {
  if (!failure.link.empty()) return failure.link;
  return failure.nvswitch >= 0 ? fmt::format("the NVSwitch of node {}", failure.nvswitch)
                               : fmt::format("nic {}", failure.nic);
}

std::string no_such_part(const LinkFailure& failure, const Wiring& wiring) {
  if (!failure.link.empty()) return no_such_link(failure.link, wiring);
  if (failure.nvswitch >= 0) {
    return fmt::format(
        "node {} has no NVSwitch that could fail; nodes count from 0 to {}, and "
        "foretoken cluster show says what joins their GPUs",
        failure.nvswitch, wiring.cluster().nodes - 1);
  }
  return fmt::format(
      "nic {} cannot fail: the cluster has no network card of that number, counted "
      "from 0 over its nodes",
      failure.nic);
}

}  // namespace

void check_link_failures(const Scenario& scenario, Diagnostics& diagnostics) {
  if (scenario.link_failures.empty()) return;
  const Wiring wiring(scenario.cluster);
  for (const LinkFailure& failure : scenario.link_failures) {
    if (links_of(failure, wiring).empty()) {
      diagnostics.add(failure.position, no_such_part(failure, wiring));
      continue;
    }
    if (!failure.is_down()) continue;
    if (!failure.is_nic() && !wiring.node_around(links_of(failure, wiring).front())) {
      diagnostics.add(failure.position,
                      fmt::format("{} joins nodes, and rerouting around it is not modelled; give a "
                                  "remaining share of its rate above 0",
                                  name_of(failure)));
      continue;
    }
    const std::string cut_off = cut_off_by(failure, scenario, wiring);
    if (cut_off.empty()) continue;
    diagnostics.add(
        failure.position,
        fmt::format(
            "with {} down no path is left from {}; give a remaining share of its rate, or let the "
            "GPU or node that needs it fail{}",
            name_of(failure), cut_off,
            failure.is_nic()
                ? ""
                : ". If GPUs also reach each other over PCIe, set the cluster's pcie_bandwidth"));
  }
}

}  // namespace foretoken
