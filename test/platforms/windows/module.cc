// A module's part. With TARN_DEFINES_SHARED_POOLS it is the one that has the shared pools.
#include "tarn/test/platforms/windows/module.h"

#include <tuple>

#include "tarn/allocator/registry.h"

#if defined(TARN_DEFINES_SHARED_POOLS)
TARN_DEFINE_SHARED_POOL(tarn::test::shared_blocks);
DEFINE_SHARED_MEMORY_POOL(tarn::test::shared_thing);
#endif

namespace tarn::test {
namespace {

template <class... Policies>
using small_pool = pool<static_size<64>, fixed_growth<16>, Policies...>;
using pools = std::tuple<small_pool<thread_cached<>>, small_pool<hardened>, small_pool<checked, mutex_locking<>>,
                         small_pool<lock_free>>;
static_assert(std::tuple_size_v<pools> == kinds);

template <std::size_t Kind = 0, class Do>
void with(std::size_t kind, void* object, Do action) {
  if (kind == Kind) return action(static_cast<std::tuple_element_t<Kind, pools>*>(object));
  if constexpr (Kind + 1 != kinds) with<Kind + 1>(kind, object, action);
}

const module_part functions{
    [] { return static_cast<const void*>(&shared_blocks::instance()); },
    [] { return shared_blocks::instance().allocate(); },
    [](void* block) { shared_blocks::instance().deallocate(block); },
    [] { return new shared_thing; },
    [] { return static_cast<std::uint64_t>(detail::this_thread_number()); },
    [] { return detail::secret(); },
    [](std::size_t which) {
      const void* const all[lists] = {&detail::named_pools(), &detail::misuse_handler_now(), &detail::slots_of_process(),
                                      &detail::pools_of_process()};
      return all[which];
    },
    [](std::size_t kind) {
      void* made = nullptr;
      with(kind, nullptr, [&]<class Pool>(Pool*) { made = new Pool; });
      return made;
    },
    [](std::size_t kind, void* pool) { with(kind, pool, [](auto* its) { delete its; }); },
    [](std::size_t kind, void* pool) {
      void* block = nullptr;
      with(kind, pool, [&](auto* its) { block = its->allocate(); });
      return block;
    },
    [](std::size_t kind, void* pool, void* block) { with(kind, pool, [=](auto* its) { its->deallocate(block); }); },
    [] { return unsigned{detail::this_thread.id}; },
};

}  // namespace
}  // namespace tarn::test

#if defined(PROGRAM)
const tarn::test::module_part* part_of_program() { return &tarn::test::functions; }
#else
extern "C" __declspec(dllexport) const tarn::test::module_part* part_of_module() { return &tarn::test::functions; }
#endif
