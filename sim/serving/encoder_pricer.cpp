#include "sim/serving/encoder_pricer.hpp"

#include <algorithm>

#include "kernels/communication/communication_price.hpp"

namespace foretoken {

EncoderPrice EncoderPricer::price(std::span<const ImagePatches> images) {
  std::vector<ImagePatches> key(images.begin(), images.end());
  std::ranges::sort(key);
  const auto [found, is_new] = known_.try_emplace(std::move(key));
  EncoderPrice& price = found->second;
  if (!is_new) return price;
  for (const KernelCall& call : encoder_kernels(vision_, layout_, execution_, found->first)) {
    const auto* collective = std::get_if<Collective>(&call.kernel);
    const Prediction one = collective != nullptr ? price_communication(*collective, links_, comm_)
                                                 : predictor_.predict(call.kernel);
    price.time += one.time * call.calls;
    price.launches += call.calls;
    price.by_origin[static_cast<std::size_t>(one.origin)] += call.calls;
  }
  return price;
}

void EncoderPricer::add(const EncoderPrice& price) {
  total_.time += price.time;
  for (std::size_t i = 0; i < total_.by_origin.size(); ++i)
    total_.by_origin[i] += price.by_origin[i];
}

void EncoderPricer::add_to(PriceTotals& totals) const {
  if (total_.time == Seconds(0.0)) return;
  constexpr std::string_view family = "encoder";
  const auto known =
      std::ranges::find(totals.time_by, family, &std::pair<std::string_view, Seconds>::first);
  if (known != totals.time_by.end()) {
    known->second += total_.time;
  } else {
    totals.time_by.emplace_back(family, total_.time);
  }
  for (std::size_t i = 0; i < total_.by_origin.size(); ++i)
    totals.launches_by_origin[i] += total_.by_origin[i];
}

}  // namespace foretoken
