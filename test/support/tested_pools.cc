// The tested compositions, compiled in shards so that two compilers work at once. Shard 0 gathers them all.
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/tested_pools.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "tarn/allocator/block_reservation.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/test/support/compositions.h"
#include "tarn/test/support/rig.h"

namespace tarn::test {

template <std::size_t Shard>
std::vector<tested_pool> pools_of_shard();

namespace {

template <class Pool>
class erased_reservation final : public any_reservation {
 public:
  erased_reservation(Pool& pool, std::size_t blocks) : held_(pool.try_reserve_blocks(blocks)) {}
  explicit operator bool() const noexcept override { return static_cast<bool>(held_); }
  std::size_t remaining() const noexcept override { return held_.remaining(); }
  void* allocate() noexcept override { return held_.allocate(); }

 private:
  typename Pool::reservation held_;
};

template <class Pool>
class erased_rig final : private holder<rig<Pool>>, public any_rig {
 public:
  erased_rig() : any_rig(view_, this->held.upstream), view_(this->held.pool) {}
  // No reader looks into a pool while another thread changes it here.
  const void* chunk_of(const void* block) const noexcept override {
    return detail::inspector::drained(const_cast<Pool&>(this->held.pool)).chunks.find(block);
  }
  std::unique_ptr<any_reservation> try_reserve_blocks(std::size_t blocks) override {
    return std::make_unique<erased_reservation<Pool>>(this->held.pool, blocks);
  }

 private:
  erased_view<Pool> view_;
};

template <class Pool>
void tell_of_buffers(tested_pool& p) {
  if constexpr (facts<Pool>::size::traits.at_run_time) {
    p.bytes_for = [](std::size_t n, std::size_t alignment) { return Pool::bytes_for(n, dynamic_size{48, 16}, alignment); };
    p.blocks_in = [](std::size_t n, std::size_t alignment) { return Pool::blocks_in(n, dynamic_size{48, 16}, alignment); };
    p.make_in = [](std::span<std::byte> bytes) -> std::unique_ptr<any_pool> {
      return std::make_unique<erased<Pool>>(dynamic_size{48, 16}, buffer_store{bytes});
    };
  } else {
    p.bytes_for = [](std::size_t n, std::size_t alignment) { return Pool::bytes_for(n, alignment); };
    p.blocks_in = [](std::size_t n, std::size_t alignment) { return Pool::blocks_in(n, alignment); };
    p.make_in = [](std::span<std::byte> bytes) -> std::unique_ptr<any_pool> {
      return std::make_unique<erased<Pool>>(buffer_store{bytes});
    };
  }
}

template <class Pool>
tested_pool row_of(std::size_t row) {
  using is = facts<Pool>;
  tested_pool p{};
  p.row = row;
  p.at_run_time = is::size::traits.at_run_time;
  if constexpr (!is::size::traits.at_run_time) p.bytes = is::size::bytes(), p.alignment = is::size::alignment();
  p.bounded = is::store::traits.bounded;
  p.ends = is::ends;
  p.over_resource = is::over_resource;
  p.keeps_memory = is::keeps_memory;
  p.keeps_blocks = is::keeps_blocks;
  p.sees_empty_chunks = is::sees_empty_chunks;
  p.returns_chunks = is::returns_chunks;
  p.returns_pages = is::returns_pages;
  p.may_return_chunks = is::may_return_chunks;
  p.in_place = is::in_place;
  p.one_thread = is::locking::traits.one_thread;
  p.is_listed = is::name::traits.is_listed;
  p.beside = is::beside;
  p.make = []() -> std::unique_ptr<any_rig> { return std::make_unique<erased_rig<Pool>>(); };
  if constexpr (is::over_resource)
    p.make_over = [](upstream& u) -> std::unique_ptr<any_pool> {
      if constexpr (is::size::traits.at_run_time)
        return std::make_unique<erased<Pool>>(dynamic_size{48, 16}, resource_store{&u});
      else
        return std::make_unique<erased<Pool>>(resource_store{&u});
    };
  if constexpr (std::same_as<typename is::store, buffer_store>) tell_of_buffers<Pool>(p);
  return p;
}

}  // namespace

template <>
std::vector<tested_pool> pools_of_shard<TARN_SHARD>() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector{row_of<typename std::tuple_element_t<I, shard>::type>(I * TARN_SHARDS + TARN_SHARD)...};
  }(std::make_index_sequence<std::tuple_size_v<shard>>{});
}

#if TARN_SHARD == 0
template <std::size_t... Shard>
std::vector<tested_pool> all_of(std::index_sequence<Shard...>) {
  std::vector<tested_pool> all;
  const auto add = [&](std::vector<tested_pool> some) { all.insert(all.end(), some.begin(), some.end()); };
  (add(pools_of_shard<Shard>()), ...);
  std::ranges::sort(all, {}, &tested_pool::row);
  return all;
}
const std::vector<tested_pool>& tested_pools() {
  static const std::vector<tested_pool> all = all_of(std::make_index_sequence<TARN_SHARDS>{});
  return all;
}
#endif

}  // namespace tarn::test
