// Operations on a pool, as the input asks for them, and what must hold after each.
#ifndef TARN_TEST_FUZZ_POOL_DRIVER_H_
#define TARN_TEST_FUZZ_POOL_DRIVER_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "tarn/test/fuzz/input.h"
#include "tarn/test/fuzz/made_pool.h"
#include "tarn/test/fuzz/stamped_blocks.h"
#include "tarn/test/support/any_pool.h"

namespace tarn::test {

class pool_driver {
 public:
  explicit pool_driver(made_pool& of) : of_(of), pool_(*of.pool), first_capacity_(pool_.capacity()) {}

  any_pool& pool() { return pool_; }
  const stamped_blocks& blocks() const { return blocks_; }

  /// One operation.
  void step(input& in) {
    before_ = pool_.capacity();
    injected_ = of_.injected();
    const std::uint8_t what = in.byte();
    pool_.throws = (what & 0x80) != 0;
    switch (what % 16) {
      case 0: case 1: take_some(1 + in.below(4)); break;
      case 2: take_batch(in.below(200)); break;
      case 3: take_batch(in.below(700)); break;
      case 4: give_some(1 + in.below(16), [this] { return blocks_.size() - 1; }); break;
      case 5: give_some(1 + in.below(16), [] { return 0; }); break;
      case 6: give_some(1 + in.below(4), [&] { return in.below(blocks_.size()); }); break;
      case 7: give_batch(in.below(100), in.below(3)); break;
      case 8: give_batch(in.below(700), in.below(3)); break;
      case 9: reserve(in.below(2) * before_ + in.below(300)); break;
      case 10: trim(); break;
      case 11: if (in.below(4) == 0) release(); break;
      case 12: ask(in.below(blocks_.size())); break;
      case 13: blocks_.reverse(); break;
      case 14: blocks_.shuffle(in.byte()); break;
      case 15: on_another_thread(in); break;
    }
    holds();
  }

  /// With nothing more to be had, every block of the pool can be taken, and then no more.
  void take_all() {
    before_ = pool_.capacity();
    const std::size_t rest = before_ + of_.says.beside - blocks_.size();
    if (!is_small(rest) || !strict_) return;
    pool_.throws = false;
    const std::size_t singly = std::min(rest, of_.says.beside);
    take_some(singly);
    take_batch(rest - singly);
    must(blocks_.size() == before_ + of_.says.beside, "a free block that can't be had");
    must(pool_.capacity() == before_, "a pool with free blocks grew");
    holds();
  }

  /// All blocks go back, and then as much memory as can.
  void end() {
    before_ = pool_.capacity();
    blocks_.check_all();
    give_batch(blocks_.size(), 0);
    holds();
    before_ = pool_.capacity();
    trim();
    of_.end();
  }

  /// What must hold at all times.
  void holds() const {
    const std::size_t capacity = pool_.capacity();
    must(capacity + of_.says.beside >= blocks_.size(), "a capacity under the number of blocks in use");
    if (of_.says.is_bounded) must(capacity == first_capacity_, "the capacity of a bounded pool changed");
    if (const auto counts = pool_.statistics()) {
      must(counts->in_use == blocks_.size(), "statistics with another number of blocks in use");
      must(counts->peak >= counts->in_use && counts->allocations >= counts->peak, "statistics that can't be");
    }
  }

 private:
  static constexpr std::size_t most_blocks = 4000;
  static constexpr std::size_t most_bytes = 512 * 1024;

  bool injected() const { return of_.injected() != injected_; }
  /// Whoever asks all pools to trim asks itself too.
  bool is_as_it_was(std::size_t capacity) const {
    return capacity == before_ || (of_.says.reclaims && capacity < before_);
  }
  /// As many more blocks are no more than an input may have.
  bool is_small(std::size_t more) const {
    const std::size_t all = blocks_.size() + more;
    return all <= most_blocks && all * pool_.block_size() <= most_bytes;
  }
  void took(void* block) {
    must(pool_.owns(block), "a block that the pool doesn't own");
    blocks_.add(block, pool_.block_size(), pool_.block_alignment());
  }

  // ---- blocks ------------------------------------------------------------------------------------------------------------

  void take_some(std::size_t n) {
    for (; n != 0 && is_small(1); --n) {
      const bool has = blocks_.size() < before_;
      void* const block = pool_.try_allocate();
      const std::size_t capacity = pool_.capacity();
      if (block != nullptr) took(block);
      if (block == nullptr) must(capacity == before_, "a failure changed the capacity");
      if (strict_) {
        if (has) must(block != nullptr && capacity == before_, "a pool with a free block didn't hand it out");
        if (block == nullptr) refused();
      }
      before_ = capacity;
    }
  }
  std::size_t take_batch(std::size_t n) {
    if (!is_small(n)) return 0;
    std::vector<void*> out(n, &out);
    const std::size_t live = blocks_.size();
    const std::size_t got = pool_.try_allocate_batch(out);
    must(got <= n, "a batch that is larger than asked for");
    if (pool_.throws) must(got == n || got == 0, "an allocate_batch() that took a part");
    for (void* const block : std::span(out).first(got)) took(block);
    const std::size_t capacity = pool_.capacity();
    if (strict_ && live + n <= before_) must(got == n && capacity == before_, "a pool with free blocks didn't hand them out");
    if (strict_ && got != n) {
      must(live + n > capacity && (pool_.throws || blocks_.size() >= capacity), "a batch that ended too soon");
      refused();
    }
    return got;
  }
  void refused() const { must(!of_.says.never_ends || injected(), "a pool that has no end refused a block"); }

  template <class Which>
  void give_some(std::size_t n, Which which) {
    for (; n != 0 && !blocks_.empty(); --n) pool_.deallocate(blocks_.take(which()).start);
    gave();
  }
  /// From the newest on, from the oldest on, or every other.
  void give_batch(std::size_t n, std::size_t order) {
    const std::vector<void*> some = leaving(n, order);
    pool_.deallocate_batch(some);
    gave();
  }
  std::vector<void*> leaving(std::size_t n, std::size_t order) {
    std::vector<void*> some;
    for (n = std::min(n, blocks_.size()); n != 0; --n) {
      const std::size_t last = blocks_.size() - 1;
      some.push_back(blocks_.take(order == 0 ? last : order == 1 ? 0 : last - last / 2).start);
    }
    return some;
  }
  void gave() const {
    const std::size_t capacity = pool_.capacity();
    must(capacity <= before_ && (of_.says.returns_chunks || capacity == before_), "a free changed the capacity");
  }

  // ---- chunks ------------------------------------------------------------------------------------------------------------

  void reserve(std::size_t n) {
    if (n * pool_.block_size() > most_bytes) return;
    const bool could = pool_.try_reserve(n);
    const std::size_t capacity = pool_.capacity();
    must(could ? capacity >= n : is_as_it_was(capacity), "a reserve() that doesn't do what it says");
    if (n <= before_) must(could && capacity == before_, "a reserve() of what there is");
    if (!could) refused();
  }
  void trim() {
    const auto bytes = pool_.trim();
    if (!bytes) return;
    const std::size_t capacity = pool_.capacity();
    if (of_.says.is_bounded) return;
    must((*bytes == 0) == (capacity == before_) && capacity <= before_, "a trim() that says another number of bytes");
    if (blocks_.empty() && strict_) must(capacity == 0, "a trim() that left an empty chunk");
    before_ = capacity;
  }
  void release() {
    blocks_.check_all();
    if (!pool_.release()) return;
    blocks_.forget_all();
    must(pool_.capacity() == 0 || pool_.capacity() == first_capacity_, "a release() that left blocks");
    must(of_.first.upstream.bytes() + of_.second.upstream.bytes() + of_.upstream.bytes() == 0, "a release() that left memory");
    strict_ = true;
  }

  // ---- questions ---------------------------------------------------------------------------------------------------------

  void ask(std::size_t i) {
    must(!pool_.owns(nullptr) && !pool_.owns(this), "owns() of what is elsewhere");
    if (!blocks_.empty()) {
      const auto& one = blocks_[i];
      const auto* const first = static_cast<const std::byte*>(one.start);
      must(pool_.owns(first) && pool_.owns(first + one.bytes - 1), "a block in use that the pool doesn't own");
    }
    blocks_.check_all();
  }

  /// Blocks are taken there, and others given back. The thread ends with some of its own.
  void on_another_thread(input& in) {
    const std::size_t n = 1 + in.below(100);
    const std::size_t back = in.below(100);
    if (!of_.says.is_shared || threads_ == 4 || !is_small(n)) return;
    ++threads_;
    if (of_.says.keeps_blocks) strict_ = false;
    std::vector<void*> taken(n);
    const std::vector<void*> given = leaving(back, 1);
    std::thread([&] {
      for (void* const block : given) pool_.deallocate(block);
      taken.resize(pool_.try_allocate_batch(taken));
    }).join();
    for (void* const block : taken) took(block);
  }

  made_pool& of_;
  any_pool& pool_;
  stamped_blocks blocks_;
  const std::size_t first_capacity_;
  std::size_t before_ = 0;    // capacity before the operation
  std::size_t injected_ = 0;  // and failures
  bool strict_ = true;        // no other thread has kept blocks
  unsigned threads_ = 0;
};

}  // namespace tarn::test

#endif  // TARN_TEST_FUZZ_POOL_DRIVER_H_
