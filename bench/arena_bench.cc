// Question ("Arenas"): what does memory cost that is dropped at once? 200 blocks of 16 to 256 bytes through the interface of
// std::pmr; a request with a map, strings and a vector; a tree of 10,000 nodes with destructors; and blocks of a known size.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

#include "tarn/allocator/arena.h"
#include "tarn/allocator/arena_resource.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/bench/loops.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "arena";

// ---- through std::pmr: resource(), and drop(), which ends all blocks ------------------------------------------------------

struct monotonic {
  static constexpr const char* name = "pmr_monotonic";
  std::pmr::memory_resource* resource() { return &its_; }
  void drop() { its_.release(); }
  std::pmr::monotonic_buffer_resource its_;
};
struct monotonic_buffer {
  static constexpr const char* name = "pmr_monotonic_buffer";
  std::pmr::memory_resource* resource() { return &its_; }
  void drop() { its_.release(); }
  static constexpr std::size_t bytes = 1 << 20;
  std::unique_ptr<std::byte[]> buffer_ = std::make_unique<std::byte[]>(bytes);
  std::pmr::monotonic_buffer_resource its_{buffer_.get(), bytes};
};
/// The least that a resource can do: two pointers into a buffer, no chunks, nothing comes back.
struct resource_by_hand : std::pmr::memory_resource {
  static constexpr const char* name = "bare_arena";
  std::pmr::memory_resource* resource() { return this; }
  void drop() { at_ = buffer_.get(); }

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    const std::size_t taken = (size + 7) & ~std::size_t{7};
    if (alignment > 8 || taken > static_cast<std::size_t>(end_ - at_)) [[unlikely]]
      std::abort();
    return at_ += taken, at_ - taken;
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  static constexpr std::size_t bytes = 1 << 20;
  std::unique_ptr<std::byte[]> buffer_ = std::make_unique<std::byte[]>(bytes);
  std::byte* at_ = buffer_.get();
  std::byte* end_ = buffer_.get() + bytes;
};
struct arena_column {
  static constexpr const char* name = "tarn_arena";
  std::pmr::memory_resource* resource() { return &its_; }
  void drop() { its_.reset(); }
  tarn::pmr::arena_resource its_;
};
struct pools_released {
  static constexpr const char* name = "tarn_pmr_released";
  std::pmr::memory_resource* resource() { return &its_; }
  void drop() { its_.release(); }
  tarn::pmr::unsynchronized_pool_resource its_;
};
struct pools_reset {
  static constexpr const char* name = "tarn_pmr_reset";
  std::pmr::memory_resource* resource() { return &its_; }
  void drop() { its_.reset(); }
  tarn::pmr::unsynchronized_pool_resource its_;
};
using resources = columns<monotonic, monotonic_buffer, resource_by_hand, arena_column, pools_released, pools_reset>;

/// Behind a pointer whose dynamic type the compiler doesn't know, as a user's containers have it. Otherwise g++ clones the loop
/// for each resource, without a virtual call.
template <class Column>
std::pmr::memory_resource* hidden(Column& column) {
  std::pmr::memory_resource* resource = column.resource();
  asm("" : "+r"(resource));
  return resource;
}

constexpr std::size_t blocks = 200;
const std::array<std::uint16_t, blocks> sizes = [] {
  random_source random{5};
  std::array<std::uint16_t, blocks> all;
  for (std::uint16_t& size : all) size = static_cast<std::uint16_t>(16 + random.below(241));
  return all;
}();

TARN_BENCH_LOOP void take_all(std::pmr::memory_resource& resource) {
  for (const std::uint16_t size : sizes) {
    auto* const block = static_cast<std::size_t*>(resource.allocate(size, 8));
    *block = size;
    keep(block);
  }
}
constexpr auto dropped = []<class Column>(benchmark::State& state) {
  alignas(64) Column column;
  for (auto _ : state)
    for (int i = 0; i != 20; ++i) {
      take_all(*hidden(column));
      column.drop();
    }
  report(state, 20 * blocks);
};

TARN_BENCH_LOOP void serve(std::pmr::memory_resource* resource) {
  static const std::string text(64, 't');
  std::pmr::map<int, std::pmr::string> texts(resource);
  std::pmr::vector<int> numbers(resource);
  random_source random{7};
  for (int i = 0; i != 50; ++i) {
    const int key = static_cast<int>(random.below(100'000));
    texts.emplace(key, std::pmr::string(text, 0, 20 + static_cast<std::size_t>(key) % 45, resource));
  }
  for (int i = 0; i != 300; ++i) numbers.push_back(i);
  keep(numbers.data());
}
constexpr auto request = []<class Column>(benchmark::State& state) {
  alignas(64) Column column;
  for (auto _ : state)
    for (int i = 0; i != 20; ++i) {
      serve(hidden(column));
      column.drop();
    }
  report(state, 20);
};

// ---- nodes with destructors: make(value), and drop(root) -------------------------------------------------------------------

long alive = 0;
struct node {
  explicit node(long v) noexcept : value(v) { ++alive; }
  node(const node&) = delete;
  ~node() { --alive; }
  node* left = nullptr;
  node* right = nullptr;
  long value;
};
template <class Column>
node* build(Column& column, int n) {
  if (n == 0) return nullptr;
  node* const made = column.make(n);
  const int half = (n - 1) / 2;
  made->left = build(column, half);
  made->right = build(column, n - 1 - half);
  return made;
}
template <class End>
void end_tree(node* root, End end) {
  if (root == nullptr) return;
  end_tree(root->left, end);
  end_tree(root->right, end);
  end(root);
}

struct nodes_of_new {
  static constexpr const char* name = "new_delete";
  node* make(long value) { return new node(value); }
  void drop(node* root) {
    end_tree(root, [](node* one) { delete one; });
  }
};
struct nodes_of_object_pool {
  static constexpr const char* name = "tarn_default";
  node* make(long value) { return pool_.construct(value); }
  void drop(node* root) {
    end_tree(root, [this](node* one) { pool_.destroy(one); });
  }
  tarn::object_pool<node> pool_;
};
struct nodes_of_arena {
  static constexpr const char* name = "tarn_arena";
  node* make(long value) { return its_.create<node>(value); }
  void drop(node*) { its_.reset(); }
  tarn::arena<> its_;
};
/// What abseil and protobuf do: an arena, and a list of destructors and their objects beside it.
struct nodes_by_hand {
  static constexpr const char* name = "bare_arena";
  struct cleanup {
    void* object;
    void (*end)(void*);
  };
  node* make(long value) {
    auto* const made = ::new (its_.allocate(sizeof(node), alignof(node))) node(value);
    cleanups_.push_back({made, [](void* one) { static_cast<node*>(one)->~node(); }});
    return made;
  }
  void drop(node*) {
    for (std::size_t left = cleanups_.size(); left != 0; --left) cleanups_[left - 1].end(cleanups_[left - 1].object);
    cleanups_.clear();
    its_.release();
  }
  static constexpr std::size_t bytes = 1 << 20;
  std::unique_ptr<std::byte[]> buffer_ = std::make_unique<std::byte[]>(bytes);
  std::pmr::monotonic_buffer_resource its_{buffer_.get(), bytes};
  std::vector<cleanup> cleanups_;
};
constexpr auto tree = []<class Column>(benchmark::State& state) {
  alignas(64) Column column;
  constexpr int nodes = 10'000;
  for (auto _ : state) {
    node* const root = build(column, nodes);
    keep(root);
    column.drop(root);
  }
  if (alive != 0) std::abort();
  report(state, nodes);
};

// ---- blocks of a known size: take(), and drop() ---------------------------------------------------------------------------

/// Two pointers into a buffer, and nothing else.
struct bump_by_hand {
  static constexpr const char* name = "bare_arena";
  void* take() {
    if (at_ + 24 > end_) [[unlikely]]
      std::abort();
    return at_ += 24, at_ - 24;
  }
  void drop() { at_ = buffer_.get(); }
  static constexpr std::size_t bytes = 1 << 16;
  std::unique_ptr<std::byte[]> buffer_ = std::make_unique<std::byte[]>(bytes);
  std::byte* at_ = buffer_.get();
  std::byte* end_ = buffer_.get() + bytes;
};
template <class... Policies>
struct bump {
  void* take() { return its_.template allocate<24>(); }
  void drop() { its_.reset(); }
  tarn::arena<Policies...> its_;
};
struct bump_arena : bump<> {
  static constexpr const char* name = "tarn_arena";
};
struct bump_checked : bump<tarn::checked> {
  static constexpr const char* name = "tarn_checked";
};
struct bump_mutex : bump<tarn::mutex_locking<>> {
  static constexpr const char* name = "tarn_mutex";
};
template <class Column>
TARN_BENCH_LOOP void take_known(Column& column) {
  for (std::size_t i = 0; i != blocks; ++i) take_block(column, i);
}
constexpr auto known = []<class Column>(benchmark::State& state) {
  alignas(64) Column column;
  for (auto _ : state)
    for (int i = 0; i != 20; ++i) {
      take_known(column);
      column.drop();
    }
  report(state, 20 * blocks);
};

}  // namespace

void register_benchmarks() {
  add(table, "blocks", resources{}, dropped);
  add(table, "request", resources{}, request);
  add(table, "tree", columns<nodes_of_new, nodes_by_hand, nodes_of_object_pool, nodes_of_arena>{}, tree);
  add(table, "known", columns<bump_by_hand, bump_arena, bump_checked, bump_mutex>{}, known);
}

}  // namespace tarn_bench
