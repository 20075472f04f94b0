// decides    every operation takes the pool's own mutex; growth takes a second one, so that nobody waits for the store
// costs      a lock and an unlock for each operation: about 20 ns alone, 150 ns contended
// conflicts  none
// use when   several threads share a pool now and then
#ifndef TARN_POLICIES_LOCKING_MUTEX_LOCKING_H_
#define TARN_POLICIES_LOCKING_MUTEX_LOCKING_H_

#include <concepts>
#include <mutex>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/direct_layer.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn {

namespace detail {
template <class M>
concept basic_lockable = std::default_initializable<M> && requires(M& m) {
  m.lock();
  m.unlock();
};

template <class Mutex>
class mutex_pair {
 public:
  std::lock_guard<Mutex> hot() const { return std::lock_guard<Mutex>(hot_); }
  std::lock_guard<Mutex> growth() const { return std::lock_guard<Mutex>(growth_); }

 private:
  mutable Mutex hot_;
  mutable Mutex growth_;
};
}  // namespace detail

/// \tparam Mutex  any BasicLockable that is default-constructible
template <class Mutex = std::mutex>
struct mutex_locking {
  using axis = tarn::axis::locking;
  static constexpr bool arguments_hold = detail::basic_lockable<Mutex>;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [L1] mutex_locking was given a type without lock() and unlock(), or without a default constructor; "
                  "name a mutex, as std::mutex");
  };
  static constexpr bool may_return_chunks = true;
  static constexpr bool needs_identity = false;
  template <class T>
  using cell = T;  // hooks run under the mutex
  template <class Environment>
  using per_chunk = detail::no_column<axis>;
  template <class Core>
  using layer = detail::direct_layer<Core, detail::mutex_pair<Mutex>>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_MUTEX_LOCKING_H_
