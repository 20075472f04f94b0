// A thread whose first call of all is a free: it asks for no memory, whatever the locking policy, and is enrolled all the same.
// And one whose first call is malloc's: it asks nobody who could call malloc.
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <thread>
#include <tuple>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/checking/switchable_checking.h"
#include "tarn/policies/locking/group_guard.h"
#include "tarn/policies/name.h"

namespace {
constinit thread_local bool is_freeing = false;
constinit thread_local std::size_t requests = 0;  // while it is
constinit thread_local std::size_t pages = 0;     // those of them that are for pages

bool noted() noexcept {
  requests += is_freeing ? 1 : 0;
  return true;
}
}  // namespace

// glibc's own, noted. A free that went on without memory would end the process, so it gets some.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t n) { return noted() ? __libc_malloc(n) : nullptr; }
void* calloc(std::size_t n, std::size_t m) { return noted() ? __libc_calloc(n, m) : nullptr; }
void* realloc(void* p, std::size_t n) { return noted() ? __libc_realloc(p, n) : nullptr; }
void* memalign(std::size_t a, std::size_t n) { return noted() ? __libc_memalign(a, n) : nullptr; }
void* aligned_alloc(std::size_t a, std::size_t n) { return noted() ? __libc_memalign(a, n) : nullptr; }
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (noted()) pages += is_freeing ? 1 : 0;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
}

namespace tarn::test {
namespace {

/// What the calling thread asks for while it frees them.
template <class Pool>
std::size_t requests_of_frees(Pool& pool, const std::vector<void*>& blocks) {
  requests = 0;
  is_freeing = true;
  for (void* const b : blocks) pool.deallocate(b);
  is_freeing = false;
  return requests;
}

// Before main(), and so before all other cases, in whatever order they run: no thread of the program has a number yet.
const bool enrolled_by_the_first_free = [] {
  bool enrolled = true;
  std::thread([&] {
    if (detail::process_ids_at_fork.is_apart()) enrolled = detail::process_threads::enrol(detail::call::frees);
  }).join();
  return enrolled;
}();
BOOST_AUTO_TEST_CASE(a_free_enrols_no_thread_before_a_fork_would_hear_of_it) { BOOST_TEST(!enrolled_by_the_first_free); }

template <class... Policies>
struct with {
  using pool_type = pool<static_size<64>, Policies...>;
};
using lockings = std::tuple<with<mutex_locking<thread_aware_mutex>, checked>, with<grouped_locking<struct crew, tarn::mutex>>,
                            with<lock_free>, with<thread_cached<>, return_empty_chunks<>>,
                            with<thread_cached<>, hardened, reclaim_and_retry<>>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_first_call_that_frees_needs_no_memory, With, lockings) {
  typename With::pool_type pool;
  std::vector<void*> blocks(3000);
  for (void*& b : blocks) b = pool.allocate();
  std::size_t asked = 0;
  std::thread([&] { asked = requests_of_frees(pool, blocks); }).join();
  BOOST_TEST(asked == 0u);
}

// Where they are the program's malloc, what the system allocates meanwhile would come here again.
template <class... Policies>
struct of_malloc {
  using heap = xallocator<of_malloc<Policies...>, page_store<>, no_statistics, Policies...>;
};
using mallocs = std::tuple<of_malloc<>, of_malloc<mutex_locking<>, checked>,
                           of_malloc<switchable_checking, named<"of_malloc">>>;
BOOST_AUTO_TEST_CASE_TEMPLATE(an_allocation_of_malloc_s_functions_asks_for_pages_alone, With, mallocs) {
  std::size_t asked = 0;
  std::thread([&] {
    requests = pages = 0;
    is_freeing = true;
    for (const std::size_t bytes : {16u, 32u, 100u, 5000u}) {
      void* blocks[40];
      for (void*& b : blocks) b = With::heap::allocate(bytes);
      for (void* const b : blocks) With::heap::deallocate(b);
    }
    is_freeing = false;
    asked = requests - pages;
    BOOST_TEST(pages != 0u);
  }).join();
  BOOST_TEST(asked == 0u);
}

using cached = pool<static_size<64>, thread_cached<>>;

/// Whether nobody has the number.
bool is_free(unsigned id) {
  const bool was_free = detail::process_ids.take(id);
  if (was_free) detail::process_ids.give_back(id);
  return was_free;
}

BOOST_AUTO_TEST_CASE(a_thread_that_only_frees_has_a_magazine_until_it_ends) {
  cached pool;
  std::vector<void*> blocks(100);
  for (void*& b : blocks) b = pool.allocate();
  unsigned id = 0;
  std::thread([&] {
    requests_of_frees(pool, blocks);
    id = detail::this_thread.id;
    BOOST_TEST(!is_free(id));
  }).join();
  BOOST_TEST(id != 0u);
  BOOST_TEST(is_free(id));
}

BOOST_AUTO_TEST_CASE(a_thread_that_freed_first_keeps_its_number_when_it_allocates) {
  cached pool;
  void* const block = pool.allocate();
  unsigned first = 0;
  unsigned then = 0;
  std::thread([&] {
    pool.deallocate(block);
    first = detail::this_thread.id;
    std::vector<void*> blocks(100);
    for (void*& b : blocks) b = pool.allocate();
    then = detail::this_thread.id;
    BOOST_TEST((detail::this_thread.is == detail::thread_record::state::enrolled));
    for (void* const b : blocks) pool.deallocate(b);
  }).join();
  BOOST_TEST(first == then);
  BOOST_TEST(is_free(first));
  BOOST_TEST(!is_free(0));  // nobody's: given back twice, once without a number, it would be
}

// In a destructor that runs after the thread gave its number back, a free enrols it no more.
BOOST_AUTO_TEST_CASE(a_thread_that_ends_enrols_no_more) {
  static constinit cached pool;
  struct late {
    void* block = nullptr;
    unsigned* id = nullptr;
    ~late() {
      if (block == nullptr) return;
      pool.deallocate(block);
      *id = detail::this_thread.id;
    }
  };
  unsigned at_end = 1;
  std::thread([&] {
    static thread_local late last;
    last.id = &at_end;  // constructed, and so destroyed after what is constructed later
    last.block = pool.allocate();
  }).join();
  BOOST_TEST(at_end == 0u);
}

// ---- no number at the first ask ----------------------------------------------------------------------------------------

/// Takes all numbers that are free, and gives them back.
class all_numbers {
 public:
  all_numbers() {
    while (const unsigned id = detail::process_ids.take()) ids_.push_back(id);
  }
  ~all_numbers() {
    for (const unsigned id : ids_) detail::process_ids.give_back(id);
  }
  all_numbers(const all_numbers&) = delete;
  all_numbers& operator=(const all_numbers&) = delete;

 private:
  std::vector<unsigned> ids_;
};

BOOST_AUTO_TEST_CASE(a_thread_without_a_number_asks_again) {
  for (const bool frees_first : {false, true}) {
    cached pool;
    std::vector<void*> blocks(100);
    for (void*& b : blocks) b = pool.allocate();
    unsigned in_peak = 1;
    int calls = 0;
    std::thread([&] {
      const auto call = [&] {
        if (frees_first) pool.deallocate(blocks[static_cast<std::size_t>(calls)]);
        else blocks.push_back(pool.allocate());
        ++calls;
      };
      {
        const all_numbers peak;
        call();
        in_peak = detail::this_thread.id;
      }
      while (detail::this_thread.id == 0 && calls != 100) call();
    }).join();
    BOOST_TEST(in_peak == 0u);
    BOOST_TEST(calls > 60);  // not each time
    BOOST_TEST(calls < 70);
  }
}

}  // namespace
}  // namespace tarn::test
