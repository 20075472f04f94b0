// Every way to share a pool between threads, behind virtual functions: the workloads are compiled once for all of them.
#ifndef TARN_TEST_STRESS_CONTENDERS_H_
#define TARN_TEST_STRESS_CONTENDERS_H_

#include <cstddef>
#include <memory>
#include <span>

namespace tarn::test {

/// A pool of blocks of 64 bytes over a ledger_store, in chunks of 64 blocks.
class any_pool {
 public:
  static constexpr std::size_t block_size = 64;
  static constexpr std::size_t chunk_blocks = 64;

  any_pool() = default;
  any_pool(const any_pool&) = delete;
  any_pool& operator=(const any_pool&) = delete;
  virtual ~any_pool() = default;

  virtual void* allocate() noexcept = 0;  // null: no further chunk
  virtual void deallocate(void* block) noexcept = 0;
  virtual std::size_t allocate_batch(std::span<void*> out) noexcept = 0;
  virtual void deallocate_batch(std::span<void* const> blocks) noexcept = 0;
  virtual bool reserve(std::size_t blocks) noexcept = 0;
  virtual std::size_t trim() noexcept = 0;  // 0 where there is none
  virtual std::size_t capacity() const noexcept = 0;
  virtual bool owns(const void* block) const noexcept = 0;
};

struct contender {
  const char* name;
  std::unique_ptr<any_pool> (*make)();  // a new pool; a static pool is always the same
  bool is_static = false;
  bool trims = true;
  std::size_t magazine = 0;  // the most blocks that a magazine of a thread holds

  bool caches() const { return magazine != 0; }
};

/// The list. A new locking policy gets one line in contenders.cc.
std::span<const contender> contenders();

}  // namespace tarn::test

#endif  // TARN_TEST_STRESS_CONTENDERS_H_
