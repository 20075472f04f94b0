// A pool's magazine_calls for the scheduler to explore: threads that start, take blocks, give their own or each other's back,
// and end. Slots, the depot and each block are used by one thread at a time, or the memory model says so; at the end each
// block, each magazine and each number is in one place, and nobody wrote to slot 0.
#ifndef TARN_TEST_SCHEDULE_MAGAZINE_WORLD_H_
#define TARN_TEST_SCHEDULE_MAGAZINE_WORLD_H_

#include <array>
#include <cstddef>
#include <iterator>

#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/size.h"
#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/process.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"

namespace tarn::test {

/// The pool behind the magazines, its list and its chunks in one: a heap of blocks, which are used under the guard only.
class heap {
 public:
  static constexpr std::size_t most = 96;
  static constexpr bool returns_chunks = false;
  struct block {
    alignas(16) std::byte bytes[16];
  };

  void set_up(const scheduled_mutex& guard, std::size_t blocks) noexcept {
    guard_ = &guard;
    capacity_ = blocks;
    for (std::size_t i = blocks; i != 0; --i) free_[size_++] = &memory_[i - 1];
  }
  detail::geometry<static_size<64>, detail::block_shape{16, 8}> geometry() const noexcept { return {}; }
  std::size_t capacity() const noexcept { return capacity_; }
  bool has_all() const noexcept {
    check();
    return size_ == capacity_;
  }
  std::size_t pop_batch(heap&, void** out, std::size_t n) noexcept {
    check();
    std::size_t got = 0;
    while (got != n && size_ != 0) out[got++] = free_[--size_];
    return got;
  }
  detail::status push_batch(heap&, void* const* in, std::size_t n) noexcept {
    check();
    for (std::size_t i = 0; i != n; ++i) {
      if (size_ == capacity_) the_scheduler.fail("more blocks are given back than there are");
      else free_[size_++] = in[i];
    }
    return detail::status::done;
  }

  static std::size_t number_of(const void* b) noexcept {
    const auto n = static_cast<std::size_t>(static_cast<const block*>(b) - memory_.data());
    if (n >= most) the_scheduler.fail("a block that never was");
    return n;
  }

 protected:
  void check() const noexcept {
    if (!guard_->is_mine()) the_scheduler.fail("the list is used without its guard");
  }

  static inline std::array<block, most> memory_;

  const scheduled_mutex* guard_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::array<void*, most> free_;
};

/// The same, giving chunks back: magazines become lean where more than three blocks lie in it.
class lean_heap : public heap {
 public:
  static constexpr bool returns_chunks = true;
  std::size_t front_capacity(const heap&) const noexcept {
    check();
    return size_ > 3 ? 1 : most;
  }
};

/// A thread's script is a word:
///
///   a  takes a block                      p  lays its oldest block where others find it
///   n  gives the newest of its own back   g  takes a block from there and gives it back to the pool
///   o  gives its oldest back              d  drain(), as for trim()
///   t  trim(): if all blocks are back then, what was supplied goes unless another thread has a part of it
///   x  its janitor's destructor runs: what follows is done by destructors that run later
///   ?  each of a, o and d is tried
struct magazine_script {
  std::array<const char*, 4> words;
  std::size_t blocks;
  std::array<const char*, 4> before = {};  // the same threads, one after the other before the schedule begins
  std::size_t memory = 4096;               // bytes for magazines, from the start
  for_each_thread<unsigned char> domains = {};
  std::size_t more_memory = 0;  // that the store has
  unsigned others = 0;          // so many numbers are held by threads that do nothing
};

template <class Types, std::size_t Largest = 0, class Heap = heap>
class magazine_world {
  using numbers = typename Types::numbers_type;
  using record = typename Types::record;
  using ends = local_to_thread<typename Types::janitor_type>;
  using magazine = typename Types::magazine_type;

 public:
  explicit magazine_world(const magazine_script& script) noexcept : script_(script), given_(script.memory) {
    numbers::renew();
    ends::renew();
    thread_key::renew();
    thread_records<record>.fill({});
    domain_of_thread = script.domains;
    owners_.fill(nobody);
    heap_.set_up(pool_.locking.guards_.hot_mutex(), script.blocks);
    the_scheduler.pretend(idle);
    for (unsigned i = 0; i != script.others; ++i) numbers::of_domain(0).take();
    if (given_ != 0) pool_.locking.supply(pool_, {memory_.data(), given_});
    for (unsigned i = 0; i != script.before.size(); ++i) {
      the_scheduler.pretend(i);
      if (script.before[i] != nullptr) follow(script.before[i]);
    }
    the_scheduler.pretend(scheduler::nobody);
    still = {&pool_.locking.slots_.slots_[threads_seen], std::end(pool_.locking.slots_.slots_)};
  }

  void run(unsigned thread) noexcept {
    follow(script_.words[thread]);
    if (has_ended_[thread]) end();  // a thread that enrolled only then
  }
  void finish() noexcept {
    const auto& zero = pool_.locking.slots_.slots_[0];
    if (zero.is_used() || zero.top != nullptr || zero.domain.peek() != nullptr) the_scheduler.fail("slot 0 is changed");
    look_at_numbers();
    look_at_magazines();
    the_scheduler.pretend(idle);
    pool_.locking.drain_all(pool_);
    look_at_blocks();
    the_scheduler.pretend(scheduler::nobody);
  }

 private:
  static constexpr unsigned nobody = scheduler::nobody;
  static constexpr unsigned idle = scheduler::most - 1;  // a thread that isn't scheduled
  static constexpr std::size_t threads_seen = scheduler::most + 1;  // slots
  struct traits {
    struct retention {
      static constexpr struct {
        bool returns_chunks;
      } traits{Heap::returns_chunks};
    };
  };
  struct hand {
    std::array<void*, heap::most> blocks;
    std::size_t size = 0;
  };

  // ---- what threads do, as pool_members has it ----------------------------------------------------------------------------

  void follow(const char* word) noexcept {
    for (; *word != '\0'; ++word) {
      const char op = *word != '?' ? *word : "aod"[the_scheduler.any_of(3)];
      hand& mine = hands_[the_scheduler.current()];
      switch (op) {
        case 'a': allocate(mine); break;
        case 'n': if (mine.size != 0) deallocate(mine.blocks[--mine.size]); break;
        case 'o': if (mine.size != 0) deallocate(oldest(mine)); break;
        case 'p': hand_over_.fetch_add(1); if (mine.size != 0) box_.blocks[box_.size++] = oldest(mine); break;
        case 'g': hand_over_.fetch_add(1); if (box_.size != 0) deallocate(oldest(box_)); break;
        case 'd': pool_.locking.drain(pool_); break;
        case 't': trim(); break;
        case 'x': end(); has_ended_[the_scheduler.current()] = true; break;
      }
    }
  }
  static void end() noexcept {
    ends::end();
    thread_key::end();
  }
  void allocate(hand& mine) noexcept {
    void* block = pool_.locking.pop(pool_);
    if (block == nullptr) {
      block = pool_.locking.pop_slow(pool_);
      if (pool_.locking.starves()) feed();
    }
    if (block == nullptr) return;
    unsigned& owner = owners_[heap::number_of(block)];
    if (owner != nobody) return the_scheduler.fail("a block is owned twice");
    owner = the_scheduler.current();
    the_memory.written(block);
    mine.blocks[mine.size++] = block;
  }
  void deallocate(void* block) noexcept {
    the_memory.written(block);
    owners_[heap::number_of(block)] = nobody;
    if (pool_.locking.push(pool_, block) == detail::status::done) return;
    pool_.locking.push_slow(pool_, block);
    if (pool_.locking.starves()) feed();
  }
  static void* oldest(hand& h) noexcept {
    void* const block = h.blocks[0];
    --h.size;
    for (std::size_t i = 0; i != h.size; ++i) h.blocks[i] = h.blocks[i + 1];
    return block;
  }

  void trim() noexcept {
    const auto growing = pool_.locking.growth_guard();
    pool_.locking.drain(pool_);
    const auto lock = pool_.locking.core_guard();
    if (!heap_.has_all() || !pool_.locking.forget_if_alone()) return;
    gone_ = given_;
  }
  void feed() noexcept {
    const auto growing = pool_.locking.try_growth_guard();
    if (!growing) return;
    while (const std::size_t bytes = pool_.locking.shortage(pool_, static_cast<const int*>(nullptr))) {
      const bool refused = given_ + bytes > script_.memory + script_.more_memory;
      pool_.locking.supply(pool_, refused ? detail::memory{} : detail::memory{memory_.data() + given_, bytes});
      if (refused) return;
      given_ += bytes;
    }
  }

  // ---- what must hold --------------------------------------------------------------------------------------------------

  void look_at_numbers() const noexcept {
    for (const unsigned domain : {0u, 1u})
      for (unsigned id = 1; id != numbers::count; ++id) {
        const unsigned holder = numbers::of_domain(domain).holder(id);
        if (holder != nobody && has_ended_[holder]) the_scheduler.fail("a thread that ended holds a number");
        if (holder != nobody && holder != idle && thread_records<record>[holder].id != id)
          the_scheduler.fail("a number is held for nobody");
      }
  }
  /// All memory for magazines is in slots, in the depot or in no magazine yet.
  void look_at_magazines() noexcept {
    std::size_t bytes = pool_.locking.depot_.left_.bytes;
    const auto add = [&bytes](const magazine* m) { bytes += m != nullptr ? magazine::bytes(m->size) : 0; };
    const auto add_list = [&add](const magazine* m) {
      for (int n = 0; m != nullptr && n != 100; m = m->next, ++n) add(m);
    };
    pool_.locking.slots_.each([&add](unsigned, const auto& s) {
      add(s.current);
      add(s.spare);
    });
    if (pool_.locking.slots_.far_[0].peek() != nullptr) bytes += 16 * sizeof pool_.locking.slots_.slots_[0];
    add_list(pool_.locking.depot_.full_);
    for (const magazine* const list : pool_.locking.depot_.empty_) add_list(list);
    if (bytes != given_ - gone_) the_scheduler.fail("a magazine is lost, or in two places");
  }
  /// All blocks are in the list, or somebody's.
  void look_at_blocks() noexcept {
    const auto lock = pool_.locking.core_guard();
    void* block = nullptr;
    for (std::size_t i = 0; i != script_.blocks && heap_.pop_batch(heap_, &block, 1) == 1; ++i) {
      unsigned& owner = owners_[heap::number_of(block)];
      if (owner != nobody) the_scheduler.fail("a block is free twice, or free and somebody's");
      owner = scheduler::most;
    }
    for (std::size_t i = 0; i != script_.blocks; ++i)
      if (owners_[i] == nobody) the_scheduler.fail("a block is lost");
  }

  alignas(64) static inline std::array<std::byte, 8192> memory_;

  Heap heap_;
  struct pool_type {
    using traits = typename magazine_world::traits;
    typename Types::template calls<scheduled_guards, Largest> locking;
    Heap& list;
    Heap& chunks;
  } pool_{{}, heap_, heap_};
  const magazine_script& script_;
  std::size_t given_;     // bytes
  std::size_t gone_ = 0;  // of these
  std::array<hand, scheduler::most> hands_;
  hand box_;
  scheduled_atomic<unsigned> hand_over_ = 0;  // orders who uses the box
  std::array<unsigned, heap::most> owners_;  // of each block
  for_each_thread<bool> has_ended_ = {};
};

}  // namespace tarn::test

#endif  // TARN_TEST_SCHEDULE_MAGAZINE_WORLD_H_
