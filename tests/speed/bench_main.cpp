#include <benchmark/benchmark.h>

#include "sim/base/huge_pages.hpp"

int main(int argc, char** argv) {
  foretoken::use_huge_pages();  // as the program does
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
