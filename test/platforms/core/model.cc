// What a pool is tried with: random operations against a model, what it promises, misuse that its checking finds.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tarn/test/platforms/core/tried.h"

namespace tarn::test {

provisions& provided() noexcept {
  static provisions all;
  return all;
}

namespace {

class numbers {
 public:
  explicit numbers(std::uint32_t seed) noexcept : state_(seed) {}
  std::size_t below(std::size_t n) noexcept {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 8) % n;
  }

 private:
  std::uint32_t state_;
};

/// The live blocks, each with a stamp in all of its bytes.
class model {
 public:
  static constexpr std::size_t most = 160;

  explicit model(tried& pool) noexcept : pool_(pool) {}

  std::size_t live() const noexcept { return live_; }

  bool take() noexcept {
    void* const block = pool_.take();
    if (block != nullptr) note(block);
    return block != nullptr;
  }
  void take_some(std::size_t n) noexcept {
    void* out[16];
    const std::size_t got = pool_.take(out, n);
    if (!CHECK(got <= n)) return;
    for (std::size_t i = 0; i < got; ++i) note(out[i]);
  }
  void give(std::size_t i) noexcept {
    void* const block = leave(i);
    pool_.give(block);
  }
  void give_some(std::size_t n, numbers& random) noexcept {
    void* blocks[17];
    std::size_t count = 0;
    for (; n != 0; --n) {
      if (n == 3) blocks[count++] = nullptr;  // ignored
      blocks[count++] = leave(random.below(live_));
    }
    pool_.give(blocks, count);
  }
  void verify() const noexcept {
    for (std::size_t i = 0; i < live_; ++i) CHECK(holds(blocks_[i], stamps_[i]));
    const std::size_t counted = pool_.in_use();
    CHECK(counted == tried::unknown || counted == live_);
  }
  void give_all() noexcept {
    while (live_ != 0) give(live_ - 1);
  }
  void forget() noexcept { live_ = 0; }

 private:
  void note(void* block) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    CHECK(address % pool_.block_alignment() == 0);
    CHECK(pool_.owns(block));
    for (std::size_t i = 0; i < live_; ++i) {
      const auto other = reinterpret_cast<std::uintptr_t>(blocks_[i]);
      CHECK((address > other ? address - other : other - address) >= pool_.block_size());
    }
    blocks_[live_] = block;
    stamps_[live_] = static_cast<unsigned char>(++last_ * 37);
    std::memset(block, stamps_[live_], pool_.block_size());
    ++live_;
  }
  void* leave(std::size_t i) noexcept {
    void* const block = blocks_[i];
    CHECK(holds(block, stamps_[i]));
    --live_;
    blocks_[i] = blocks_[live_];
    stamps_[i] = stamps_[live_];
    std::memset(block, 0xDD, pool_.block_size());  // whatever a user leaves behind
    return block;
  }
  bool holds(const void* block, unsigned char stamp) const noexcept {
    const auto* const bytes = static_cast<const unsigned char*>(block);
    for (std::size_t i = 0; i < pool_.block_size(); ++i)
      if (bytes[i] != stamp) return false;
    return true;
  }

  tried& pool_;
  void* blocks_[most];
  unsigned char stamps_[most];
  std::size_t live_ = 0;
  std::size_t last_ = 0;
};

void random_operations(tried& pool, std::uint32_t seed) noexcept {
  model watched(pool);
  numbers random(seed);
  for (int i = 0; i < 400; ++i) {
    // The number of live blocks swings between few and many.
    const bool grows = i % 200 < 110;
    const std::size_t n = 1 + random.below(16);
    switch (random.below(8)) {
      case 0:
        if (watched.live() + n <= model::most) watched.take_some(n);
        break;
      case 1:
        if (watched.live() >= n) watched.give_some(n, random);
        break;
      case 2:
        if (random.below(8) == 0) static_cast<void>(pool.trim());
        pool.give(nullptr);
        break;
      default:
        if (grows ? watched.live() < model::most : watched.live() == 0)
          CHECK(watched.take() || (pool.ends && watched.live() >= pool.capacity()));
        else if (watched.live() != 0) watched.give(random.below(watched.live()));
    }
    if (i % 40 == 0) watched.verify();
  }
  watched.verify();
  watched.give_all();
  watched.verify();
}

/// Blocks linked through themselves, so that no memory is needed to remember them.
std::size_t take_all(tried& pool, void*& list, std::size_t most) noexcept {
  std::size_t count = 0;
  for (; count < most; ++count) {
    void* const block = pool.take();
    if (block == nullptr) break;
    std::memcpy(block, &list, sizeof list);
    list = block;
  }
  return count;
}
void give_all(tried& pool, void* list) noexcept {
  while (list != nullptr) {
    void* next;
    std::memcpy(&next, list, sizeof next);
    pool.give(list);
    list = next;
  }
}

void exhaustion(tried& pool) noexcept {
  if (!pool.ends) return;
  constexpr std::size_t many = 5000;
  void* list = nullptr;
  const std::size_t count = take_all(pool, list, many);
  CHECK(count != 0 && count < many);
  CHECK(pool.take() == nullptr);
  void* one = nullptr;
  CHECK(pool.take(&one, 1) == 0);
  give_all(pool, list);
  list = nullptr;
  const std::size_t again = take_all(pool, list, many);
  CHECK(again == count);
  give_all(pool, list);
}

void reserving(tried& pool) noexcept {
  const std::size_t wanted = 40;
  CHECK(pool.reserve(wanted));
  CHECK(pool.capacity() >= wanted);
  int local = 0;
  CHECK(!pool.owns(&local) && !pool.owns(nullptr));
  void* const block = pool.take();
  if (!CHECK(block != nullptr)) return;
  CHECK(pool.owns(block));
  pool.give(block);
}

/// A store that refuses changes nothing: no block is lost, and when it gives again the pool grows.
void refusal(tried& pool) noexcept {
  if (!pool.can_refuse) return;
  model watched(pool);
  for (int i = 0; i < 20; ++i) watched.take();
  const std::size_t before = pool.capacity();
  provided().refuse(true);
  CHECK(!pool.reserve(before + 5000));
  CHECK(pool.capacity() >= (pool.reclaims ? watched.live() : before));
  watched.verify();
  provided().refuse(false);
  watched.give_all();
  CHECK(watched.take());
  watched.give_all();
}

void giving_back(tried& pool) noexcept {
  model watched(pool);
  for (int i = 0; i < 30; ++i) watched.take();
  if (pool.release()) {
    watched.forget();
    watched.verify();
    CHECK(watched.take());
  }
  watched.give_all();
  static_cast<void>(pool.trim());
  CHECK(watched.take());
  watched.give_all();
}

unsigned reports = 0;
misuse_kind last_kind = misuse_kind::leak;
void note_misuse(const misuse& what) noexcept {
  ++reports;
  last_kind = what.kind;
}

void misuse_is_found(tried& pool) noexcept {
  if (!pool.finds_misuse) return;
  const misuse_handler before = set_misuse_handler(note_misuse);
  reports = 0;
  void* const first = pool.take();
  void* const second = pool.take();
  if (CHECK(first != nullptr && second != nullptr)) {
    pool.give(static_cast<char*>(second) + 1);
    CHECK(reports == 1 && last_kind == misuse_kind::interior_pointer);
    int local = 0;
    pool.give(&local);
    CHECK(reports == 2 && last_kind == misuse_kind::foreign_pointer);
    pool.give(first);
    pool.give(first);
    CHECK(reports == 3 && last_kind == misuse_kind::double_free);
    void* const both[] = {second, second};
    pool.give(both, 2);
    CHECK(reports == 4 && last_kind == misuse_kind::double_free);
  }
  set_misuse_handler(before);
}

}  // namespace

void try_all(tried& pool) noexcept {
  reserving(pool);
  random_operations(pool, 1);
  exhaustion(pool);
  refusal(pool);
  giving_back(pool);
  random_operations(pool, 2);
  misuse_is_found(pool);
}

}  // namespace tarn::test
