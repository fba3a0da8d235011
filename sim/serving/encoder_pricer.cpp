#include "sim/serving/encoder_pricer.hpp"

#include <algorithm>

#include "kernels/communication/communication_price.hpp"

namespace foretoken {

EncoderPrice EncoderPricer::price(std::span<const MediaPatches> items) {
  std::vector<MediaPatches> key(items.begin(), items.end());
  std::ranges::sort(key);
  const auto [found, is_new] = known_.try_emplace(std::move(key));
  if (is_new) {
    for (const Medium medium : all_media) add_kernels(medium, found->first, found->second);
  }
  return found->second;
}

void EncoderPricer::add_kernels(Medium medium, std::span<const MediaPatches> items,
                                EncoderPrice& price) const {
  const std::vector<MediaPatches> own = of_medium(medium, items);
  if (own.empty()) return;
  for (const KernelCall& call :
       encoder_kernels(*model_.encoder(medium), layout_, execution_, own)) {
    const auto* collective = std::get_if<Collective>(&call.kernel);
    const Prediction one = collective != nullptr ? price_communication(*collective, links_, comm_)
                                                 : predictor_.predict(call.kernel);
    price.time += one.time * call.calls;
    price.time_by[static_cast<std::size_t>(medium)] += one.time * call.calls;
    price.launches += call.calls;
    price.by_origin[static_cast<std::size_t>(one.origin)] += call.calls;
  }
}

void EncoderPricer::add(const EncoderPrice& price) {
  total_.time += price.time;
  for (std::size_t i = 0; i < total_.time_by.size(); ++i) total_.time_by[i] += price.time_by[i];
  for (std::size_t i = 0; i < total_.by_origin.size(); ++i)
    total_.by_origin[i] += price.by_origin[i];
}

void EncoderPricer::add_to(PriceTotals& totals) const {
  for (const Medium medium : all_media) {
    const Seconds time = total_.time_by[static_cast<std::size_t>(medium)];
    if (time == Seconds(0.0)) continue;
    const std::string_view family = encoder_family(medium);
    const auto known =
        std::ranges::find(totals.time_by, family, &std::pair<std::string_view, Seconds>::first);
    if (known != totals.time_by.end()) {
      known->second += time;
    } else {
      totals.time_by.emplace_back(family, time);
    }
  }
  if (total_.time == Seconds(0.0)) return;
  for (std::size_t i = 0; i < total_.by_origin.size(); ++i)
    totals.launches_by_origin[i] += total_.by_origin[i];
}

}  // namespace foretoken
