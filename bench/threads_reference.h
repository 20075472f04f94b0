// What an expert writes by hand for blocks of one size that all threads share: magazines in thread-local storage in front of a
// depot. Static, without errors, without a way to give memory back: limits, as those of reference.h. A thread's thread-local
// destructors must not use them. `threads_reference_test.cc` checks that they are right.
//
//   bare_arrays  magazines are arrays of block pointers; a free doesn't touch the block
//   bare_lists   magazines are lists through the blocks, with a counter
#ifndef TARN_BENCH_THREADS_REFERENCE_H_
#define TARN_BENCH_THREADS_REFERENCE_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "tarn/bench/reference.h"

namespace tarn_bench {

/// Untouched blocks for any thread; the caller holds the depot's mutex.
template <std::size_t Bytes>
struct carver {
  void* next() {
    if (at_ == end_) rest_.next(at_, end_);
    char* const block = at_;
    at_ += Bytes;
    return block;
  }

 private:
  char* at_ = nullptr;
  char* end_ = nullptr;
  runs<Bytes, heap_source> rest_;
};

/// A thread has two magazines, one in use and one that is empty or full; only when both are, it goes to the depot. In a
/// magazine that goes there a word of each block is written, and the blocks of one that comes from there are fetched: their
/// lines then move to the other core in one transfer each, and all at once.
template <std::size_t Bytes, std::size_t Capacity = 510>
class bare_arrays {
 public:
  static void* take() {
    cache& own = cache_;
    void** const top = own.top;
    if (top == own.low) [[unlikely]]
      return refill();
    own.top = top - 1;
    return top[-1];
  }
  static void give(void* block) {
    cache& own = cache_;
    void** const top = own.top;
    if (top == own.high) [[unlikely]]
      return spill(block);
    *top = block;
    own.top = top + 1;
  }
  /// Full magazines that went to the depot, of all threads.
  static std::size_t handed_over() {
    const std::lock_guard lock{depot_.mutex};
    return depot_.handed_over;
  }

 private:
  struct magazine {
    std::size_t count = 0;  // while no thread uses it
    void* blocks[Capacity];
  };
  struct cache {
    void** top = nullptr;
    void** low = nullptr;
    void** high = nullptr;
    magazine* used = nullptr;
    magazine* other = nullptr;  // empty or full
  };
  struct depot {
    std::mutex mutex;
    std::vector<magazine*> filled, empty;
    std::vector<std::unique_ptr<magazine>> all;
    std::size_t handed_over = 0;
    carver<Bytes> fresh;

    magazine* get_empty() {
      if (empty.empty()) return all.emplace_back(std::make_unique<magazine>()).get();
      magazine* const one = empty.back();
      empty.pop_back();
      return one;
    }
  };
  /// Gives a thread its magazines, and takes them back at its end. Only slow paths name it: the cache has no destructor.
  struct owner {
    owner() {
      const std::lock_guard lock{depot_.mutex};
      load(depot_.get_empty());
      cache_.other = depot_.get_empty();
    }
    ~owner() {
      unload();
      const std::lock_guard lock{depot_.mutex};
      for (magazine* const one : {cache_.used, cache_.other}) (one->count != 0 ? depot_.filled : depot_.empty).push_back(one);
      cache_ = {};
    }
  };

  static void load(magazine* one) {
    cache_.used = one;
    cache_.low = one->blocks;
    cache_.high = one->blocks + Capacity;
    cache_.top = one->blocks + one->count;
  }
  static void unload() { cache_.used->count = static_cast<std::size_t>(cache_.top - cache_.low); }
  static void swap() {
    unload();
    magazine* const used = cache_.used;
    load(cache_.other);
    cache_.other = used;
  }
  static void adopt() {
    static thread_local owner of_this_thread;
    (void)of_this_thread;
  }

  [[gnu::noinline, gnu::cold]] static void* refill() {
    adopt();
    if (cache_.other->count != 0) {
      swap();
    } else {
      std::unique_lock lock{depot_.mutex};
      if (!depot_.filled.empty()) {
        unload();
        depot_.empty.push_back(cache_.used);
        load(depot_.filled.back());
        depot_.filled.pop_back();
        lock.unlock();
        for (void* const* block = cache_.low; block != cache_.top; ++block) __builtin_prefetch(*block, 1);
      } else {
        // From the top, so that they are taken in the order of their addresses.
        for (cache_.top = cache_.high; cache_.top != cache_.low;) *--cache_.top = depot_.fresh.next();
        cache_.top = cache_.high;
      }
    }
    return *--cache_.top;
  }

  [[gnu::noinline, gnu::cold]] static void spill(void* block) {
    adopt();
    if (cache_.other->count != 0) {
      for (void* const each : cache_.other->blocks) *static_cast<void* volatile*>(each) = nullptr;
      const std::lock_guard lock{depot_.mutex};
      depot_.filled.push_back(cache_.other);
      ++depot_.handed_over;
      cache_.other = depot_.get_empty();
    }
    if (cache_.top == cache_.high) swap();
    *cache_.top++ = block;
  }

  static inline constinit thread_local cache cache_{};
  static inline depot depot_;
};

/// The same exchange with lists. The first block of a magazine in the depot names the next magazine in its second word.
template <std::size_t Bytes, std::size_t Capacity = 128>
class bare_lists {
  static_assert(Bytes >= 2 * sizeof(void*));

 public:
  static void* take() {
    cache& own = cache_;
    node* const block = own.used.first;
    if (block == nullptr) [[unlikely]]
      return refill();
    own.used.first = block->next;
    --own.used.count;
    return block;
  }
  static void give(void* block) {
    cache& own = cache_;
    if (own.used.count == Capacity) [[unlikely]]
      spill();
    own.used.first = new (block) node{own.used.first, nullptr};
    ++own.used.count;
  }
  static std::size_t handed_over() {
    const std::lock_guard lock{depot_.mutex};
    return depot_.handed_over;
  }

 private:
  struct node {
    node* next;
    node* next_magazine;
  };
  struct magazine {
    node* first = nullptr;
    std::size_t count = 0;
  };
  struct cache {
    magazine used;
    magazine other;  // empty or full
  };
  struct depot {
    std::mutex mutex;
    node* filled = nullptr;
    std::vector<magazine> rests;  // of threads that ended
    std::size_t handed_over = 0;
    carver<Bytes> fresh;
  };
  struct owner {
    owner() { cache_ = {}; }
    ~owner() {
      const std::lock_guard lock{depot_.mutex};
      for (const magazine& one : {cache_.used, cache_.other})
        if (one.count != 0) depot_.rests.push_back(one);
      cache_ = {};
    }
  };
  static void adopt() {
    static thread_local owner of_this_thread;
    (void)of_this_thread;
  }

  [[gnu::noinline, gnu::cold]] static void* refill() {
    adopt();
    std::swap(cache_.used, cache_.other);
    if (cache_.used.count == 0) {
      const std::lock_guard lock{depot_.mutex};
      if (node* const first = depot_.filled) {
        depot_.filled = first->next_magazine;
        cache_.used = {first, Capacity};
      } else if (!depot_.rests.empty()) {
        cache_.used = depot_.rests.back();
        depot_.rests.pop_back();
      } else {
        return depot_.fresh.next();
      }
    }
    return take();
  }

  [[gnu::noinline, gnu::cold]] static void spill() {
    adopt();
    if (cache_.used.count != Capacity) return;  // the thread is new
    std::swap(cache_.used, cache_.other);
    if (cache_.used.count != 0) {
      const std::lock_guard lock{depot_.mutex};
      cache_.used.first->next_magazine = depot_.filled;
      depot_.filled = cache_.used.first;
      ++depot_.handed_over;
      cache_.used = {};
    }
  }

  // Seems full and empty at once: a thread's first call is slow.
  static inline constinit thread_local cache cache_{{nullptr, Capacity}, {}};
  static inline depot depot_;
};

}  // namespace tarn_bench

#endif  // TARN_BENCH_THREADS_REFERENCE_H_
