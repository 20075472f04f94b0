// A small pool against which the concept of each axis probes a policy, so that a missing member is named there and
// not deep inside the pool.
#ifndef TARN_POLICIES_DETAIL_STAND_IN_H_
#define TARN_POLICIES_DETAIL_STAND_IN_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn::detail {

struct stand_in_size {
  static constexpr bool at_run_time = false;
  static constexpr std::size_t bytes() noexcept { return 64; }
  static constexpr std::size_t alignment() noexcept { return 16; }
};

struct stand_in_traits {
  bool hides_links = false;
  bool one_thread = false;
  bool has_owner = false;
};

struct stand_in {
  using geometry = detail::geometry<stand_in_size, block_shape{16, 8}>;
  template <class T>
  using cell = T;
  struct chunk {
    std::byte* first = nullptr;
    std::size_t blocks = 0;
    std::size_t carved = 0;
    chunk* next = nullptr;
  };
  struct layout {
    static constexpr std::size_t bytes(std::size_t blocks, const geometry& g) noexcept { return g.extent(blocks); }
  };
  static constexpr std::size_t max_chunks = 1;
  static constexpr bool one_chunk = true;
  static constexpr bool in_place = false;
  static constexpr bool finds_chunks = false;
  struct checking {
    static constexpr stand_in_traits traits{};
  };
  struct locking {
    static constexpr stand_in_traits traits{};
  };

  /// What reuse and checking policies see of the chunks.
  struct chunks {
    using traits = stand_in;
    stand_in::geometry geometry() const noexcept { return {}; }
    std::size_t carve(void** out, std::size_t n) noexcept { return out == nullptr ? n : 0; }
    std::size_t capacity() const noexcept { return 0; }
    template <class List>
    void adopt(chunk&, List&) noexcept {}
  };
  /// What a locking policy sees of the pool.
  struct list {
    void* pop(chunks&) noexcept { return nullptr; }
    void* pop_slow(chunks&) noexcept { return nullptr; }
    outcome push(chunks&, void*) noexcept { return outcome::done; }
    outcome make_room(chunks&) noexcept { return outcome::done; }
    std::size_t pop_batch(chunks&, void**, std::size_t) noexcept { return 0; }
    outcome push_batch(chunks&, void* const*, std::size_t) noexcept { return outcome::done; }
  };
  struct pool {
    using traits = stand_in;
    stand_in::list list;
    stand_in::chunks chunks;
  };
};

/// Takes blocks out of a list that is drained.
struct taker {
  void operator()(void*) const noexcept {}
};

/// What an axis keeps for each chunk.
template <class C>
concept column = std::default_initializable<C> && requires(C& c, std::byte* start, std::size_t n, stand_in::geometry geometry) {
  { C::column_bytes(n, geometry) } noexcept -> std::same_as<std::size_t>;
  { c.open(start, n, geometry) } noexcept -> std::same_as<void>;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_STAND_IN_H_
