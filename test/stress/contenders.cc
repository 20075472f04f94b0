#include "tarn/test/stress/contenders.h"

#include <array>
#include <mutex>
#include <span>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/test/stress/ledger_store.h"

namespace tarn::test {
namespace {

template <class Locking>
using object_of = pool<static_size<block_bytes>, Locking, fixed_growth<chunk_blocks>, ledger_store, asking_exhaustion>;
template <class Locking>
using static_of = static_pool<struct stress_tag, static_size<block_bytes>, Locking, fixed_growth<chunk_blocks>, ledger_store,
                              asking_exhaustion>;

template <class Locking>
std::unique_ptr<any_pool> object() {
  return std::make_unique<erased<object_of<Locking>>>();
}
template <class Locking>
std::unique_ptr<any_pool> process_wide() {
  return std::make_unique<erased_view<typename static_of<Locking>::body>>(static_of<Locking>::instance());
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
