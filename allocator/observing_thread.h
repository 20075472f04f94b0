// A thread that answers requests of other programs about the pools of this one:
//
//   tarn::observing_thread watched("/run/user/1000/service.sock");
//
// observe.h has the same without a thread.
#ifndef TARN_ALLOCATOR_OBSERVING_THREAD_H_
#define TARN_ALLOCATOR_OBSERVING_THREAD_H_

#include "tarn/allocator/observe.h"
#include "tarn/policies/platform/standard_library.h"

#if defined(TARN_HAS_LOCAL_SOCKETS) && defined(TARN_STANDARD_THREADS)

#include <new>
#include <string_view>
#include <thread>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/sockets.h"

namespace tarn {

/// A thread that serves an observer until this object is destroyed. The child of a fork has no such thread, and may destroy the
/// object.
class observing_thread {
 public:
  /// Serves what observe(path) returns. Throws: as observe(), and std::system_error if the system provides no thread.
  explicit observing_thread(std::string_view path) : observing_thread(observe(path)) {}
  /// Serves an observer. Precondition: it wasn't moved from.
  /// Throws: std::system_error, if the system provides no thread.
  explicit observing_thread(observer watched) : watched_(static_cast<observer&&>(watched)) {
    if (const int error = watched_.its_->make_bell(); error != 0) detail::throw_observe_error(error, "a thread");
    ::new (static_cast<void*>(&thread_)) std::thread([this]() noexcept { run(); });
  }
  observing_thread(const observing_thread&) = delete;
  observing_thread& operator=(const observing_thread&) = delete;
  /// Waits for the thread's current answer, but for no client.
  ~observing_thread() {
    if (watched_.its_->is_owner()) {
      stops_.store(true, detail::memory_order_relaxed);
      socket::shut(watched_.its_->bell[1]);
      thread_.join();
      thread_.~thread();
    }
  }

 private:
  using socket = platform::local_socket;

  void run() noexcept {
    // Without a set of descriptors, clients are polled.
    constexpr int period = platform::watched_set::is_whole ? -1 : 20;
    const auto& clients = watched_.its_->clients;
    while (!stops_.load(detail::memory_order_relaxed)) {
      watched_.serve();
      const bool accepts = platform::watched_set::is_whole || clients.is_accepting();
      socket::wait(accepts ? watched_.descriptor() : -1, watched_.its_->bell[0],
                   clients.size() != 0 || !accepts ? period : -1);
    }
  }

  observer watched_;
  // Order: relaxed. Set before the bell is shut down, which wakes the thread: the system orders both.
  detail::atomic_word<bool> stops_ = false;
  union {
    std::thread thread_;  // not destroyed in the child of a fork, where it can't be joined
  };
};

}  // namespace tarn

#else  // no threads, or no sockets with a path

namespace tarn {

class observing_thread {
 public:
  template <class... Path>
  explicit observing_thread(const Path&...) {
    static_assert(sizeof...(Path) > 1,
                  "tarn: [Y12] observing_thread was used, but this target has no std::thread to run it, or no sockets with a "
                  "path (AF_UNIX); call serve() of an observer yourself");
  }
};

}  // namespace tarn

#endif

#endif  // TARN_ALLOCATOR_OBSERVING_THREAD_H_
