// The tested compositions: together they hold every legal pair of policies (compositions_test.cc proves it). They follow from
// kinds.h: cover.inc is written by test/support/write_cover.py.
#ifndef TARN_TEST_SUPPORT_COMPOSITIONS_H_
#define TARN_TEST_SUPPORT_COMPOSITIONS_H_

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tarn/allocator/pool.h"
#include "tarn/test/support/kinds.h"

namespace tarn::test {

template <class Nothing, class... Pools>
using all_but_first = std::tuple<Pools...>;

// Each row is one pool. A shard of the rows can be compiled alone: TARN_SHARD of TARN_SHARDS.
#define ROW(path, ...) , pool<__VA_ARGS__>
using compositions = all_but_first<void
#include "tarn/test/support/cover.inc"
                                   >;
#undef ROW

#if !defined(TARN_SHARDS)
#define TARN_SHARDS 1
#define TARN_SHARD 0
#endif

template <class Tuple, class Indices>
struct pick;
template <class Tuple, std::size_t... I>
struct pick<Tuple, std::index_sequence<I...>> {
  using type = decltype(std::tuple_cat(
      std::declval<
          std::conditional_t<I % TARN_SHARDS == TARN_SHARD, std::tuple<std::type_identity<std::tuple_element_t<I, Tuple>>>,
                             std::tuple<>>>()...));
};

/// The rows of this shard, each as a std::type_identity, since a pool can't be passed around.
using shard = pick<compositions, std::make_index_sequence<std::tuple_size_v<compositions>>>::type;

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_COMPOSITIONS_H_
