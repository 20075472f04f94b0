// The composition families of the matrix, for one checking policy. Each policy has a source file of its own: compilers then
// work side by side.
#ifndef TARN_TEST_MISUSE_FAMILIES_H_
#define TARN_TEST_MISUSE_FAMILIES_H_

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/misuse/subject.h"
#include "tarn/test/support/anatomy.h"

namespace tarn::test {

template <class Pool, std::size_t Bytes, std::size_t Alignment>
class subject_of final : public subject {
  using parts = anatomy<Pool>;
  using pool_traits = typename parts::traits;
  using checking = typename parts::checking;
  static constexpr std::size_t buffer_bytes = std::is_same_v<typename parts::store, buffer_store> ? std::size_t{256} * 1024 : 1;

 public:
  explicit subject_of(const char* name) : buffer_(std::make_unique<std::byte[]>(buffer_bytes)) {
    std::apply([this](const auto&... given) { pool_ = ::new (static_cast<void*>(place_)) Pool(given...); },
               std::tuple_cat(size_value(), store_value(), checking_value(name)));
  }
  ~subject_of() override { end(); }
  static_assert(!std::is_move_constructible_v<Pool> && !std::is_move_assignable_v<Pool>);  // blocks would lose their pool
  subject_of(const subject_of&) = delete;
  subject_of& operator=(const subject_of&) = delete;

  bool owns(const void* address) const noexcept override { return pool_->owns(address); }
  std::size_t block_size() const noexcept override { return pool_->block_size(); }
  std::size_t block_alignment() const noexcept override { return pool_->block_alignment(); }
  std::size_t capacity() const noexcept override { return pool_->capacity(); }
  bool try_reserve(std::size_t blocks) noexcept override { return pool_->try_reserve(blocks); }
  void hand_over() noexcept override { pool_->hand_over(); }
  std::optional<std::size_t> verify() noexcept override { return verify_of(*pool_); }

  void* get() noexcept override { return pool_->try_allocate(); }
  void give(void* block) noexcept override { pool_->deallocate(block); }
  void give(void* block, std::size_t bytes, std::size_t alignment) noexcept override {
    pool_->deallocate(block, bytes, alignment);
  }
  void end() noexcept override {
    if (!std::exchange(ended_, true)) pool_->~Pool();
  }

  const void* address() const noexcept override { return place_; }
  const void* block_at(const void* chunk, std::size_t number) const noexcept override {
    return static_cast<const std::byte*>(chunk) + shape().distance(number) + shape().offset();
  }

  void drain() noexcept override { detail::inspector::drained(*pool_); }
  std::byte* link_of(void* block) const noexcept override { return static_cast<std::byte*>(shape().links(block)); }
  void find_mark(void* block) noexcept override {
    if constexpr (checking::traits.refuses) {
      auto& chunks = detail::inspector::drained(*pool_).chunks;
      auto& c = *chunks.find(block);
      mark_ = static_cast<detail::block_records<typename checking::record>&>(c).find(slot_of(c.first, block));
    }
  }
  void set_mark(bool in_use) noexcept override {
    if constexpr (checking::traits.refuses) {
      auto& record = *static_cast<typename checking::record*>(mark_);
      if constexpr (requires { record.state; }) {
        using record_type = std::remove_reference_t<decltype(record)>;
        record.state = in_use ? record_type::used : record_type::idle;
      } else {
        record.freed = in_use ? 0 : record.allocated + 1;
      }
    }
  }
  std::uint64_t* bitmap_word([[maybe_unused]] void* block, [[maybe_unused]] std::uint64_t& bit) noexcept override {
    if constexpr (parts::reuse::traits.sees_empty_chunks) {
      using layout = typename pool_traits::layout;
      auto& chunks = detail::inspector::drained(*pool_).chunks;
      const auto& c = *chunks.find(block);
      std::byte* const column = static_cast<std::byte*>(c.region.start) + layout::record_bytes() +
                                layout::template column_bytes<typename layout::locking_column>(c.blocks, chunks.geometry());
      const std::size_t i = slot_of(c.first, block);
      bit = std::uint64_t{1} << i % 64;
      return reinterpret_cast<std::uint64_t*>(column) + i / 64;
    } else {
      return nullptr;
    }
  }

  std::unique_ptr<subject> another(const char* name) const override { return std::make_unique<subject_of>(name); }

  static std::unique_ptr<subject> make(const char* name) { return std::make_unique<subject_of>(name); }

  static traits of(policy checks) {
    using locking = typename parts::locking;
    traits t;
    t.checks = checks;
    t.size = Bytes;
    t.payload = shape().payload();
    if (locking::traits.keeps_blocks) t.list = home::magazines;
    else if (locking::traits.own_free_list) t.list = home::stack;
    else if (parts::reuse::traits.sees_empty_chunks) t.list = home::bitmap;
    else if (parts::reuse::traits.min_block > sizeof(void*)) t.list = home::batches;
    t.one_thread = locking::traits.one_thread;
    t.grouped = requires { locking::owner(); };
    t.bounded = parts::store::traits.bounded;
    t.over_resource = std::is_same_v<typename parts::store, resource_store>;
    return t;
  }

 private:
  using geometry = typename pool_traits::geometry;
  static constexpr geometry shape() noexcept {
    if constexpr (std::is_same_v<typename parts::size, dynamic_size>) return geometry(dynamic_size{Bytes, Alignment});
    else return geometry();
  }
  static std::size_t slot_of(const std::byte* first, const void* block) noexcept {
    return shape().slot_at(static_cast<std::size_t>(static_cast<const std::byte*>(block) - first) - shape().offset());
  }

  static auto size_value() noexcept {
    if constexpr (std::is_same_v<typename parts::size, dynamic_size>) return std::tuple(dynamic_size{Bytes, Alignment});
    else return std::tuple();
  }
  auto store_value() noexcept {
    if constexpr (std::is_same_v<typename parts::store, buffer_store>)
      return std::tuple(buffer_store(std::span(buffer_.get(), buffer_bytes)));
    else if constexpr (std::is_same_v<typename parts::store, resource_store>) return std::tuple(resource_store(&upstream));
    else return std::tuple();
  }
  static auto checking_value(const char* name) noexcept {
    if constexpr (checking::traits.refuses) return std::tuple(checking{name});
    else return std::tuple();
  }
  template <class P>
  static std::optional<std::size_t> verify_of(P& pool) noexcept {
    if constexpr (requires { pool.verify(); }) return pool.verify();
    else return std::nullopt;
  }

  std::unique_ptr<std::byte[]> buffer_;
  alignas(Pool) std::byte place_[sizeof(Pool)];
  Pool* pool_ = nullptr;
  void* mark_ = nullptr;
  bool ended_ = false;
};

struct crew;  // a group

template <std::size_t Bytes, std::size_t Alignment, class... Policies>
struct blocks_of {};

/// Every free list, store and locking with blocks of 64 bytes; smaller than a list's links, or with a stricter alignment, those
/// where it makes a difference. With guard bytes, which lie beside each block whatever the store and the locking are, each kind
/// of list and of block; without checking, which has no code for any of this, five.
template <policy Checks, class Checking>
std::vector<family> families_with() {
  std::vector<family> all;
  const auto add_pool = [&]<class Pool, std::size_t Bytes, std::size_t Alignment>(const char* name, std::type_identity<Pool>,
                                                                                  blocks_of<Bytes, Alignment>) {
    using s = subject_of<Pool, Bytes, Alignment>;
    all.push_back({name + std::string(", ") + std::to_string(Bytes) + " bytes", s::of(Checks), &s::make});
  };
  const auto add = [&]<std::size_t Bytes, std::size_t Alignment, class... Policies>(
                       const char* name, blocks_of<Bytes, Alignment, Policies...>) {
    add_pool(name, std::type_identity<pool<static_size<Bytes, Alignment>, Policies..., Checking>>(),
             blocks_of<Bytes, Alignment>());
  };
  add("static array, lifo", blocks_of<64, 8, static_array_store<600>, lifo_reuse<>>());
  add("heap, page_local", blocks_of<64, 8, heap_store, page_local_reuse<>>());
  add("thread_cached", blocks_of<64, 8, thread_cached<>>());
  add("lock_free", blocks_of<64, 8, lock_free>());
  add("resource_store", blocks_of<64, 8, resource_store, fixed_growth<100>>());
  if constexpr (Checks != policy::none) {
    add("heap, batch", blocks_of<64, 8, heap_store, batch_reuse<>>());
    add("heap, lifo", blocks_of<64, 8, heap_store, lifo_reuse<>>());
    add_pool("dynamic_size", std::type_identity<pool<dynamic_size, Checking>>(), blocks_of<64, 8>());
    add("heap, lifo", blocks_of<8, 8, heap_store, lifo_reuse<>>());
    add_pool("dynamic_size", std::type_identity<pool<dynamic_size, Checking>>(), blocks_of<8, 8>());
    add("heap, page_local", blocks_of<8, 8, heap_store, page_local_reuse<>>());
    add("thread_cached", blocks_of<8, 8, thread_cached<>>());
    add("heap, batch", blocks_of<256, 64, heap_store, batch_reuse<>>());
    add("buffer", blocks_of<256, 64, buffer_store>());
  }
  if constexpr (Checks == policy::hardened || Checks == policy::checked) {
    add("return_empty_chunks", blocks_of<64, 8, return_empty_chunks<>, fixed_growth<100>>());
    add("buffer", blocks_of<64, 8, buffer_store>());
    add("mutex", blocks_of<64, 8, mutex_locking<>, fixed_growth<128>>());
    add("page_store", blocks_of<64, 8, page_store<>>());
    add("grouped", blocks_of<64, 8, grouped_locking<crew>>());
    add("static array, lifo", blocks_of<8, 8, static_array_store<600>, lifo_reuse<>>());
    add("lock_free", blocks_of<8, 8, lock_free>());
    add("thread_cached", blocks_of<256, 64, thread_cached<>>());
    add("lock_free", blocks_of<256, 64, lock_free>());
  }
  return all;
}

std::vector<family> families_without_checking();
std::vector<family> families_hardened();
std::vector<family> families_with_guard_bytes();
std::vector<family> families_checked();

}  // namespace tarn::test

#endif  // TARN_TEST_MISUSE_FAMILIES_H_
