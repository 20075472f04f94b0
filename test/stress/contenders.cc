#include "tarn/test/stress/contenders.h"

#include <array>
#include <mutex>
#include <span>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/test/stress/ledger_store.h"

namespace tarn::test {
namespace {

/// \tparam Pool  a pool, or a reference to one that is static
template <class Pool>
class boxed : public any_pool {
 public:
  boxed() = default;
  explicit boxed(Pool given) : pool_(given) {}

  void* allocate() noexcept override { return pool_.try_allocate(); }
  void deallocate(void* block) noexcept override { pool_.deallocate(block); }
  std::size_t allocate_batch(std::span<void*> out) noexcept override { return pool_.try_allocate_batch(out); }
  void deallocate_batch(std::span<void* const> blocks) noexcept override { pool_.deallocate_batch(blocks); }
  bool reserve(std::size_t blocks) noexcept override { return pool_.try_reserve(blocks); }
  std::size_t trim() noexcept override {
    if constexpr (requires { pool_.trim(); }) return pool_.trim();
    else return 0;
  }
  std::size_t capacity() const noexcept override { return pool_.capacity(); }
  bool owns(const void* block) const noexcept override { return pool_.owns(block); }

 protected:
  Pool pool_;
};

template <class Locking>
using object_of =
    pool<static_size<any_pool::block_size>, Locking, fixed_growth<any_pool::chunk_blocks>, ledger_store, asking_exhaustion>;
template <class Locking>
using static_of = static_pool<struct stress_tag, static_size<any_pool::block_size>, Locking,
                              fixed_growth<any_pool::chunk_blocks>, ledger_store, asking_exhaustion>;

template <class Locking>
std::unique_ptr<any_pool> object() {
  return std::make_unique<boxed<object_of<Locking>>>();
}
template <class Locking>
std::unique_ptr<any_pool> process_wide() {
  return std::make_unique<boxed<typename static_of<Locking>::body&>>(static_of<Locking>::instance());
}

constexpr auto list = std::to_array<contender>({
    {"mutex", object<mutex_locking<>>},
    {"spin_mutex", object<mutex_locking<spin_mutex>>},
    {"thread_aware_mutex", object<mutex_locking<thread_aware_mutex>>},
    {"grouped", object<grouped_locking<struct stress_group, std::mutex>>},
    {"thread_cached", object<thread_cached<>>, false, true, 510},
    {"small_thread_cached", object<thread_cached<16, 14>>, false, true, 14},
    {"static_thread_cached", process_wide<thread_cached<>>, true, true, 510},
    {"lock_free", object<lock_free>, false, false},
});

}  // namespace

std::span<const contender> contenders() { return list; }

}  // namespace tarn::test
