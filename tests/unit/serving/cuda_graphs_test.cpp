// Which captured graph a step replays.

#include "sim/serving/cuda_graphs.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

BatchShape decodes(std::int64_t sequences) {
  BatchShape shape;
  shape.tokens = sequences;
  for (std::int64_t i = 0; i < sequences; ++i) shape.attention.decode.add({1, 100});
  return shape;
}

HostSettings captured(std::vector<int> sizes, bool with_prefill) {
  HostSettings host;
  host.cuda_graph_sizes = std::move(sizes);
  host.cuda_graph_prefill = with_prefill;
  return host;
}

TEST(CudaGraphs, ADecodeStepIsPaddedToTheNextSize) {
  const HostSettings graphs = captured({1, 2, 4, 8, 16}, false);
  EXPECT_EQ(replayed_tokens(graphs, decodes(1)), 1);
  EXPECT_EQ(replayed_tokens(graphs, decodes(3)), 4);
  EXPECT_EQ(replayed_tokens(graphs, decodes(8)), 8);
  EXPECT_EQ(replayed_tokens(graphs, decodes(9)), 16);
  EXPECT_EQ(replayed_tokens(graphs, decodes(17)), 0) << "launched kernel by kernel";
  EXPECT_EQ(replayed_tokens(HostSettings(), decodes(1)), 0);
  EXPECT_EQ(replayed_tokens(graphs, {}), 0) << "a rank without work";
}

TEST(CudaGraphs, PrefillReplaysPiecesWhereTheEngineCapturesThem) {
  BatchShape mixed = decodes(3);
  mixed.attention.prefill.add({7, 7});
  mixed.tokens += 7;
  EXPECT_EQ(replayed_tokens(captured({8, 16}, false), mixed), 0);
  EXPECT_EQ(replayed_tokens(captured({8, 16}, true), mixed), 16);
}

}  // namespace
}  // namespace foretoken
