// A user's program: the products, each with what one usually writes.
#include "tarn/allocator/all.h"
#include "tarn/allocator/xmalloc.h"

#include <cstddef>
#include <memory_resource>
#include <string_view>

namespace {

struct order {
  order(int number, double price) noexcept : number_(number), price_(price) {}
  void reset() noexcept { number_ = 0; }
  int number_;
  double price_;
};
struct line {
  virtual ~line() = default;
  std::size_t words[4]{};
  DECLARE_MEMORY_POOL(line)
};
struct long_line final : line {
  std::size_t more[4]{};
};
struct orders_tag;
using orders = tarn::static_pool<orders_tag, tarn::size_of<order>, tarn::shared_locking>;

int failed = 0;
void check(bool is_right) { failed += is_right ? 0 : 1; }

template <class... Policies>
void use_pool(const auto&... values) {
  tarn::pool<tarn::static_size<64>, Policies...> pool(values...);
  void* blocks[100];
  const std::size_t got = pool.try_allocate_batch(blocks);
  check(got == 100);
  pool.deallocate_batch({blocks, got});
  auto held = pool.try_reserve_blocks(3);
  void* const block = held.allocate();
  check(block != nullptr);
  pool.deallocate(block);
}

void use_objects() {
  tarn::object_pool<order, tarn::hardened_with<tarn::generations>> pool;
  order* const one = pool.try_construct(1, 9.5);
  const tarn::handle<order> handle = pool.handle_to(one);
  check(pool.get(handle) == one);
  pool.destroy(one);
  check(pool.get(handle) == nullptr);
  tarn::multipool<order, line> several;
  several.destroy(several.try_construct<order>(2, 1.5));
  line* const own = new long_line;
  check(own->words[3] == 0);
  delete own;
  void* const block = orders::instance().try_allocate();
  orders::instance().deallocate(block);
}

void use_sizes() {
  tarn::size_class_pool<> blocks;
  blocks.deallocate(blocks.try_allocate(100), 100);
  tarn::pool_resource<> resource;
  resource.deallocate(resource.allocate(1000), 1000);
  tarn::map<int, tarn::string> names;
  for (int i = 0; i != 100; ++i) names[i] = std::string_view("a name that lies in no small buffer");
  check(names.size() == 100);
  tarn::vector<int> numbers(1000, 7);
  check(numbers[999] == 7);
  tarn::xfree(tarn::xrealloc(tarn::xmalloc(100), 5000));
}

}  // namespace

int main() {
  alignas(64) static std::byte buffer[20'000];
  use_pool<>();
  use_pool<tarn::mutex_locking<>, tarn::page_store<>, tarn::return_empty_chunks<>>();
  use_pool<tarn::thread_cached<>, tarn::checked>();
  use_pool<tarn::lock_free, tarn::no_growth<1000>, tarn::hardened>();
  use_pool<tarn::static_array_store<200>, tarn::fall_back_to<tarn::heap_store>>();
  use_pool<tarn::buffer_store, tarn::counting_statistics>(tarn::buffer_store(buffer));
  use_pool<tarn::batch_reuse<>, tarn::reclaim_and_retry<>>();
  use_pool<tarn::page_local_reuse<>, tarn::sampled_guard_pages<1>>();
  use_objects();
  use_sizes();
  return failed;
}
