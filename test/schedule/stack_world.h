// A pool's stack_calls for the scheduler to explore: threads that take blocks, give them back and adopt fresh chunks. At the
// end each block is in one place.
#ifndef TARN_TEST_SCHEDULE_STACK_WORLD_H_
#define TARN_TEST_SCHEDULE_STACK_WORLD_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/lock_free.h"
#include "tarn/policies/size.h"
#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"

namespace tarn::test {

/// \tparam Head  the word of the stack
template <bool OneChunk, class Head = std::uint64_t>
struct stack_traits {
  using head = Head;
  using geometry = detail::geometry<static_size<64>, detail::block_shape{16, 8}>;
  struct chunk : detail::numbered_column<scheduled_atomic, detail::half_of<Head>> {
    watched<std::byte*> first = nullptr;
    watched<std::size_t> blocks = 0;
    std::size_t carved = 0;
    chunk* next = nullptr;
  };
  static constexpr bool one_chunk = OneChunk, may_grow_past_cap = false;
  static constexpr bool has_bounded_store = false, store_is_bounded = false, second_store_is_bounded = false;
};

/// The pool behind the stack: its list and its chunks in one. It carves, a few blocks at a time, under the guard only.
template <class Traits>
class carver {
 public:
  using chunk = typename Traits::chunk;

  void set_up(const scheduled_mutex& guard, std::size_t at_most, std::size_t chunks) noexcept {
    guard_ = &guard;
    at_most_ = at_most;
    left_ = chunks;
  }
  typename Traits::geometry geometry() const noexcept { return {}; }
  /// As chunks::next(): whether a further chunk may come.
  auto next(std::size_t, std::size_t) const noexcept {
    struct {
      std::size_t wanted;
    } const request{left_};
    return request;
  }
  void adopt(chunk& c, carver&) noexcept {
    check();
    --left_;
    c.next = first_;
    first_ = &c;
  }
  std::size_t pop_batch(carver&, void** out, std::size_t n) noexcept {
    check();
    const std::size_t wanted = std::min(n, at_most_);
    std::size_t got = 0;
    for (chunk* c = first_; c != nullptr; c = c->next)
      while (got != wanted && c->carved != c->blocks)
        out[got++] = c->first + geometry().distance(c->carved++) + geometry().offset();
    return got;
  }
  detail::status push_batch(carver&, void* const*, std::size_t) noexcept {
    the_scheduler.fail("a block came back to the list");
    return detail::status::done;
  }

 private:
  void check() const noexcept {
    if (!guard_->is_mine()) the_scheduler.fail("the list is used without its guard");
  }

  const scheduled_mutex* guard_ = nullptr;
  std::size_t at_most_ = 0;
  std::size_t left_ = 0;  // chunks that may still come
  chunk* first_ = nullptr;
};

/// A thread's script is a word: a takes a block, or adopts a chunk where none is free; n gives the newest of its own back, o
/// the oldest, c all of them at once; + adopts a chunk.
struct stack_script {
  std::array<const char*, 4> words;
  std::size_t chunks;     // at most
  std::size_t blocks;     // in each
  std::size_t at_most;    // blocks that the core carves at once
  std::size_t adopted;    // chunks before the schedule begins
  const char* before = "";  // what the first thread does before
};

template <class Types, bool OneChunk = false, class Head = std::uint64_t>
class stack_world {
  using traits = stack_traits<OneChunk, Head>;
  using chunk = typename traits::chunk;
  using link = typename chunk::link;

 public:
  explicit stack_world(const stack_script& script) noexcept : script_(script) {
    owners_.fill(nobody);
    carver_.set_up(pool_.locking.guards_.hot_mutex(), script.at_most, script.chunks);
    for (const char* word : script.words)
      for (; word != nullptr && *word != '\0'; ++word) takes_ += *word == 'a';
    for (const char* op = script.before; *op != '\0'; ++op) takes_ += *op == 'a';
    the_scheduler.pretend(0);
    while (adopted_ != script.adopted) grow();
    follow(script.before);
    the_scheduler.pretend(nobody);
  }

  void run(unsigned thread) noexcept { follow(script_.words[thread]); }
  void finish() noexcept {
    the_scheduler.pretend(scheduler::most - 1);
    for (std::size_t i = 0; i <= most; ++i) {
      void* const block = pool_.locking.pop_slow(pool_);
      if (block == nullptr) break;
      own(rest_, block);
    }
    the_scheduler.pretend(nobody);
    for (std::size_t i = 0; i != adopted_ * script_.blocks; ++i)
      if (owners_[i / script_.blocks * most_blocks + i % script_.blocks] == nobody) the_scheduler.fail("a block is lost");
  }

 private:
  static constexpr unsigned nobody = scheduler::nobody;
  static constexpr std::size_t most_chunks = 20;
  static constexpr std::size_t most_blocks = 8;  // in each
  static constexpr std::size_t most = most_chunks * most_blocks;
  static constexpr std::size_t chunk_bytes = 1024;
  struct hand {
    std::array<void*, most> blocks;
    std::size_t size = 0;
  };

  // ---- what threads do, as pool_members has it ----------------------------------------------------------------------------

  void follow(const char* word) noexcept {
    for (; *word != '\0'; ++word) {
      hand& mine = hands_[the_scheduler.current()];
      if (*word == 'a') {
        if (void* const block = allocate()) own(mine, block);
      } else if (*word == '+') {
        const auto growing = pool_.locking.growth_guard();
        grow();
      } else if (mine.size != 0) {
        if (*word == 'c') deallocate_all(mine);
        else deallocate(mine, *word == 'n' ? mine.size - 1 : 0);
      }
    }
  }
  void* allocate() noexcept {
    if (void* const block = pool_.locking.pop(pool_)) return block;
    if (void* const block = pool_.locking.pop_slow(pool_)) return block;
    const auto growing = pool_.locking.growth_guard();
    do {
      if (void* const block = pool_.locking.pop_slow(pool_)) return block;
    } while (grow());
    if (takes_ <= script_.chunks * script_.blocks) the_scheduler.fail("a block is refused, though there are enough");
    return nullptr;
  }
  bool grow() noexcept {
    if (adopted_ == script_.chunks) return false;
    chunk& c = chunks_[adopted_];
    c.first = memory_.data() + adopted_ * chunk_bytes;
    c.blocks = script_.blocks;
    c.open(reinterpret_cast<std::byte*>(links_.data()) + adopted_ * most_blocks * sizeof(link), c.blocks, geometry_);
    ++adopted_;
    while (const std::size_t bytes = pool_.locking.shortage(pool_, &c)) {
      pool_.locking.supply(pool_, {tables_.data() + tables_used_, bytes});
      tables_used_ += (bytes + 63) / 64 * 64;
      if (tables_used_ > tables_.size()) the_scheduler.fail("tables grow without end");
    }
    const auto lock = pool_.locking.core_guard();
    pool_.locking.adopt(pool_, c);
    return true;
  }
  void own(hand& mine, void* block) noexcept {
    unsigned& owner = owner_of(block);
    if (owner != nobody) return the_scheduler.fail("a block is owned twice");
    owner = the_scheduler.current();
    the_memory.written(block);
    mine.blocks[mine.size++] = block;
  }
  void disown(void* block) noexcept {
    the_memory.written(block);
    owner_of(block) = nobody;
  }
  void deallocate(hand& mine, std::size_t i) noexcept {
    void* const block = mine.blocks[i];
    for (--mine.size; i != mine.size; ++i) mine.blocks[i] = mine.blocks[i + 1];
    disown(block);
    pool_.locking.push(pool_, block);
  }
  void deallocate_all(hand& mine) noexcept {
    const std::size_t n = mine.size;
    mine.size = 0;
    for (std::size_t i = 0; i != n; ++i) disown(mine.blocks[i]);
    pool_.locking.push_batch(pool_, mine.blocks.data(), n);
  }
  unsigned& owner_of(const void* block) noexcept {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory_.data());
    const std::size_t slot = geometry_.slot_at(offset % chunk_bytes - geometry_.offset());
    if (offset / chunk_bytes >= adopted_ || slot >= script_.blocks) the_scheduler.fail("a block that never was");
    return owners_[offset / chunk_bytes * most_blocks + slot];
  }

  // By 4096: how many chunks share a granule of the table doesn't depend on where the linker puts them.
  alignas(4096) static inline std::array<std::byte, most_chunks * chunk_bytes> memory_;
  alignas(64) static inline std::array<std::byte, 16 * 1024> tables_;
  alignas(64) static inline std::array<std::byte, most * sizeof(link)> links_;
  static constexpr detail::geometry<static_size<64>, detail::block_shape{16, 8}> geometry_ = {};

  carver<traits> carver_;
  struct {
    typename Types::template calls<traits, scheduled_guards> locking;
    carver<traits>& list;
    carver<traits>& chunks;
  } pool_{{}, carver_, carver_};
  const stack_script& script_;
  std::array<chunk, most_chunks> chunks_;
  std::size_t takes_ = 0;
  std::size_t adopted_ = 0;
  std::size_t tables_used_ = 0;
  std::array<unsigned, most> owners_;
  std::array<hand, scheduler::most> hands_;
  hand rest_;
};

}  // namespace tarn::test

#endif  // TARN_TEST_SCHEDULE_STACK_WORLD_H_
