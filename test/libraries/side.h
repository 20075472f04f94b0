// What the program and the plugin do with the pools. Both compile this file, and whoever calls a function of a side runs that
// side's code.
#ifndef TARN_TEST_LIBRARIES_SIDE_H_
#define TARN_TEST_LIBRARIES_SIDE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tarn/test/libraries/pools.h"

namespace tarn::test {

struct side {
  std::array<const void*, static_pools> instance;  // of each static pool, as the side sees it
  void* (*allocate)(std::size_t pool);
  void (*deallocate)(std::size_t pool, void* block);
  bool (*owns)(std::size_t pool, const void* block);
};

// Not in a named namespace: the two sides' functions must stay two.
namespace {

std::uint64_t word_of(const void* block, std::uint64_t salt, std::size_t i) noexcept {
  return (reinterpret_cast<std::uintptr_t>(block) + i) * 0x9E3779B97F4A7C15u ^ salt;
}
void write_stamp(void* block, std::uint64_t salt) noexcept {
  for (std::size_t i = 0; i != block_bytes / 8; ++i) static_cast<std::uint64_t*>(block)[i] = word_of(block, salt, i);
}
bool has_stamp(const void* block, std::uint64_t salt) noexcept {
  for (std::size_t i = 0; i != block_bytes / 8; ++i)
    if (static_cast<const std::uint64_t*>(block)[i] != word_of(block, salt, i)) return false;
  return true;
}

template <class Do>
decltype(auto) with_static(std::size_t pool, Do action) {
  switch (pool) {
    case 0: return action(locked::instance());
    case 1: return action(cached::instance());
    case 2: return action(in_array::instance());
    default: return action(node::memory_pool());
  }
}

side this_side() {
  return {{&locked::instance(), &cached::instance(), &in_array::instance(), &node::memory_pool()},
          [](std::size_t pool) { return with_static(pool, [](auto& p) { return p.try_allocate(); }); },
          [](std::size_t pool, void* block) { with_static(pool, [=](auto& p) { p.deallocate(block); }); },
          [](std::size_t pool, const void* block) { return with_static(pool, [=](auto& p) { return p.owns(block); }); }};
}

/// A global object of either side: it holds a block of every static pool from before main(), or from dlopen(), to the end.
struct holder {
  std::array<void*, static_pools> blocks;
  holder() {
    for (std::size_t i = 0; i != static_pools; ++i) {
      blocks[i] = with_static(i, [](auto& p) { return p.try_allocate(); });
      write_stamp(blocks[i], i);
    }
  }
  ~holder() {
    for (std::size_t i = 0; i != static_pools; ++i) {
      if (!has_stamp(blocks[i], i)) std::abort();
      with_static(i, [&](auto& p) { p.deallocate(blocks[i]); });
    }
  }
} from_start_to_end;

/// Pools of types that the other side hasn't: all that they need is this side's own. The static one has a free chunk, for which
/// the program asks when the plugin is gone.
template <std::size_t Bytes>
struct own_pools {
  pool<static_size<Bytes>, mutex_locking<>> locked;
  pool<static_size<Bytes>, thread_cached<>> cached;
  std::array<void*, 2> blocks{locked.try_allocate(), cached.try_allocate()};
  own_pools() {
    auto& asked = static_pool<own_pools, static_size<Bytes>, mutex_locking<>, reclaim_and_retry<>>::instance();
    asked.deallocate(asked.try_allocate());
  }
  ~own_pools() {
    locked.deallocate(blocks[0]);
    cached.deallocate(blocks[1]);
  }
};

}  // namespace
}  // namespace tarn::test

#endif  // TARN_TEST_LIBRARIES_SIDE_H_
