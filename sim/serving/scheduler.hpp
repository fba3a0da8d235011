// The contract of every scheduler: which sequences run in the next step and with how many tokens
// each, under the engine's limits and the KV cache's blocks. It decides; it does not know time
// spent, links or prices.
#pragma once

#include <functional>
#include <memory>

#include "sim/base/registry.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/serving/batch.hpp"
#include "sim/serving/encoder_cache.hpp"
#include "sim/serving/kv_cache.hpp"
#include "sim/serving/settings/engine_limits.hpp"

namespace foretoken {

/// Which attention rank a new sequence goes to, the first among equals:
/// least_waiting  the fewest sequences, waiting ones counted fourfold (vLLM's DPLBAsyncMPClient)
/// fewest_tokens  ranks hold as many sequences, and of those with fewest the one with the fewest
///                prompt tokens takes it (TensorRT-LLM's DefaultADPRouter)
/// in_turn        one after the other; where prompts are computed apart, by a number drawn for the
///                request (SGLang's DataParallelController: round robin, or its bootstrap room)
enum class RankChoice { least_waiting, fewest_tokens, in_turn };

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// Whether the engine takes a request of this size, given that the KV cache can hold it.
  [[nodiscard]] virtual bool can_serve(const Sequence& sequence) const {
    (void)sequence;
    return true;
  }

  /// Whether it keeps to SchedulerLimits::adapters_max.
  [[nodiscard]] virtual bool minds_adapters() const { return false; }

  /// From now on no step takes tokens of an image that `cache` (null: there are no images) neither
  /// has nor can have encoded for it. Returns false if the scheduler knows nothing of images.
  virtual bool mind_media(EncoderCache* cache) { return cache == nullptr; }

  /// A new sequence waits. It must be able to fit the KV cache alone, and can_serve.
  virtual void enqueue(Sequence& sequence) = 0;

  /// A sequence that holds its KV blocks already, computed elsewhere, and lacks one token: it runs
  /// as soon as there is a slot, before all that wait for blocks.
  virtual void join(Sequence& sequence) = 0;
  /// Tokens that `sequence`, whose prompt is computed elsewhere, must hold blocks for to join.
  [[nodiscard]] virtual std::int64_t tokens_to_join(const Sequence& sequence) const = 0;

  /// Fills `batch` (empty on entry) with the next step and advances its sequences' `computed` and
  /// `steps_in_flight`. Leaves it empty when nothing can run now: nothing waits, or everything that
  /// runs is in flight. If no step is in flight and a sequence waits, it must not stay empty.
  virtual void next_batch(Seconds now, Batch& batch) = 0;

  /// Makes `batch`, which it filled last and whose step has ended, the next step: the same
  /// sequences, each a token further. Returns false and changes nothing where next_batch() might
  /// choose anything else.
  virtual bool repeat(Seconds now, Batch& batch) {
    (void)now, (void)batch;
    return false;
  }

  /// `sequence` has produced its last token or was given up: forget it and free its blocks. One
  /// that was given up may be anywhere, in steps in flight too; these go on without it.
  virtual void remove(Sequence& sequence) = 0;

  [[nodiscard]] virtual RankChoice rank_choice() const { return RankChoice::least_waiting; }
  /// Every so many steps prompts begin, and before that if every attention rank has one and a slot
  /// for it, or any has nothing to decode; 0 = in any step (TensorRT-LLM's PyExecutor,
  /// _balance_adp_requests: it counts the steps in which nobody waits, too).
  [[nodiscard]] virtual int rank_wait_steps() const { return 0; }
  /// No prompt begins in the steps to come until this is taken back.
  virtual void hold_prompts(bool is_held) { (void)is_held; }

  [[nodiscard]] virtual std::int64_t waiting() const = 0;
  /// Those of them that hold no blocks yet, or no more.
  [[nodiscard]] virtual std::int64_t waiting_for_blocks() const = 0;
  [[nodiscard]] virtual std::int64_t running() const = 0;
  /// How many more could run beside these and those that wait with blocks.
  [[nodiscard]] virtual std::int64_t free_slots() const = 0;
};

using SchedulerFactory = std::function<std::unique_ptr<Scheduler>(
    TableReader& options, const SchedulerLimits& limits, KvCache& cache)>;

/// The built-in schedulers (schedulers/catalog.cpp).
Registry<SchedulerFactory> scheduler_catalog();

}  // namespace foretoken
