// The timed loops. Each is a function of its own, not inlined and aligned, so that its speed doesn't depend on what stands
// around it, and reaches the allocator through a reference, as a program's objects are.
#ifndef TARN_BENCH_LOOPS_H_
#define TARN_BENCH_LOOPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tarn/bench/measure.h"

#define TARN_BENCH_LOOP [[gnu::noinline, gnu::aligned(64)]]

namespace tarn_bench {

/// An allocation whose first word is written, as every owner of a block does, and a free. After each the compiler forgets
/// all memory: otherwise it carries the pool's state from one to the next in a register, which no program's calls do. Always
/// inlined: in a large program the compiler does so for some columns and not for others.
template <class Column>
[[gnu::always_inline]] inline void* take_block(Column& column, std::size_t value) {
  void* const block = column.take();
  *static_cast<std::size_t*>(block) = value;
  keep(block);
  return block;
}
template <class Column>
[[gnu::always_inline]] inline void free_block(Column& column, void* block) {
  column.give(block);
  benchmark::ClobberMemory();
}

/// An allocation and a free, one after the other.
template <class Column>
TARN_BENCH_LOOP void pairs(Column& column, std::size_t count) {
  for (; count != 0; --count) {
    free_block(column, take_block(column, count));
  }
}

/// A hundred allocations, then a hundred frees.
template <class Column>
TARN_BENCH_LOOP void hundreds(Column& column, std::size_t count) {
  std::array<void*, 100> blocks;
  for (; count != 0; --count) {
    for (void*& block : blocks) block = take_block(column, count);
    for (void* const block : blocks) free_block(column, block);
  }
}

/// Bursts of 64 frees and 64 allocations at random positions. Position i of a burst comes from the i-th part of `live`,
/// so none comes twice and no test for it is needed in the loop.
template <class Column>
TARN_BENCH_LOOP void churn(Column& column, std::vector<void*>& live, random_source& random, std::size_t bursts) {
  constexpr std::size_t burst = 64;
  const std::size_t part = live.size() / burst;
  std::array<void**, burst> places;
  for (; bursts != 0; --bursts) {
    void** start = live.data();
    for (void**& place : places) {
      place = start + random.below(part);
      free_block(column, *place);
      start += part;
    }
    for (void** const place : places) *place = take_block(column, bursts);
  }
}

/// A free and an allocation at a random position.
template <class Column>
TARN_BENCH_LOOP void replace(Column& column, std::vector<void*>& live, random_source& random, std::size_t count) {
  for (; count != 0; --count) {
    void*& place = live[random.below(live.size())];
    free_block(column, place);
    place = take_block(column, count);
  }
}

/// Allocates a block for each element of `live`.
template <class Column>
TARN_BENCH_LOOP void fill(Column& column, std::span<void*> live) {
  for (void*& place : live) place = take_block(column, live.size());
}

/// Frees the blocks of `live` in the order of the elements.
template <class Column>
TARN_BENCH_LOOP void empty(Column& column, std::span<void* const> live) {
  for (void* const block : live) free_block(column, block);
}

}  // namespace tarn_bench

#endif  // TARN_BENCH_LOOPS_H_
