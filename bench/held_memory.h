// How much memory a column holds: what the system counts as resident, less what the process had before.
#ifndef TARN_BENCH_HELD_MEMORY_H_
#define TARN_BENCH_HELD_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <span>

#include <sys/mman.h>

#include "tarn/bench/allocators.h"
#include "tarn/bench/compositions.h"
#include "tarn/bench/heap.h"
#include "tarn/bench/loops.h"
#include "tarn/bench/measure.h"
#include "tarn/tools/tarn_record/resident.h"

namespace tarn_bench {

using tarn_record::resident_bytes;

/// The places of `count` blocks, in memory that is there from the start and is no column's.
class places {
 public:
  explicit places(std::size_t count) : bytes_(count * sizeof(void*)) {
    void* const start = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (start == MAP_FAILED) std::abort();
    all_ = {static_cast<void**>(start), count};
  }
  ~places() { ::munmap(all_.data(), bytes_); }
  places(const places&) = delete;
  places& operator=(const places&) = delete;

  std::span<void*> all() const { return all_; }

 private:
  std::size_t bytes_;
  std::span<void*> all_;
};

/// Resident bytes since it was made.
class held_since {
 public:
  std::size_t bytes() const {
    const std::size_t now = resident_bytes();
    return now - std::min(now, before_);
  }

 private:
  std::size_t before_ = resident_bytes();
};

/// Puts the blocks into a random order, of this round.
inline void shuffle(std::span<void*> blocks, random_source& random) {
  for (std::size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[random.below(i)]);
}

/// A pool whose user calls trim() when blocks were freed.
template <class Column>
struct trimmed : Column {
  void settle() { this->pool().trim(); }
};
struct tarn_default_trimmed : trimmed<tarn_default<64>> {
  static constexpr const char* name = "tarn_default_trimmed";
};
struct tarn_paged_trimmed : trimmed<tarn_paged<64>> {
  static constexpr const char* name = "tarn_paged_trimmed";
};
template <class Column>
void settle(Column& column) {
  if constexpr (requires { column.settle(); }) column.settle();
}

using holders = columns<heap<64>, heap_trimmed<64>, pmr_unsync<64>, tarn_returning<64>, tarn_returning_pages<64>,
                        tarn_returning_small<64>, tarn_cached_returning<64>, tarn_default_trimmed, tarn_paged_trimmed>;

}  // namespace tarn_bench

#endif  // TARN_BENCH_HELD_MEMORY_H_
