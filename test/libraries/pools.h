// The static pools that a program and its plugin share. Both include this file.
#ifndef TARN_TEST_LIBRARIES_POOLS_H_
#define TARN_TEST_LIBRARIES_POOLS_H_

#include <array>
#include <cstddef>

#include "tarn/allocator/shared_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/locking.h"

namespace tarn::test {

inline constexpr std::size_t block_bytes = 64;

using locked = static_pool<struct locked_tag, static_size<block_bytes>, mutex_locking<>>;
using cached = static_pool<struct cached_tag, static_size<block_bytes>, thread_cached<>>;
using in_array = static_pool<struct in_array_tag, static_size<block_bytes>, static_array_store<256>>;

class node {
 public:
  std::array<std::byte, block_bytes> content;
  DECLARE_MEMORY_POOL(node)
};

}  // namespace tarn::test

#if defined(WITH_MACROS)
TARN_DECLARE_SHARED_POOL(tarn::test::locked);
TARN_DECLARE_SHARED_POOL(tarn::test::cached);
TARN_DECLARE_SHARED_POOL(tarn::test::in_array);
DECLARE_SHARED_MEMORY_POOL(tarn::test::node);
#endif

namespace tarn::test {

inline constexpr std::size_t static_pools = 4;

}  // namespace tarn::test

#endif  // TARN_TEST_LIBRARIES_POOLS_H_
