// A pool of a row of pools.h behind virtual functions, with the memory behind it, and what its policies promise.
#ifndef TARN_TEST_FUZZ_MADE_POOL_H_
#define TARN_TEST_FUZZ_MADE_POOL_H_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/fuzz/input.h"
#include "tarn/test/fuzz/pools.h"
#include "tarn/test/support/anatomy.h"
#include "tarn/test/support/any_pool.h"
#include "tarn/test/support/rig.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {

// ---- a store whose calls fail as the input says ----------------------------------------------------------------------------

/// Where the memory comes from, and which of the next calls fail.
struct scheduled_memory {
  test::upstream upstream;
  std::size_t grain = 1;  // regions are multiples of so many bytes, as page_store's are

  /// Of the next 16 calls those fail whose bit is set; then again, or none.
  void schedule(input& in) {
    calls_ = static_cast<std::uint16_t>(in.byte() | in.byte() << 8);
    const std::uint8_t how = in.byte();
    again_ = (how & 1) != 0;
    throws_ = (how & 2) != 0;
    call_ = 0;
  }
  void fail_for_ever() {
    calls_ = 0xFFFF;
    again_ = true;
    call_ = 0;
  }

  detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
    bytes = detail::round_up(bytes, grain);
    upstream.fail(1, next_fails() ? failing::once : failing::never);
    if (throws_) return resource().acquire(bytes, alignment);
    void* const start = upstream.try_allocate(bytes, alignment);
    return {start, start == nullptr ? 0 : bytes};
  }
  void release(detail::memory region, std::size_t alignment) noexcept { resource().release(region, alignment); }

 private:
  struct nothing {};
  resource_store::source<nothing> resource() noexcept { return resource_store::source<nothing>(resource_store{&upstream}); }
  bool next_fails() noexcept {
    if (call_ == 16) {
      if (!again_) return false;
      call_ = 0;
    }
    return (calls_ >> call_++ & 1) != 0;
  }

  std::uint16_t calls_ = 0;
  unsigned call_ = 0;
  bool again_ = false;
  bool throws_ = false;  // what fails throws, through resource_store; else it returns null
};

class scheduled_store {
 public:
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};

  constexpr explicit scheduled_store(scheduled_memory* from) noexcept : from_(from) {}

  template <class Traits>
  class source {
   public:
    constexpr explicit source(const scheduled_store& store) noexcept : from_(store.from_) {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept { return from_->acquire(bytes, alignment); }
    void release(detail::memory region, std::size_t alignment) noexcept { from_->release(region, alignment); }

   private:
    scheduled_memory* from_;
  };

 private:
  scheduled_memory* from_;
};

// ---- pools -----------------------------------------------------------------------------------------------------------------

/// What follows from a pool's policies.
struct promises {
  bool never_ends = false;      // growth has no end
  std::size_t beside = 0;       // blocks that lie in no chunk, and need no store; batches get none of them
  bool is_bounded = false;      // its capacity is what it is from the start
  bool returns_chunks = false;  // also on its own
  bool keeps_blocks = false;    // with each thread
  bool is_shared = false;       // by threads
  bool reclaims = false;        // it may be asked to trim
};

template <class Pool>
struct promises_of {
  using is = facts<Pool>;
  using locking = typename is::locking;
  static constexpr bool takes_turns = std::same_as<locking, no_locking> || std::same_as<locking, grouped_locking<crew>>;
  static constexpr promises value{
      .never_ends = !is::store::traits.bounded && typename is::growth{}.next_chunk(1, std::size_t{1} << 24, 64).wanted != 0,
      .beside = is::beside,
      .is_bounded = is::store::traits.bounded && is::exhaustion::traits.extra_chunks == 0,
      .returns_chunks = is::returns_chunks,
      .keeps_blocks = is::keeps_blocks,
      .is_shared = !takes_turns,
      .reclaims = is::exhaustion::traits.reclaims};
};

/// The pool is made last and ends first.
struct made_pool {
  made_pool() = default;
  made_pool(const made_pool&) = delete;
  made_pool& operator=(const made_pool&) = delete;

  test::upstream upstream;        // of a pool over a resource
  std::vector<std::byte> buffer;  // of a pool over one
  scheduled_memory first;         // of a pool over scheduled stores
  scheduled_memory second;
  promises says;
  std::unique_ptr<any_pool> pool;

  /// What failed on purpose.
  std::size_t injected() const { return first.upstream.failures() + second.upstream.failures(); }

  /// Ends the pool. Nothing of what it took stays, or was given back otherwise than it was taken.
  void end() {
    pool.reset();
    for (const test::upstream* const memory : {&upstream, &first.upstream, &second.upstream}) {
      must(memory->bytes() == 0, "memory that a pool didn't give back");
      must(memory->faults() == 0, "memory that was given back otherwise than it was taken");
    }
  }
};

/// Block size and alignment from the input.
inline dynamic_size size_from(input& in) {
  const std::size_t bytes = 1 + in.below(256);
  return dynamic_size{bytes, in.power_of_two(9)};
}

template <class Pool, class... Given>
void make(made_pool& m, input& in, const Given&... given) {
  if constexpr (facts<Pool>::size::traits.at_run_time) m.pool = std::make_unique<erased<Pool>>(size_from(in), given...);
  else m.pool = std::make_unique<erased<Pool>>(given...);
}

/// A row of pools.h as it is.
template <class Row>
struct as_it_is {
  static constexpr bool exists = true;
  static void make(made_pool& m, input& in) {
    using store = typename facts<Row>::store;
    m.says = promises_of<Row>::value;
    if constexpr (std::same_as<store, buffer_store>) {
      m.buffer.resize(in.below(16 * 1024));
      const std::size_t skipped = in.below(64);  // a start that isn't aligned
      test::make<Row>(m, in, buffer_store{std::span(m.buffer).subspan(std::min(skipped, m.buffer.size()))});
    } else if constexpr (std::same_as<store, resource_store>) {
      test::make<Row>(m, in, resource_store{&m.upstream});
    } else {
      test::make<Row>(m, in);
    }
  }
};

/// A row over stores that fail when they are told to. Not of a bounded store: it has no calls that could.
template <class Row>
struct over_schedule {
  using is = facts<Row>;
  static constexpr bool exists = !is::store::traits.bounded;
  static void make(made_pool& m, input& in) {
    using own = second<typename is::exhaustion>;
    using row = with_exhaustion<with_store<Row, scheduled_store>, typename own::type>;
    m.says = promises_of<row>::value;
    m.first.grain = m.second.grain = is::whole_pages ? 4096 : 1;
    if constexpr (own::type::traits.extra_chunks != 0)
      test::make<row>(m, in, scheduled_store(&m.first), typename own::type(scheduled_store(&m.second)));
    else test::make<row>(m, in, scheduled_store(&m.first));
  }

 private:
  template <class E>
  struct second {
    using type = E;
  };
  template <class S, class G>
  struct second<fall_back_to<S, G>> {
    using type = fall_back_to<scheduled_store, G>;
  };
};

/// The pool of a row that the input names.
template <template <class> class How>
class pools_of {
 public:
  static void make(made_pool& m, input& in) {
    constexpr auto all = makers(static_cast<fuzzed_pools*>(nullptr));
    all[row(in.byte() % most, all.size())](m, in);
  }

 private:
  static constexpr std::size_t most = 64;

  /// As in linear hashing (Litwin, 1980): another row takes numbers over from one only, and what was saved goes on to name the
  /// pools that it was saved for.
  static constexpr std::size_t row(std::size_t number, std::size_t rows) {
    for (std::size_t half = most / 2; number >= rows; half /= 2)
      if (number >= half) number -= half;
    return number;
  }

  using maker = void (*)(made_pool&, input&);
  template <class... Row>
  static constexpr auto makers(std::tuple<Row...>*) {
    std::array<maker, (... + How<Row>::exists)> all{};
    static_assert(all.size() <= most);
    std::size_t n = 0;
    ((How<Row>::exists ? void(all[n++] = &maker_of<Row>) : void()), ...);
    return all;
  }
  template <class Row>
  static void maker_of(made_pool& m, input& in) {
    if constexpr (How<Row>::exists) How<Row>::make(m, in);
  }
};

}  // namespace tarn::test

#endif  // TARN_TEST_FUZZ_MADE_POOL_H_
