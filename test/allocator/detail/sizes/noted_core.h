// A core for size_caches that knows which blocks are at home, and notes calls that come at the same time. Blocks are real
// memory. It refuses blocks beyond a number, and its own memory when it is told to.
#ifndef TARN_TEST_ALLOCATOR_DETAIL_SIZES_NOTED_CORE_H_
#define TARN_TEST_ALLOCATOR_DETAIL_SIZES_NOTED_CORE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "tarn/allocator/detail/sizes/size_caches.h"
#include "tarn/policies/size.h"

namespace tarn::test {

class noted_core {
 public:
  using table = detail::class_table<geometric_classes<16, 4096>>;
  static constexpr unsigned count = table::count;

  explicit noted_core(std::size_t most = 20'000) : most_(most) {}

  std::uint32_t fill(unsigned c, detail::cache_word* out, std::uint32_t n) {
    of& its = of_[c];
    const bool alone = !its.is_used.exchange(true);
    call(in_fill);
    std::uint32_t got = 0;
    while (got != n && !its.home.empty()) {
      out[got++] = its.home.back();
      its.home.pop_back();
    }
    while (got != n && its.made != most_) {
      if (its.made % chunk == 0) its.chunks.push_back(std::make_unique<std::byte[]>(chunk * table::bytes(c) + 16));
      out[got++] = reinterpret_cast<detail::cache_word>(its.chunks.back().get() + its.made++ % chunk * table::bytes(c));
    }
    its.out += got;
    ++fills;
    if (!alone || !its.is_used.exchange(false)) ++wrong;
    return got;
  }
  void drain(unsigned c, const detail::cache_word* in, std::uint32_t n) {
    of& its = of_[c];
    const bool alone = !its.is_used.exchange(true);
    call(in_drain);
    for (std::uint32_t i = 0; i != n; ++i) its.home.push_back(in[i]);
    its.out -= n;
    if (!alone || !its.is_used.exchange(false)) ++wrong;
  }
  void* own_memory(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    call(in_own);
    if (refuses_at != 0 && ++asked >= refuses_at && (refuses_all || asked == refuses_at)) return nullptr;
    own_.push_back(std::make_unique<line[]>(bytes / sizeof(line) + 1));
    return own_.back().get();
  }
  void act_at_fork(detail::fork_step step) {
    if (step == detail::fork_step::lock) mutex_.lock();
    else mutex_.unlock();
  }

  /// Blocks of the class that aren't at home.
  std::size_t out(unsigned c) const { return of_[c].out; }
  std::size_t out() const {
    std::size_t sum = 0;
    for (const of& its : of_) sum += its.out;
    return sum;
  }
  /// Whether no block is at home twice.
  bool is_sound() const {
    for (const of& its : of_) {
      std::vector<detail::cache_word> all = its.home;
      std::sort(all.begin(), all.end());
      if (std::adjacent_find(all.begin(), all.end()) != all.end() || all.size() + its.out != its.made) return false;
    }
    return true;
  }

  std::atomic<unsigned> wrong = 0, fills = 0;  // wrong: calls that another call of the class interrupted
  unsigned refuses_at = 0, asked = 0;  // which request for own memory is refused; 0: none
  std::atomic<void (*)()> in_fill = nullptr, in_drain = nullptr, in_own = nullptr;  // called in each such call
  bool refuses_all = false;  // from that on

 private:
  static constexpr std::size_t chunk = 64;
  static void call(const std::atomic<void (*)()>& what) {
    if (void (*const now)() = what) now();
  }
  struct alignas(64) line {
    std::byte bytes[64];
  };
  struct of {
    std::vector<std::unique_ptr<std::byte[]>> chunks;
    std::vector<detail::cache_word> home;
    std::size_t made = 0, out = 0;
    std::atomic<bool> is_used = false;
  };

  of of_[count];
  std::size_t most_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<line[]>> own_;
};

}  // namespace tarn::test

#endif  // TARN_TEST_ALLOCATOR_DETAIL_SIZES_NOTED_CORE_H_
