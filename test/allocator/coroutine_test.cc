// Class-level operator new in the promise of a coroutine. What it is asked for is a frame, which is larger than the promise: it
// comes from the global operators. A coroutine passes its arguments to operator new, where they might be taken for something.
#include <boost/test/unit_test.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <utility>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/global_operators.h"

namespace tarn::test {
namespace {

/// A coroutine's frame, suspended at its start and at its end.
template <class Promise>
class frame {
 public:
  using promise_type = Promise;
  using handle = std::coroutine_handle<Promise>;

  /// A compiler that saw where the frame ends might make it part of its caller.
  explicit frame(handle h) noexcept : handle_(handle::from_address(seen(h.address()))) {}
  frame(frame&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ~frame() {
    if (handle_ != nullptr) handle_.destroy();
  }
  void* address() const noexcept { return handle_.address(); }
  int result() const {
    handle_.resume();
    return handle_.promise().value;
  }

 private:
  handle handle_;
};

template <class Promise>
struct promise_base {
  int value = 0;
  frame<Promise> get_return_object() {
    return frame<Promise>(frame<Promise>::handle::from_promise(static_cast<Promise&>(*this)));
  }
  std::suspend_always initial_suspend() noexcept { return {}; }
  std::suspend_always final_suspend() noexcept { return {}; }
  void return_value(int v) noexcept { value = v; }
  void unhandled_exception() { std::terminate(); }
};

struct throwing : promise_base<throwing> {
  DECLARE_MEMORY_POOL(throwing)
};
struct bounded : promise_base<bounded> {
  DECLARE_MEMORY_POOL_WITH(bounded, tarn::static_array_store<1>)
};
struct reporting : promise_base<reporting> {
  static frame<reporting> get_return_object_on_allocation_failure() noexcept { return frame<reporting>(nullptr); }
  DECLARE_MEMORY_POOL_WITH__NOTHROW(reporting, tarn::static_array_store<1>)
};

/// What has the pool is no promise yet: the class that is derived from it makes it one.
struct task_base {
  std::suspend_always initial_suspend() noexcept { return {}; }
  std::suspend_always final_suspend() noexcept { return {}; }
  void unhandled_exception() { std::terminate(); }
  DECLARE_MEMORY_POOL(task_base)
};
struct task : task_base {
  int value = 0;
  frame<task> get_return_object() { return frame<task>(frame<task>::handle::from_promise(*this)); }
  void return_value(int v) noexcept { value = v; }
};

template <class P>
frame<P> without_arguments() {
  co_return 1;
}
template <class P>
frame<P> with_a_pointer(void* p) {
  co_return p == nullptr ? -1 : 2;
}
template <class P>
frame<P> with_pointers(const char* text, int* number, P* promise) {
  co_return promise != nullptr ? -1 : *number + text[0];
}
template <class P>
frame<P> with_an_array_and_more(int (&numbers)[2], double d) {
  co_return numbers[0] + numbers[1] + static_cast<int>(d);
}
template <class P>
frame<P> with_nothrow(std::nothrow_t) {
  co_return 5;
}
template <class P>
struct object {
  frame<P> member() { co_return number; }
  frame<P> with_itself(object* self) { co_return self->number + 1; }
  int number = 6;
};

/// Runs the coroutine that `start` makes; it must take one frame from the global operators, and give it back.
template <class P, class Start>
void one_frame(int expected, Start start, bool asks_for_nothrow, called_from = {}) {
  const tally cost = during([&] {
    const frame<P> f = start();
    CHECK(!P::memory_pool().owns(f.address()));
    CHECK(f.result() == expected);
  });
  CHECK((cost == tally{.plain = !asks_for_nothrow, .nothrow = asks_for_nothrow, .plain_delete = 1}));
}

/// Arguments that are pointers are no place for the frame.
template <class P, bool Nothrow>
void frames_come_and_go(called_from = {}) {
  one_frame<P>(1, [] { return without_arguments<P>(); }, Nothrow);
  if constexpr (Nothrow) one_frame<P>(5, [] { return with_nothrow<P>(std::nothrow); }, true);  // others can't report failure
  alignas(std::max_align_t) std::byte place[1024] = {};
  one_frame<P>(2, [&] { return with_a_pointer<P>(place); }, Nothrow);
  for (const std::byte b : place) REQUIRE(b == std::byte{0});
  int number = 1;
  one_frame<P>('b' + 1, [&] { return with_pointers<P>("b", &number, nullptr); }, Nothrow);
  int numbers[2] = {3, 4};
  one_frame<P>(9, [&] { return with_an_array_and_more<P>(numbers, 2.5); }, Nothrow);
  object<P> o;
  one_frame<P>(6, [&] { return o.member(); }, Nothrow);
  one_frame<P>(7, [&] { return o.with_itself(&o); }, Nothrow);
}

BOOST_AUTO_TEST_CASE(a_frame_comes_from_the_global_operators_and_goes_back) {
  frames_come_and_go<throwing, false>();
  frames_come_and_go<reporting, true>();
  frames_come_and_go<task, false>();
}

template <class Call>
auto without_memory(Call call) {
  struct refusing {
    refusing() { global_operators::refuse = true; }
    ~refusing() { global_operators::refuse = false; }
  } refusing;
  return call();
}

BOOST_AUTO_TEST_CASE(no_memory_for_a_frame_is_said_as_the_macro_says) {
  CHECK(without_memory([] {
    try {
      without_arguments<throwing>().address();
      return false;
    } catch (const std::bad_alloc&) {
      return true;
    }
  }));
  CHECK(without_memory([] { return without_arguments<reporting>().address() == nullptr; }));
  int number = 1;
  CHECK(without_memory([&] { return with_pointers<reporting>("b", &number, nullptr).address() == nullptr; }));
}

BOOST_AUTO_TEST_CASE(a_promise_made_as_an_object_is_pooled) {
  bounded* made = nullptr;
  CHECK(during([&] { made = new bounded; }) == nothing);
  CHECK(bounded::memory_pool().owns(made));
  one_frame<bounded>(1, [] { return without_arguments<bounded>(); }, false);  // the pool is exhausted, and not asked
  delete made;
  CHECK(new (std::nothrow) bounded == made);
}

}  // namespace
}  // namespace tarn::test
