// A path in a file starts at the file's folder, one on the command line where the user stands.
#include "sim/base/named_path.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(NamedPath, StartsAtTheFolderOfTheFile) {
  EXPECT_EQ(named_path("gpus/x.toml", {"chat/s.toml", 3, 1}, "chat"), "chat/gpus/x.toml");
  EXPECT_EQ(named_path("/gpus/x.toml", {"chat/s.toml", 3, 1}, "chat"), "/gpus/x.toml");
}

TEST(NamedPath, StartsWhereTheUserStandsOnTheCommandLine) {
  EXPECT_EQ(named_path("gpus/x.toml", {"--set cluster.name=gpus/x.toml"}, "chat"), "gpus/x.toml");
  EXPECT_EQ(named_path("gpus/x.toml", {"--clusters"}, "chat"), "gpus/x.toml");
}

}  // namespace
}  // namespace foretoken
