// First-order time of one decode step's attention: each sequence has one query (or a few, where
// drafted tokens are verified: rows beside its query heads), and its cache is read once. Four
// things overlap: bytes (DRAM or L2), CTAs that queue for SMs, products and exponentials, and the
// chain of key blocks inside the longest CTA; fixed costs come on top. Internal to the attention
// families.
#pragma once

#include "kernels/estimators/attention_model.hpp"

namespace foretoken {

struct DecodeEstimate {
  // us
  double fixed = 0;
  double memory = 0;       // the cache and the queries, from where they lie
  double memory_cold = 0;  // all of it from DRAM
  double ctas = 0;         // starting CTAs one after another on an SM
  double math = 0;
  double chain = 0;  // key blocks that one CTA walks
  double split = 0;  // merging the parts of split sequences, and copies around the kernel
  double total = 0;
  double total_cold = 0;

  double working_set = 0;  // in L2 sizes
  double ctas_a_sm = 0;    // before sequences are split
  double splits = 1;       // parts a sequence
  double parts_a_slot = 0;
  double keys = 0;      // read a sequence, mean
  double row_fill = 0;  // of the 64 rows of a product
  bool has_window = false, reads_per_query_head = false, is_cuda_core = false;
  bool never_splits = false, copies_queries = false;
  Bound bound = Bound::launch;
};

DecodeEstimate estimate_decode(const Attention& kernel, const AttentionSetting& setting,
                               const GpuSpec& gpu);

}  // namespace foretoken
