// What the program and the plugin do with the pools. Both compile this file, and whoever calls a function of a side runs that
// side's code.
#ifndef TARN_TEST_LIBRARIES_SIDE_H_
#define TARN_TEST_LIBRARIES_SIDE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <tuple>

#include "tarn/test/libraries/blocks.h"
#include "tarn/test/libraries/pools.h"

namespace tarn::test {

struct side {
  std::array<const void*, static_pools> instance;  // of each static pool, as the side sees it
  void* (*allocate)(std::size_t pool);
  void (*deallocate)(std::size_t pool, void* block);
  bool (*owns)(std::size_t pool, const void* block);
  void (*churn)(std::size_t kind, void* object, board& b, std::uint64_t thread);  // uses a pool of object_pools
  void (*take)(std::size_t kind, void* object, std::span<void*> blocks);
  void (*give_back)(std::size_t kind, void* object, std::span<void* const> blocks);
};

// Not in a named namespace: the two sides' functions must stay two.
namespace {

template <class Do>
decltype(auto) with_static(std::size_t pool, Do action) {
  switch (pool) {
    case 0: return action(locked::instance());
    case 1: return action(cached::instance());
    case 2: return action(in_array::instance());
    default: return action(node::memory_pool());
  }
}

template <std::size_t Kind = 0, class Do>
void with_object(std::size_t kind, void* object, Do action) {
  if (kind == Kind) return action(*static_cast<std::tuple_element_t<Kind, object_pools>*>(object));
  if constexpr (Kind + 1 != std::tuple_size_v<object_pools>) with_object<Kind + 1>(kind, object, action);
}

side this_side() {
  return {{&locked::instance(), &cached::instance(), &in_array::instance(), &node::memory_pool()},
          [](std::size_t pool) { return with_static(pool, [](auto& p) { return p.try_allocate(); }); },
          [](std::size_t pool, void* block) { with_static(pool, [=](auto& p) { p.deallocate(block); }); },
          [](std::size_t pool, const void* block) { return with_static(pool, [=](auto& p) { return p.owns(block); }); },
#if defined(WITH_MACROS)  // which pools that are objects have nothing to do with
          nullptr, nullptr, nullptr};
#else
          [](std::size_t kind, void* object, board& b, std::uint64_t thread) {
            with_object(kind, object, [&](auto& p) { test::churn(p, b, thread); });
          },
          [](std::size_t kind, void* object, std::span<void*> blocks) {
            with_object(kind, object, [&](auto& p) { for (void*& block : blocks) block = p.try_allocate(); });
          },
          [](std::size_t kind, void* object, std::span<void* const> blocks) {
            with_object(kind, object, [&](auto& p) { p.deallocate_batch(blocks); });
          }};
#endif
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
