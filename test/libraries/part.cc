// A library, or the part of the program.
#include "tarn/test/libraries/part.h"

#include <array>
#include <tuple>

#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/policies/locking/group_guard.h"

namespace tarn::test {
namespace {

template <class... Policies>
using small_pool = pool<static_size<64>, fixed_growth<16>, Policies...>;
/// Grows and gives back all the time.
template <class... Policies>
using restless_pool = pool<static_size<64>, fixed_growth<4>, return_empty_chunks<0, 0>, Policies...>;
using pools = std::tuple<small_pool<hardened>, small_pool<checked>, restless_pool<mutex_locking<>>, small_pool<thread_cached<>>,
                         small_pool<lock_free>, restless_pool<mutex_locking<>, checked>,
                         small_pool<mutex_locking<>, reclaim_and_retry<>>, restless_pool<mutex_locking<>, resource_store>>;
static_assert(std::tuple_size_v<pools> == kinds);

template <std::size_t Kind = 0, class Do>
void with(std::size_t kind, void* object, Do action) {
  if (kind == Kind) return action(static_cast<std::tuple_element_t<Kind, pools>*>(object));
  if constexpr (Kind + 1 != kinds) with<Kind + 1>(kind, object, action);
}
void* make(std::size_t kind, std::pmr::memory_resource* store) {
  void* made = nullptr;
  with(kind, nullptr, [&]<class Pool>(Pool*) {
    if constexpr (std::is_same_v<Pool, std::tuple_element_t<over_resource, pools>>) made = new Pool{resource_store{store}};
    else made = new Pool;
  });
  return made;
}

std::pmr::memory_resource* own_resource() {
  static pmr::synchronized_pool_resource resource;
  return &resource;
}

struct group;
std::size_t* reports = nullptr;

const part functions{
    [] { return detail::this_thread_number(); },
    [] { return detail::secret(); },
    [] {
      return std::array<const void*, 5>{&detail::process_forks(), &detail::named_pools(), &detail::misuse_handler_now(),
                                        &detail::slots_of_process(), &detail::pools_of_process()};
    },
    [] {
      detail::chunk_number number;
      number.draw();
      return number.upper_half;
    },
    make,
    [](std::size_t kind, void* object) { with(kind, object, [](auto* its) { delete its; }); },
    [](std::size_t kind, void* object) {
      void* block = nullptr;
      with(kind, object, [&](auto* its) { block = its->try_allocate(); });
      return block;
    },
    [](std::size_t kind, void* object, void* block) { with(kind, object, [=](auto* its) { its->deallocate(block); }); },
    [](void* object) { static_cast<std::tuple_element_t<checked_alone, pools>*>(object)->hand_over(); },
    [](void (*action)(void*), void* argument) {
      const group_guard<group, mutex> held;
      action(argument);
    },
    own_resource,
    [] { return tarn::reclaim_all(); },
    [] { return tarn::report_in_use(); },
    [](std::size_t* counter) {
      reports = counter;
      set_misuse_handler([](const misuse&) noexcept { ++*reports; });
    },
};

}  // namespace
}  // namespace tarn::test

extern "C" [[gnu::visibility("default")]] const tarn::test::part* part_functions() { return &tarn::test::functions; }
