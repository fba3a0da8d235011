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

TEST(CudaGraphs, ADecodeStepIsPaddedToTheNextSize) {
  const CudaGraphs graphs{{1, 2, 4, 8, 16}, false};
  EXPECT_EQ(graphs.replayed(decodes(1)), 1);
  EXPECT_EQ(graphs.replayed(decodes(3)), 4);
  EXPECT_EQ(graphs.replayed(decodes(8)), 8);
  EXPECT_EQ(graphs.replayed(decodes(9)), 16);
  EXPECT_EQ(graphs.replayed(decodes(17)), 0) << "launched kernel by kernel";
  EXPECT_EQ(CudaGraphs().replayed(decodes(1)), 0);
  EXPECT_EQ(graphs.replayed({}), 0) << "a rank without work";
}

TEST(CudaGraphs, PrefillReplaysPiecesWhereTheEngineCapturesThem) {
  BatchShape mixed = decodes(3);
  mixed.attention.prefill.add({7, 7});
  mixed.tokens += 7;
  EXPECT_EQ((CudaGraphs{{8, 16}, false}).replayed(mixed), 0);
  EXPECT_EQ((CudaGraphs{{8, 16}, true}).replayed(mixed), 16);
}

}  // namespace
}  // namespace foretoken
