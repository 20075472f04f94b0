// Class-level operator new in every kind of class, and at every time of a program's life.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

/// Whether a new object of T lies in the pool of Owner, and its block is the one that comes next once it was deleted.
template <class Owner, class T, class Deleted = T, class... Args>
bool is_pooled(Args&&... args) {
  T* const object = new T(std::forward<Args>(args)...);
  const void* const block = dynamic_cast<const void*>(object);
  const bool ours = Owner::memory_pool().owns(block);
  delete static_cast<Deleted*>(object);
  void* const next = Owner::memory_pool().allocate();
  Owner::memory_pool().deallocate(next);
  return ours && next == block;
}

// ---- debug heaps -----------------------------------------------------------------------------------------------------------

struct throws_at_two {
  explicit throws_at_two(int n) {
    if (n == 2) throw n;
  }
  int its = 0;
  DECLARE_MEMORY_POOL_WITH(throws_at_two)
};
struct alignas(64) aligned_more : throws_at_two {
  aligned_more() : throws_at_two(1) {}
};
struct refused {
  long its[2] = {};
  DECLARE_MEMORY_POOL_WITH__NOTHROW(refused, tarn::static_array_store<1>)
};

template <class New>
void calls_with_lines(New make) {
  auto& pool = throws_at_two::memory_pool();
  throws_at_two* const one = make(1);
  CHECK(pool.owns(one));
  BOOST_CHECK_THROW(make(2), int);
  void* const next = pool.allocate();  // that of the object that wasn't made
  pool.deallocate(next);
  CHECK(make(1) == next);
  delete one;
  delete static_cast<throws_at_two*>(next);
}

BOOST_AUTO_TEST_CASE(a_macro_called_new) {
  static char file[] = "file.cc";  // as MFC's THIS_FILE
#define new new (file, __LINE__)
  calls_with_lines([](int n) { return new throws_at_two(n); });
  const std::unique_ptr<aligned_more> aligned(new aligned_more);
  CHECK(reinterpret_cast<std::uintptr_t>(aligned.get()) % 64 == 0);
  const std::unique_ptr<refused[]> array(new refused[3]);
  CHECK(!refused::memory_pool().owns(array.get()));
  const std::unique_ptr<refused> last(new refused);
  CHECK(new refused == nullptr);
#undef new
#define new new (1, __FILE__, __LINE__)  // the CRT's
  calls_with_lines([](int n) { return new throws_at_two(n); });
#undef new
}

// ---- kinds of classes ------------------------------------------------------------------------------------------------------

class with_semicolon {
 public:
  virtual ~with_semicolon() = default;

 private:
  long hidden_ = 1;
  DECLARE_MEMORY_POOL(with_semicolon);
  long after() const { return hidden_; }
};
class without_semicolon {
 public:
  virtual ~without_semicolon() = default;

 private:
  long hidden_ = 2;
  DECLARE_MEMORY_POOL__NOTHROW(without_semicolon)
  long after() const { return hidden_; }
};

BOOST_AUTO_TEST_CASE(a_semicolon_may_follow_and_access_is_public_afterwards) {
  CHECK((is_pooled<with_semicolon, with_semicolon>()));
  CHECK((is_pooled<without_semicolon, without_semicolon>()));
  CHECK(with_semicolon().after() == 1 && without_semicolon().after() == 2);
}

// The macros take a class by any of its names, also by one that has commas.
template <class K, class V>
struct named_in_full {
  virtual ~named_in_full() = default;
  K key{};
  V value{};
  DECLARE_MEMORY_POOL(named_in_full<K, V>)
};
template <class K, class V>
struct named_in_full_for_a_group {
  virtual ~named_in_full_for_a_group() = default;
  K key{};
  V value{};
  DECLARE_MEMORY_POOL_GROUPED__NOTHROW(named_in_full_for_a_group<K, V>, struct crowd)
};
template <class A, class B, class C, class D, class E>
struct named_in_full_with_policies {
  virtual ~named_in_full_with_policies() = default;
  DECLARE_MEMORY_POOL_WITH(named_in_full_with_policies<A, B, C, D, E>, tarn::fixed_growth<8>, tarn::no_locking)
};

BOOST_AUTO_TEST_CASE(names_with_commas) {
  using one = named_in_full<int, long>;
  using two = named_in_full_for_a_group<int, long>;
  using five = named_in_full_with_policies<char, short, int, long, float>;
  CHECK((is_pooled<one, one>()) && (is_pooled<two, two>()) && (is_pooled<five, five>()));
  PREPARE_MEMORY_POOL(named_in_full<int, long>, 1000);
  PREPARE_MEMORY_POOL(named_in_full_for_a_group<int, long>, 999 + one::memory_pool().owns(nullptr));
  PREPARE_MEMORY_POOL(named_in_full_with_policies<char, short, int, long, float>, 16);
  CHECK(one::memory_pool().capacity() >= 1000 && two::memory_pool().capacity() >= 999);
  CHECK(five::memory_pool().capacity() == 16);
}

template <class Derived>
struct pooled {
  virtual ~pooled() = default;
  DECLARE_MEMORY_POOL(Derived)
};
struct of_a_pooled : pooled<of_a_pooled> {
  long content = 0;
};
class owner {
 public:
  static bool test() { return is_pooled<secret, secret>(); }

 private:
  class secret {
   public:
    virtual ~secret() = default;
    DECLARE_MEMORY_POOL(secret)
  };
};

BOOST_AUTO_TEST_CASE(a_class_may_be_local_or_private_or_named_by_its_base) {
  struct local {
    virtual ~local() = default;
    int content = 0;
    DECLARE_MEMORY_POOL_WITH(local, tarn::static_array_store<1>)
  };
  CHECK((is_pooled<local, local>()));
  CHECK(owner::test());
  CHECK((is_pooled<of_a_pooled, of_a_pooled>()));
  CHECK(of_a_pooled::memory_pool().block_size() == sizeof(of_a_pooled));
}

struct task {
  virtual ~task() = default;
  virtual int run() = 0;
  long id = 0;
  DECLARE_MEMORY_POOL(task)
};
struct same_size_task : task {
  int run() override { return 1; }
};
struct large_task : task {
  int run() override { return 2; }
  char content[100] = "";
};
struct first_pool {
  virtual ~first_pool() = default;
  long first = 1;
  DECLARE_MEMORY_POOL(first_pool)
};
struct of_two_pools : first_pool, task {
  int run() override { return 4; }
  DECLARE_MEMORY_POOL(of_two_pools)
};
struct virtual_base {
  virtual ~virtual_base() = default;
  long common = 1;
  DECLARE_MEMORY_POOL(virtual_base)
};
struct left : virtual virtual_base {};
struct right : virtual virtual_base {};
struct bottom final : left, right {
  DECLARE_MEMORY_POOL(bottom)
};

BOOST_AUTO_TEST_CASE(bases_may_be_abstract_several_or_virtual) {
  CHECK((is_pooled<task, same_size_task, task>()));
  CHECK(!(is_pooled<task, large_task, task>()));
  CHECK((is_pooled<of_two_pools, of_two_pools, first_pool>()));
  CHECK((is_pooled<of_two_pools, of_two_pools, task>()));  // which doesn't lie where the block starts
  CHECK(!(is_pooled<virtual_base, left, virtual_base>()));
  CHECK((is_pooled<bottom, bottom, right>()));
}

// ---- before main and after it: static_pool_test.cc has the ends of threads, too --------------------------------------------------

struct early {
  explicit early(long v) : value(v) {}
  long value;
  char more[40] = "";
  DECLARE_MEMORY_POOL(early)
};

void must(bool holds) {
  if (!holds) std::abort();  // nobody reports any more
}

// Runs in this file before main; the pool's own initialiser, if it had one, would come later.
struct user_before_main {
  early* object = new early(1);
  early* prepared = [] {
    PREPARE_MEMORY_POOL(early, 100);
    return new (std::nothrow) early(2);
  }();
  ~user_before_main() {  // after main
    must(early::memory_pool().owns(object) && object->value == 1 && prepared->value == 2);
    delete object;
    delete prepared;
    const std::unique_ptr<early> another(new early(3));
    must(early::memory_pool().owns(another.get()));
  }
} before_main;

BOOST_AUTO_TEST_CASE(they_work_before_main_and_after_it) {
  CHECK(early::memory_pool().owns(before_main.object) && before_main.object->value == 1);
  CHECK(early::memory_pool().owns(before_main.prepared) && early::memory_pool().capacity() >= 100u);
}

}  // namespace
}  // namespace tarn::test
