// The store of the stress tests: it records what is asked of it, by whom and beside whom, and can be made to wait or refuse.
#ifndef TARN_TEST_STRESS_LEDGER_STORE_H_
#define TARN_TEST_STRESS_LEDGER_STORE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/store.h"

namespace tarn::test {

/// What threads have done so far: a number for each, so that counting makes nobody wait.
class progress {
 public:
  static constexpr std::size_t most_threads = 64;  // further ones share

  void note(std::size_t thread) noexcept { done_[thread % most_threads].count.fetch_add(1, std::memory_order_relaxed); }
  std::size_t sum() const noexcept {
    std::size_t all = 0;
    for (const auto& one : done_) all += one.count.load(std::memory_order_relaxed);
    return all;
  }

 private:
  struct alignas(64) line {
    std::atomic<std::size_t> count{0};
  };
  std::array<line, most_threads> done_;
};

/// What the stores of all pools were asked for. Relaxed, so that it orders nothing that the pools forget to order.
struct ledger {
  std::atomic<std::size_t> regions{0};  // given
  std::atomic<std::size_t> bytes{0};  // outstanding
  std::atomic<std::size_t> overlaps{0};  // calls that began while another call of the same pool's store was under way
  std::atomic<std::size_t> beside_others{0};  // calls during which other threads used pools
  std::atomic<std::size_t> waited{0};  // calls that found the gate closed
  std::atomic<bool> closed{false};  // calls wait
  std::atomic<bool> refuses{false};  // further regions
  std::atomic<bool> alone{false};  // in a child of fork: nobody to yield to, and a yield is long on a busy machine
  progress work;  // of all threads that use pools
};
inline constinit ledger books;

struct ledger_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};

  template <class Traits>
  class source : heap_store::source<Traits> {
    using base = heap_store::source<Traits>;

   public:
    constexpr explicit source(const ledger_store&) noexcept : base(heap_store{}) {}

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      const visit v(*this);
      if (books.refuses.load(std::memory_order_relaxed)) return {};
      const detail::memory region = base::acquire(bytes, alignment);
      if (!region) return {};
      std::memset(region.start, 0x5A, region.bytes);  // not what a block in use holds
      books.regions.fetch_add(1, std::memory_order_relaxed);
      books.bytes.fetch_add(region.bytes, std::memory_order_relaxed);
      return region;
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      const visit v(*this);
      books.bytes.fetch_sub(region.bytes, std::memory_order_relaxed);
      base::release(region, alignment);
    }

   private:
    class visit {
     public:
      explicit visit(source& s) noexcept : source_(s), before_(books.work.sum()) {
        if (s.inside_.exchange(true, std::memory_order_relaxed)) ++books.overlaps;
        ++s.calls_;
        if (!books.alone.load(std::memory_order_relaxed)) std::this_thread::yield();
        if (!books.closed.load(std::memory_order_relaxed)) return;
        ++books.waited;
        while (books.closed.load(std::memory_order_relaxed)) std::this_thread::yield();
      }
      ~visit() {
        if (books.work.sum() != before_) books.beside_others.fetch_add(1, std::memory_order_relaxed);
        source_.inside_.store(false, std::memory_order_relaxed);
      }
      visit(const visit&) = delete;
      visit& operator=(const visit&) = delete;

     private:
      source& source_;
      std::size_t before_;
    };

    std::atomic<bool> inside_{false};
    std::size_t calls_ = 0;  // plain: calls that nothing orders are a data race
  };
};

/// Asks `handler` when the store refuses. It runs with nothing held, so it may use the pool.
struct asking_exhaustion {
  using axis = tarn::axis::exhaustion;
  static constexpr tarn::exhaustion_traits traits{};
  static inline std::atomic<bool (*)() noexcept> handler{nullptr};

  template <class Traits>
  struct state {
    constexpr explicit state(const asking_exhaustion&) noexcept {}
    bool retry(std::size_t) noexcept {
      const auto ask = handler.load();
      return ask != nullptr && ask();
    }
    constexpr detail::chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept { return {}; }
    constexpr detail::memory acquire(std::size_t, std::size_t) noexcept { return {}; }
    constexpr void release(detail::memory, std::size_t) noexcept {}
  };
};

}  // namespace tarn::test

#endif  // TARN_TEST_STRESS_LEDGER_STORE_H_
