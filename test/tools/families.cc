// The families: each free list, store and kind of locking, odd sizes, and every product over a pool. With TARN_FEW_FAMILIES
// only one of each free list, and of a product.
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/tools/specimen.h"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/checking/checked.h"

namespace tarn::test {
namespace {

constexpr std::size_t room = 1300;  // blocks in what is bounded

/// The members that a pool has, whatever it is.
template <class Pool>
class pool_specimen : public specimen {
 public:
  std::size_t size() const noexcept override { return own().block_size(); }
  void* take() noexcept override { return own().try_allocate(); }
  void give(void* block) noexcept override { own().deallocate(block); }
  std::size_t take_batch(std::span<void*> out) noexcept override { return own().try_allocate_batch(out); }
  bool give_batch(std::span<void* const> in) noexcept override { return own().deallocate_batch(in), true; }
  bool reserve(std::size_t blocks) noexcept override { return own().try_reserve(blocks); }
  bool trim() noexcept override { return trim(own()); }
  bool release() noexcept override { return release(own()); }
  bool owns(const void* address) const noexcept override { return own().owns(address); }

 private:
  virtual Pool& get() const noexcept = 0;
  Pool& own() const noexcept { return get(); }

  template <class P>
  static bool trim(P& p) noexcept {
    if constexpr (requires { p.trim(); }) return p.trim(), true;
    else return false;
  }
  template <class P>
  static bool release(P& p) noexcept {
    if constexpr (requires { p.release(); }) return p.release(), true;
    else return false;
  }
};

template <class Pool, class... Given>
class object final : public pool_specimen<Pool> {
 public:
  explicit object(const Given&... given) : own_(given...) {}

 private:
  Pool& get() const noexcept override { return own_; }
  mutable Pool own_;
};

/// What has blocks of many sizes.
template <class Owner>
class sized final : public specimen {
 public:
  std::size_t size() const noexcept override { return 48; }
  void* take() noexcept override {
    if constexpr (requires { own_.try_allocate(std::size_t{48}); }) return own_.try_allocate(48);
    else return own_.allocate(48);
  }
  void give(void* block) noexcept override { own_.deallocate(block, 48); }
  bool trim() noexcept override { return own_.trim(), true; }
  bool release() noexcept override { return own_.release(), true; }

 private:
  Owner own_;
};

template <class Specimen>
std::unique_ptr<specimen> make() {
  return std::make_unique<Specimen>();
}
template <class... Policies>
constexpr family of(const char* name, bool many_threads = false, bool refuses = false) {
  return {name, [] { return make<object<pool<Policies...>>>(); }, many_threads, refuses};
}

using block = static_size<64>;

#ifndef TARN_FEW_FAMILIES

/// Over bytes that are the caller's again afterwards.
class buffered final : public pool_specimen<pool<static_size<40>, buffer_store>> {
  using type = pool<static_size<40>, buffer_store>;

 public:
  buffered() : bytes_(room * 40) { own_ = std::make_unique<type>(buffer_store{bytes_}); }
  ~buffered() override {
    own_.reset();
    for (std::byte& b : bytes_) b = std::byte{1};
  }

 private:
  type& get() const noexcept override { return *own_; }
  std::vector<std::byte> bytes_;
  std::unique_ptr<type> own_;
};

/// A static pool: the family's one.
template <class Static>
class of_tag final : public pool_specimen<std::remove_reference_t<decltype(Static::instance())>> {
  using type = std::remove_reference_t<decltype(Static::instance())>;
  type& get() const noexcept override { return Static::instance(); }
};

class of_xmalloc final : public specimen {
  std::size_t size() const noexcept override { return 96; }
  void* take() noexcept override { return xmalloc(96); }
  void give(void* block) noexcept override { xfree(block); }
};

struct thing {
  thing() noexcept {}  // leaves its bytes as they are: whoever takes the block writes them
  std::array<unsigned char, 72> bytes;
  DECLARE_MEMORY_POOL(thing)
};
struct other_thing {
  long value;
};

class of_objects final : public specimen {
 public:
  std::size_t size() const noexcept override { return sizeof(thing); }
  void* take() noexcept override { return own_.try_construct(); }
  void give(void* block) noexcept override { own_.destroy(static_cast<thing*>(block)); }
  bool reserve(std::size_t blocks) noexcept override { return own_.blocks().try_reserve(blocks); }
  bool trim() noexcept override { return own_.blocks().trim(), true; }
  bool release() noexcept override { return own_.release(), true; }
  bool owns(const void* address) const noexcept override { return own_.blocks().owns(address); }
  std::size_t objects() noexcept override {
    std::size_t n = 0;
    own_.for_each([&](thing& t) { n += t.bytes[0] == t.bytes[71]; });
    return n;
  }

 private:
  object_pool<thing> own_;
};
class of_multipool final : public specimen {
 public:
  std::size_t size() const noexcept override { return sizeof(thing); }
  void* take() noexcept override { return own_.try_construct<thing>(); }
  void give(void* block) noexcept override { own_.destroy(static_cast<thing*>(block)); }

 private:
  multipool<thing, other_thing> own_;
};
class of_class final : public specimen {
  std::size_t size() const noexcept override { return sizeof(thing); }
  void* take() noexcept override { return new thing; }
  void give(void* block) noexcept override { delete static_cast<thing*>(block); }
};
class of_allocator final : public specimen {
  std::size_t size() const noexcept override { return sizeof(thing); }
  void* take() noexcept override { return stl_allocator<thing>().allocate(1); }
  void give(void* block) noexcept override { stl_allocator<thing>().deallocate(static_cast<thing*>(block), 1); }
};

/// Objects that stay alive when they are given back: their bytes are read at the end, too.
class recycled final : public specimen {
  struct kept {
    kept() noexcept { bytes.fill(1); }
    ~kept() { sum(); }
    void reset() noexcept {
      sum();
      bytes.fill(1);
    }
    void sum() const noexcept {
      for (const unsigned char b : bytes) total = total + b;
    }
    std::array<unsigned char, 72> bytes;
  };
  static inline volatile unsigned total = 0;

 public:
  std::size_t size() const noexcept override { return sizeof(kept); }
  void* take() noexcept override { return own_.acquire(); }
  void give(void* block) noexcept override {
    own_.release(static_cast<kept*>(block));
    static_cast<kept*>(block)->sum();
  }
  bool reserve(std::size_t blocks) noexcept override { return own_.try_reserve(blocks); }
  bool owns(const void* address) const noexcept override { return own_.owns(static_cast<const kept*>(address)); }

 private:
  recycling_pool<kept> own_;
};

std::unique_ptr<specimen> make_dynamic() {
  using type = pool<dynamic_size, page_local_reuse<>>;
  return std::make_unique<object<type, dynamic_size>>(dynamic_size{40, 8});
}
/// Writes over what it takes back: that is its own again.
class overwriting final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* start, std::size_t bytes, std::size_t alignment) override {
    std::memset(start, 0, bytes);
    std::pmr::new_delete_resource()->deallocate(start, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};
std::unique_ptr<specimen> make_over_resource() {
  using type = pool<static_size<64>, resource_store>;
  static overwriting upstream;
  return std::make_unique<object<type, resource_store>>(resource_store{&upstream});
}

struct crew;
using statics = static_pool<struct statics_tag, block, thread_cached<>>;
using static_array = static_pool<struct static_array_tag, block, static_array_store<room>>;

#endif  // TARN_FEW_FAMILIES

constexpr std::array all = {
    of<block>("batch"),
    of<block, lifo_reuse<>>("lifo"),
    of<block, page_local_reuse<>>("page-local"),
    of<block, static_array_store<room>>("static array"),
    of<block, thread_cached<>>("thread-cached", true),
    family{"size classes", make<sized<size_class_pool<>>>},
#ifndef TARN_FEW_FAMILIES
    of<static_size<1>>("lifo, 1 byte"),
    of<static_size<12, 4>, lifo_reuse<>>("lifo, 12 bytes"),
    of<static_size<5000>>("batch, 5000 bytes"),
    of<static_size<256>>("batch, coloured"),
    of<static_size<100, 4096>>("batch, aligned to 4096"),
    family{"page-local, size at run time", make_dynamic},
    of<block, return_empty_chunks<0, 0>>("returning"),
    of<block, static_array_store<room>, page_local_reuse<>>("static array, page-local"),
    family{"buffer", make<buffered>, false, false, false},
    of<block, page_store<>>("pages"),
    family{"resource", make_over_resource},
    of<block, no_growth<200>, fall_back_to<page_store<>, fixed_growth<200>>>("fall back"),
    of<block, grouped_locking<crew, std::mutex>>("group", true),
    of<block, lock_free>("lock-free", true),
    of<static_size<12, 4>, lock_free>("lock-free, 12 bytes", true),
    of<block, thread_cached<>, return_empty_chunks<>>("thread-cached, returning", true),
    family{"static pool", make<of_tag<statics>>, true, false, false},
    family{"static pool, array", make<of_tag<static_array>>, false, false, false},
    family{"pmr resource, threads", make<sized<tarn::pmr::synchronized_pool_resource>>, true},
    family{"xmalloc", make<of_xmalloc>, true, false, false},
    family{"objects", make<of_objects>},
    family{"recycled objects", make<recycled>, false, false, true, false},
    family{"multipool", make<of_multipool>},
    family{"class's own new", make<of_class>, true, false, false},
    family{"allocator", make<of_allocator>, true, false, false},
    of<block, hardened>("hardened", false, true),
    of<block, hardened_with<guard_bytes>, lifo_reuse<>>("hardened, guard bytes", false, true),
    of<static_size<12, 4>, checked>("checked, 12 bytes", false, true),
    of<block, checked, thread_cached<>>("checked, thread-cached", true, true),
#endif
};

}  // namespace

std::span<const family> families() noexcept { return all; }

}  // namespace tarn::test
