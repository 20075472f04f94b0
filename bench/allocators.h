// The columns: every allocator under test as a class with `take()`, `give(block)` and a name.
// The names are keys; report.py knows what to print for them.
#ifndef TARN_BENCH_ALLOCATORS_H_
#define TARN_BENCH_ALLOCATORS_H_

#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <new>

#include <boost/pool/pool.hpp>
#include <boost/pool/singleton_pool.hpp>

#include "tarn/bench/measure.h"
#include "tarn/bench/reference.h"

#if __has_include("tarn/bench/peers/plf_hive.h")
#include "tarn/bench/peers/plf_hive.h"
#endif

namespace tarn_bench {

/// Calls of the functions, not new-expressions, which a compiler may leave out.
template <std::size_t Bytes>
struct new_delete {
  static constexpr const char* name = "new_delete";
  void* take() { return ::operator new(Bytes); }
  void give(void* block) { ::operator delete(block); }
};

template <std::size_t Bytes>
struct boost_pool {
  static constexpr const char* name = "boost_pool";
  void* take() { return pool_.malloc(); }
  void give(void* block) { pool_.free(block); }

 private:
  boost::pool<> pool_{Bytes};
};

/// Boost's own shared pool: a static object behind a std::mutex.
template <std::size_t Bytes>
struct boost_singleton {
  static constexpr const char* name = "boost_singleton";
  using pool = boost::singleton_pool<boost_singleton, Bytes>;
  void* take() { return pool::malloc(); }
  void give(void* block) { pool::free(block); }
  ~boost_singleton() { pool::purge_memory(); }
};

template <std::size_t Bytes, class Resource>
struct pmr_column {
  void* take() { return resource_.allocate(Bytes, alignment); }
  void give(void* block) { resource_.deallocate(block, Bytes, alignment); }

 private:
  static constexpr std::size_t alignment = Bytes % 16 == 0 ? 16 : 8;
  Resource resource_;
};
template <std::size_t Bytes>
struct pmr_unsync : pmr_column<Bytes, std::pmr::unsynchronized_pool_resource> {
  static constexpr const char* name = "pmr_unsync";
};
template <std::size_t Bytes>
struct pmr_sync : pmr_column<Bytes, std::pmr::synchronized_pool_resource> {
  static constexpr const char* name = "pmr_sync";
};

/// What `bench/run --peers NAME=FOLDER` found in a folder: a container whose objects stay where they are. It finds the group of
/// an object by its address, which who keeps iterators needn't.
#if __has_include("tarn/bench/peers/plf_hive.h")
template <std::size_t Bytes>
class hive {
  struct object {
    object() {}  // nothing is written
    alignas(Bytes % 16 == 0 ? 16 : 8) unsigned char bytes[Bytes];
  };
  plf::hive<object> objects_;

 public:
  static constexpr const char* name = "plf_hive";
  void* take() { return &*objects_.emplace(); }
  void give(void* block) { objects_.erase(objects_.get_iterator(static_cast<object*>(block))); }
};
template <std::size_t Bytes>
using header_peers = columns<hive<Bytes>>;
#else
template <std::size_t Bytes>
using header_peers = columns<>;
#endif

/// The hand-written references, on pages of the usual size and on huge ones.
template <std::size_t Bytes>
struct list : bare_list<Bytes> {
  static constexpr const char* name = "bare_list";
};
template <std::size_t Bytes>
struct front : bare_front<Bytes> {
  static constexpr const char* name = "bare_front";
};
template <std::size_t Bytes>
struct front_huge : bare_front<Bytes, huge_source> {
  static constexpr const char* name = "bare_front_huge";
};

/// The plain list behind a mutex: what everybody writes first when a second thread arrives.
template <std::size_t Bytes>
struct list_locked {
  static constexpr const char* name = "bare_list_locked";
  void* take() {
    const std::lock_guard lock{mutex_};
    return list_.take();
  }
  void give(void* block) {
    const std::lock_guard lock{mutex_};
    list_.give(block);
  }

 private:
  std::mutex mutex_;
  bare_list<Bytes> list_;
};

}  // namespace tarn_bench

#endif  // TARN_BENCH_ALLOCATORS_H_
