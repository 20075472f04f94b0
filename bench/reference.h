// The references that tarn is measured against: what an expert writes by hand for one case, with no framework around it.
// They report no errors and check nothing, so their times are limits. `reference_test.cc` checks that they are right.
//
//   bare_list   intrusive LIFO list: 8 instructions for an allocation and a free
//   bare_front  array of block pointers in front, batches of 64 packed inside free blocks behind it
// What serves containers stands in reference_allocator.h.
#ifndef TARN_BENCH_REFERENCE_H_
#define TARN_BENCH_REFERENCE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace tarn_bench {

/// Chunks from aligned operator new.
struct heap_source {
  static constexpr std::size_t smallest = 4096;
  static void* acquire(std::size_t bytes) { return ::operator new(bytes, std::align_val_t{64}); }
  static void release(void* chunk, std::size_t) noexcept { ::operator delete(chunk, std::align_val_t{64}); }
};

/// Chunks at 2 MiB boundaries that ask for huge pages. The address space around them is given back at once.
struct huge_source {
  static constexpr std::size_t smallest = std::size_t{2} << 20;
  static void* acquire(std::size_t bytes) {
    void* const raw = ::mmap(nullptr, bytes + smallest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) throw std::bad_alloc{};
    char* const from = static_cast<char*>(raw);
    const std::size_t skip = (smallest - reinterpret_cast<std::uintptr_t>(from) % smallest) % smallest;
    if (skip != 0) ::munmap(from, skip);
    ::munmap(from + skip + bytes, smallest - skip);
    ::madvise(from + skip, bytes, MADV_HUGEPAGE);
    return from + skip;
  }
  static void release(void* chunk, std::size_t bytes) noexcept { ::munmap(chunk, bytes); }
};

/// Untouched memory, handed out in runs. Chunks double from `Source::smallest` to 4 MiB and are freed at the end.
template <std::size_t Bytes, class Source, std::size_t Run = std::size_t{64} << 10>
class runs {
 public:
  runs() = default;
  runs(const runs&) = delete;
  runs& operator=(const runs&) = delete;
  ~runs() {
    for (const chunk& each : chunks_) Source::release(each.start, each.bytes);
  }

  /// Sets [begin, end) to the next untouched run, a whole number of blocks.
  void next(char*& begin, char*& end) {
    // At a power-of-two stride first words share a few cache sets: each run starts some cache lines later (a colour).
    constexpr bool coloured = Bytes >= 128 && (Bytes & (Bytes - 1)) == 0;
    const std::size_t colour = coloured ? number_++ % 4 * 64 : 0;
    if (static_cast<std::size_t>(end_ - at_) < colour + Bytes) grow(colour + Bytes);
    const std::size_t room = std::min(std::max(Run, colour + Bytes), static_cast<std::size_t>(end_ - at_));
    begin = at_ + colour;
    end = begin + (room - colour) / Bytes * Bytes;
    // Without a colour the next run starts where this one ends, so nothing is lost between them.
    at_ = coloured ? at_ + room : end;
  }

 private:
  struct chunk {
    void* start;
    std::size_t bytes;
  };
  void grow(std::size_t needed) {
    size_ = size_ == 0 ? Source::smallest : std::min(size_ * 2, std::size_t{4} << 20);
    while (size_ < needed) size_ *= 2;
    at_ = static_cast<char*>(Source::acquire(size_));
    end_ = at_ + size_;
    chunks_.push_back({at_, size_});
  }
  char* at_ = nullptr;
  char* end_ = nullptr;
  std::size_t size_ = 0;
  std::size_t number_ = 0;
  std::vector<chunk> chunks_;
};

/// The plain free list. In the pair it is bound by store forwarding only.
template <std::size_t Bytes, class Source = heap_source>
class bare_list {
 public:
  void* take() {
    if (void* const block = head_) [[likely]] {
      head_ = *static_cast<void**>(block);
      return block;
    }
    if (bump_ == end_) [[unlikely]]
      more();
    char* const block = bump_;
    bump_ += Bytes;
    return block;
  }
  void give(void* block) noexcept {
    *static_cast<void**>(block) = head_;
    head_ = block;
  }

 private:
  [[gnu::noinline, gnu::cold]] void more() { rest_.next(bump_, end_); }
  void* head_ = nullptr;
  char* bump_ = nullptr;
  char* end_ = nullptr;
  // One run for each chunk: a list without colours is what everybody writes.
  runs<Bytes, Source, std::size_t{4} << 20> rest_;
};

/// How many pointers the front holds: a fixed array, or one that starts with 32 slots inside the object and doubles.
struct growing_front {
  static constexpr std::size_t first = 32, last = 1024;
};
struct fixed_front {
  static constexpr std::size_t first = 1024, last = 1024;
};

template <std::size_t Bytes, class Source = heap_source, class Front = growing_front>
class bare_front {
  static_assert(Bytes >= 16 && Bytes % sizeof(void*) == 0, "a batch needs two pointers in a block");

 public:
  bare_front() = default;
  bare_front(const bare_front&) = delete;
  bare_front& operator=(const bare_front&) = delete;

  void* take() {
    void** const top = top_;
    top_ = top + 1;  // before the test, and back on a miss: the next call waits for this store
    void* const block = *top;
    if (block != nullptr) [[likely]] {
      __builtin_prefetch(block, 1);  // the caller is about to write it
      return block;
    }
    top_ = top;
    char* const fresh = bump_;
    if (fresh == end_) [[unlikely]]
      return refill();
    bump_ = fresh + Bytes;
    return fresh;
  }
  void give(void* block) {
    void** top = top_;
    if (top == limit_) [[unlikely]]
      return spill(block);
    *--top = block;
    top_ = top;
  }

 private:
  static constexpr std::size_t batch = 64;
  static constexpr std::size_t words = Bytes / sizeof(void*);
  // Blocks of a batch whose words are used: the root holds one link and words-1 pointers, the others words pointers.
  static constexpr std::size_t inner = words >= batch ? 1 : 1 + (batch - 1 - (words - 1) + words - 1) / words;

  static void** in(void* block) noexcept { return static_cast<void**>(block); }
  [[gnu::noinline, gnu::cold]] void* refill() {
    if (head_ != nullptr) {
      // Half of the array stays free, so that the frees to come find room.
      void** const at = limit_ + capacity_ / 2;
      unpack(at);
      bottom_ = at + batch;
      *bottom_ = nullptr;
      top_ = at + 1;
      return *at;
    }
    rest_.next(bump_, end_);
    char* const fresh = bump_;
    bump_ += Bytes;
    return fresh;
  }

  [[gnu::noinline, gnu::cold]] void spill(void* block) {
    if (capacity_ < Front::last) {
      enlarge();
    } else {
      const std::size_t keep = capacity_ / 2;
      void** oldest = bottom_;
      while (oldest - limit_ >= static_cast<std::ptrdiff_t>(keep + batch)) {
        oldest -= batch;
        pack(oldest);
      }
      settle(limit_, oldest, limit_ + capacity_);
    }
    *--top_ = block;
  }

  /// Moves the entries [from, to) so that they end at `bottom`, where the null sentinel stands.
  void settle(void** from, void** to, void** bottom) noexcept {
    *bottom = nullptr;
    bottom_ = bottom;
    top_ = std::move_backward(from, to, bottom);
  }

  void enlarge() {
    std::unique_ptr<void*[]> bigger{new void*[capacity_ * 2 + 1]};
    capacity_ *= 2;
    settle(top_, bottom_, bigger.get() + capacity_);
    limit_ = bigger.get();
    outside_ = std::move(bigger);
  }

  /// Writes the pointers entries[1..63] breadth first into the blocks entries[0], entries[1], ...; the root is pushed.
  void pack(void* const* entries) noexcept {
    in(entries[0])[0] = head_;
    std::size_t next = 1;
    for (std::size_t node = 0; node < inner; ++node) {
      void** const to = in(entries[node]);
      for (std::size_t word = node == 0 ? 1 : 0; word < words && next < batch; ++word) to[word] = entries[next++];
    }
    head_ = entries[0];
  }

  /// Reads them back in the same order. A block's address is known before its words are needed: the misses overlap.
  void unpack(void** entries) noexcept {
    entries[0] = head_;
    head_ = in(head_)[0];
    __builtin_prefetch(head_);
    std::size_t next = 1;
    for (std::size_t node = 0; node < inner; ++node) {
      void** const from = in(entries[node]);
      for (std::size_t word = node == 0 ? 1 : 0; word < words && next < batch; ++word) {
        entries[next] = from[word];
        if (next < inner) __builtin_prefetch(entries[next]);
        ++next;
      }
    }
  }

  void** top_ = inside_ + Front::first;
  void** bottom_ = top_;  // one past the oldest entry; holds null, which ends a take without a second comparison
  void** limit_ = inside_;
  char* bump_ = nullptr;
  char* end_ = nullptr;
  void* head_ = nullptr;  // root of the newest batch
  std::size_t capacity_ = Front::first;
  runs<Bytes, Source> rest_;
  std::unique_ptr<void*[]> outside_;
  void* inside_[Front::first + 1] = {};
};

}  // namespace tarn_bench

#endif  // TARN_BENCH_REFERENCE_H_
