// Blocks that a pool reserves for a thread that must neither fail nor wait:
//
//   auto r = pool.reserve_blocks(100);  // all of them, with their pages in memory, or std::bad_alloc
//   void* block = r.allocate();         // 100 times: no lock, no call of the store or the system, no page fault
//   pool.deallocate(block);             // as any other block
//
// The pool counts and reports them as blocks in use. Unused ones are freed when the reservation is destroyed.
#ifndef TARN_ALLOCATOR_BLOCK_RESERVATION_H_
#define TARN_ALLOCATOR_BLOCK_RESERVATION_H_

#include <cstddef>

#include "tarn/allocator/detail/pool/events.h"
#include "tarn/allocator/detail/pool/growth.h"
#include "tarn/allocator/detail/pool/locks.h"
#include "tarn/allocator/detail/pool/members.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/pages.h"

namespace tarn {

/// What reserve_blocks() and try_reserve_blocks() return: `decltype(pool)::reservation`. Its destructor frees the blocks that
/// are left. It can be moved, even to another thread. It must be destroyed before the pool, and before its release(), in a
/// thread that may free blocks.
template <class Members>
class [[nodiscard("tarn: a discarded reservation is released immediately")]] block_reservation {
  using state = typename Members::state;
  using traits = typename state::traits;
  using path = typename Members::path;
  using slow = typename Members::slow;
  using attempt = detail::attempt_at<state>;
  using words = detail::free_words<typename traits::chunks>;
  static constexpr std::size_t batch = 64;

 public:
  /// No reservation.
  constexpr block_reservation() noexcept = default;
  /// Takes the blocks of `other`, which is then no reservation.
  block_reservation(block_reservation&& other) noexcept { become(other); }
  /// Frees the blocks that are left, and takes those of `other`. Returns this reservation.
  block_reservation& operator=(block_reservation&& other) noexcept {
    if (this == detail::pointer_to(other)) return *this;
    give_back();
    become(other);
    return *this;
  }
  ~block_reservation() { give_back(); }

  /// Whether the pool granted it, even if all its blocks are used.
  constexpr explicit operator bool() const noexcept { return pool_ != nullptr; }
  /// Returns how many blocks are left.
  constexpr std::size_t remaining() const noexcept { return number_; }

  /// Returns a block, as the pool's allocate() does; null if none is left. If a checking policy reports something wrong with
  /// the block, the reservation may have fewer blocks left.
  [[nodiscard("tarn: a discarded block is leaked")]] void* allocate() noexcept {
    if (first_ == nullptr) [[unlikely]] return nullptr;
    if constexpr (Members::refuses) return allocate_checked();
    void* const block = leave();
    detail::open_block(pool_->state_, block);
    return block;
  }

 private:
  friend Members;

  /// Empty, and converts to false, if not all `n` blocks are available.
  block_reservation(Members& pool, std::size_t n) noexcept : pool_(detail::pointer_to(pool)) {
    if (take_all(n)) return;
    give_back();
    pool_ = nullptr;
  }

  void become(block_reservation& other) noexcept {
    pool_ = detail::replace(other.pool_, nullptr);
    first_ = detail::replace(other.first_, nullptr);
    number_ = detail::replace(other.number_, 0);
  }

  // ---- taking --------------------------------------------------------------------------------------------------------------

  bool take_all(std::size_t n) noexcept {
    state& s = pool_->state_;
    if (!path::admits_caller(s) || s.chunks.geometry().extent(n) > detail::size_limit) return false;
    attempt one;
    for (void* last = nullptr; number_ != n;) {
      void* some[batch];
      const std::size_t got = take(s, {some, detail::smaller(batch, n - number_)}, n - number_, one);
      if (got == 0) return false;
      if (!come_into_memory(s, {some, got})) {
        pool_->deallocate_batch({some, got});
        return false;
      }
      last = link(s, last, {some, got});
    }
    return true;
  }

  /// As in the pool's slow path, but if the pool must grow, it grows by all missing blocks in one step, or not at all. Returns
  /// how many blocks it put into `out`; 0: there are no more.
  static std::size_t take(state& s, span<void*> out, std::size_t missing, attempt& one) noexcept {
    const std::size_t got = path::take_batch(s, out);
    if (got != 0) return got;
    void* block = path::take_slow(s);
    if (block == nullptr) {
      // It doesn't wait for blocks, because two that wait for each other's would both wait in vain.
      constexpr bool retries = !traits::hears_frees && !traits::waits;
      typename slow::search its{one};
      block = slow::template take_cold<retries, true>(s, its, missing);
      if (block == nullptr) detail::on_refusal(s);
      slow::end(s, its);
      if (block == nullptr) return 0;
    }
    if (s.locking.starves()) detail::feed(s);
    detail::report_pending(s);
    out[0] = block;
    return 1;
  }

  /// Brings the pages of the blocks into memory: neighbours together, and not those of a run that one write brings in. Returns
  /// false if the system refuses memory.
  static bool come_into_memory(state& s, span<void*> blocks) noexcept {
    const std::size_t bytes = s.chunks.geometry().block_size();
    const std::size_t page = detail::page_memory::page_bytes();
    std::byte* start = nullptr;
    std::byte* end = nullptr;
    const auto fill = [&] {
      return static_cast<std::size_t>(end - start) <= page ||
             detail::page_memory::fill(start, static_cast<std::size_t>(end - start));
    };
    for (void* const block : blocks) {
      std::byte* const first = static_cast<std::byte*>(block) - (detail::address_of(block) & (page - 1));
      const auto ahead = static_cast<std::size_t>(static_cast<std::byte*>(block) - first) + bytes;
      std::byte* const behind = first + detail::round_up(ahead, page);
      if (first <= end && start <= behind) {
        if (first < start) start = first;
        if (end < behind) end = behind;
      } else {
        if (!fill()) return false;
        start = first;
        end = behind;
      }
    }
    return fill();
  }
  /// Appends blocks to the list, behind `last`. Returns the last. Tools see them as free from now on.
  void* link(state& s, void* last, span<void*> blocks) noexcept {
    for (void* const block : blocks) {
      auto* const byte = static_cast<volatile unsigned char*>(block);
      *byte = *byte;  // its link may be on the page before
      detail::poison_block(s, block);
      if (last == nullptr) first_ = block;
      else words(s.chunks).write(last, 0, block);
      last = block;
    }
    words(s.chunks).write(last, 0, nullptr);
    number_ += blocks.size();
    return last;
  }

  // ---- handing out, and giving back ----------------------------------------------------------------------------------------

  void* leave() noexcept {
    void* const block = first_;
    first_ = words(pool_->state_.chunks).read(block, 0);
    --number_;
    return block;
  }
  TARN_NOINLINE void* allocate_checked() noexcept {
    state& s = pool_->state_;
    if (!path::admits_caller(s)) return nullptr;
    while (holds_first()) {
      void* const block = leave();
      detail::open_block(s, block);
      if (path::hand_on(s, block)) [[likely]] return block;
    }
    return nullptr;
  }
  /// Whether there is a first block. A checking policy must know it as in use. If it doesn't, other code freed it, released the
  /// pool or overwrote a link. That is reported, and the blocks after it are lost.
  bool holds_first() noexcept {
    if constexpr (Members::refuses) {
      state& s = pool_->state_;
      if (first_ == nullptr || is_in_use(s, first_)) [[likely]] return first_ != nullptr;
      static_cast<void>(path::admits(s, first_));
      first_ = nullptr;
      number_ = 0;
    }
    return first_ != nullptr;
  }
  static bool is_in_use(state& s, const void* block) noexcept {
    const detail::core_lock guard(s);
    const auto* const c = s.chunks.find(block);
    return c != nullptr && s.chunks.checking_column(*c).in_use(s.chunks.slot_of(*c, block));
  }
  void give_back() noexcept {
    if (first_ != nullptr && path::admits_caller(pool_->state_)) {
      while (holds_first()) {
        void* some[batch];
        std::size_t n = 0;
        do {
          detail::open_block(pool_->state_, some[n] = leave());
        } while (++n != batch && holds_first());
        pool_->deallocate_batch({some, n});
      }
    }
    first_ = nullptr;
    number_ = 0;
  }

  Members* pool_ = nullptr;
  void* first_ = nullptr;  // linked through the word in which a free list keeps its link
  std::size_t number_ = 0;
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_BLOCK_RESERVATION_H_
