// Fault injection: a store whose k-th call fails, the loop over k, and the ledger of what was made to fail.
#ifndef TARN_TEST_SUPPORT_FAULTS_H_
#define TARN_TEST_SUPPORT_FAULTS_H_

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdio>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {

/// How a call of a store fails: it returns null, as a C library would, or what lies under it throws.
enum class refusal { null, exception };
inline constexpr refusal null_and_exception[] = {refusal::null, refusal::exception};
inline constexpr refusal exception_only[] = {refusal::exception};

/// Where the memory of injecting stores comes from.
struct origin {
  test::upstream upstream;
  refusal how = refusal::null;
  std::size_t grain = 1;  // regions are multiples of so many bytes, as page_store's are
};

/// Takes memory from an origin, and fails as that says: by itself, or through resource_store.
class injecting_store {
 public:
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{.can_discard = true};

  constexpr explicit injecting_store(test::origin* from) noexcept : from_(from) {}

  template <class Traits>
  class source {
   public:
    constexpr explicit source(const injecting_store& store) noexcept : from_(store.from_) {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      bytes = detail::round_up(bytes, from_->grain);
      if (from_->how == refusal::exception) return resource().acquire(bytes, alignment);
      void* const start = from_->upstream.try_allocate(bytes, alignment);
      return {start, start == nullptr ? 0 : bytes};
    }
    void release(detail::memory region, std::size_t alignment) noexcept { resource().release(region, alignment); }
    /// Refuses: what goes is counted by whole regions.
    std::size_t discard(const detail::memory*, std::size_t, page_advice) noexcept { return 0; }

   private:
    auto resource() const noexcept { return resource_store::source<Traits>(resource_store{&from_->upstream}); }

    test::origin* from_;
  };

 private:
  test::origin* from_;
};

/// The same for static pools and whatever gives its store no value: from the origin that `from` names at the moment.
/// \tparam Tag  origins of other tags are others
template <class Tag>
struct static_injecting_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};
  static inline origin* from = nullptr;

  template <class Traits>
  struct source {
    using real = injecting_store::source<Traits>;
    constexpr explicit source(const static_injecting_store&) noexcept {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      return real(injecting_store(from)).acquire(bytes, alignment);
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      real(injecting_store(from)).release(region, alignment);
    }
  };
};

/// One try of an operation while calls of the store fail.
struct attempt {
  std::size_t k;  // the first that fails
  failing mode;
  refusal how;
};
struct verdict {
  bool succeeded;
  bool injected;  // a call was made to fail
};

/// What was tried, on what, and what was made to fail. A point is a subject, an operation, a mode, a refusal and a k, if a
/// call of a store really failed there.
class ledger {
 public:
  void note(const std::string& subject, const char* operation, const attempt& a, bool injected) {
    row& r = rows_[operation];
    ++r.rounds;
    r.subjects.insert(subject);
    if (!injected) return;
    points_.emplace(subject, operation, a.mode, a.how, a.k);
    ++r.points;
    r.failing_subjects.insert(subject);
  }
  /// The operation doesn't exist in the subject.
  void absent(const std::string& subject, const char* operation) { rows_[operation].without.insert(subject); }

  std::size_t points() const { return points_.size(); }
  std::size_t points(const char* operation) { return rows_[operation].points; }
  std::size_t subjects(const char* operation) { return rows_[operation].subjects.size(); }
  std::size_t without(const char* operation) { return rows_[operation].without.size(); }
  bool failed(const std::string& subject, const char* operation) {
    return rows_[operation].failing_subjects.contains(subject);
  }

  void print() const {
    std::printf("%-36s %8s %8s %8s %8s %8s\n", "operation", "subjects", "without", "failing", "rounds", "points");
    for (const auto& [operation, r] : rows_)
      std::printf("%-36s %8zu %8zu %8zu %8zu %8zu\n", operation.c_str(), r.subjects.size(), r.without.size(),
                  r.failing_subjects.size(), r.rounds, r.points);
    std::printf("%zu distinct calls of a store were made to fail\n", points());
  }

 private:
  struct row {
    std::set<std::string> subjects;          // that have the operation
    std::set<std::string> without;           // that don't
    std::set<std::string> failing_subjects;  // of which a call was made to fail
    std::size_t rounds = 0;
    std::size_t points = 0;
  };
  std::map<std::string, row> rows_;
  std::set<std::tuple<std::string, std::string, failing, refusal, std::size_t>> points_;
};

inline const char* name_of(failing mode) {
  constexpr const char* names[] = {"never", "once", "for ever", "every second"};
  return names[static_cast<int>(mode)];
}

/// Calls round(attempt) for k = 1, 2, ... in each mode until it answers that no call failed: the operation makes fewer calls.
/// It must have succeeded then.
template <class Round>
void fail_each_call(ledger& book, const std::string& subject, const char* operation, std::span<const refusal> refusals,
                    Round round, called_from = {}) {
  for (const refusal how : refusals) {
    for (const failing mode : {failing::once, failing::for_ever, failing::every_second}) {
      for (attempt a{1, mode, how};; ++a.k) {
        BOOST_TEST_CONTEXT(subject << ", " << operation << ": call " << a.k << " fails " << name_of(mode) << " with "
                                   << (how == refusal::null ? "null" : "an exception")) {
          REQUIRE(a.k < 10'000);  // without this a loop that injects for ever would not end
          const verdict is = round(a);
          book.note(subject, operation, a, is.injected);
          if (is.injected) continue;
          REQUIRE(is.succeeded);
        }
        break;
      }
    }
  }
}

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_FAULTS_H_
