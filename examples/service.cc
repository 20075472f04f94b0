// A service that can be looked at while it runs: its pools have names, answer at a socket, and are checked when somebody
// asks.
//
//   service                a short run, and what its pools hold at its end
//   service SOCKET         works until it is interrupted, and answers at the socket: tarn-top SOCKET
//   service SOCKET crash   the same, but it aborts after a second, as a program with a defect would: for a debugger
//
// object_pool for messages (thread_cached<>: clients create them, the engine frees them), orders and sessions
// (mutex_locking<>: behind a lock; return_empty_chunks<>: sessions come and go); size_class_pool for notes. named<...> costs
// nothing while it works.
//
// Prints:
//
//   messages         0 blocks of 120 bytes in use
//   orders        4000 blocks of  32 bytes in use
//   sessions        41 blocks of 204 bytes in use
//   texts/32      4000 blocks of  32 bytes in use
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/observing_thread.h"
#include "tarn/allocator/registry.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/policies/checking/switchable_checking.h"

struct order {
  int client;
  long price;
  long quantity;
  char* note = nullptr;  // from texts
};
struct message {
  int client;
  int number;
  char text[112] = {};
};
struct session {
  int client;
  char state[200] = {};
};

// The clients' threads make messages, and the engine's frees them. Orders and sessions are the engine's, behind a lock.
using message_pool = tarn::object_pool<message, tarn::thread_cached<>, tarn::named<"messages">>;
using order_pool = tarn::object_pool<order, tarn::mutex_locking<>, tarn::named<"orders">, tarn::switchable_checking>;
using session_pool = tarn::object_pool<session, tarn::mutex_locking<>, tarn::fixed_growth<64>, tarn::return_empty_chunks<>,
                                       tarn::named<"sessions">>;
using text_pool = tarn::size_class_pool<tarn::mutex_locking<>, tarn::named<"texts">>;

class service {
 public:
  /// One message of a client. Its number says what happens.
  void receive(int client, int number) {
    auto m = messages_.make_unique(client, number);
    std::snprintf(m->text, sizeof m->text, "client %d, number %d", client, number);
    {
      std::unique_lock lock(mutex_);
      has_room_.wait(lock, [this] { return waiting_.size() < 256; });
      waiting_.push_back(std::move(m));
    }
    has_some_.notify_one();
  }

  /// Works until close(), and until no message waits.
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      has_some_.wait(lock, [this] { return is_closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const auto m = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      has_room_.notify_one();
      answer(*m);
    }
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    has_some_.notify_all();
  }

  ~service() {
    for (order* const o : book_) end(o);
    for (session* const s : here_) sessions_.destroy(s);
  }

 private:
  /// Messages come in waves: for 4,000 of them orders and sessions pile up, and for 4,000 they end.
  void answer(const message& m) {
    ++answered_;
    if (answered_ % 100 == 0) here_.push_back(sessions_.construct(m.client));
    if (answered_ % 8000 < 4000 || book_.empty()) {
      order* const o = orders_.construct(m.client, 100 + m.number % 10, 1);
      const std::size_t bytes = std::strlen(m.text) + 1;
      o->note = static_cast<char*>(texts_.allocate(bytes));
      std::memcpy(o->note, m.text, bytes);
      book_.push_back(o);
      return;
    }
    std::swap(book_[static_cast<std::size_t>(answered_) * 7919 % book_.size()], book_.back());
    end(book_.back());
    book_.pop_back();
    for (int i = 0; i != 2 && answered_ % 100 == 50 && !here_.empty(); ++i) {
      sessions_.destroy(here_.back());
      here_.pop_back();
    }
  }
  void end(order* o) {
    texts_.deallocate(o->note, std::strlen(o->note) + 1);
    orders_.destroy(o);
  }

  message_pool messages_;
  order_pool orders_;
  session_pool sessions_;
  text_pool texts_;

  std::mutex mutex_;
  std::condition_variable has_some_, has_room_;
  std::deque<message_pool::unique_ptr> waiting_;
  bool is_closed_ = false;

  std::vector<order*> book_;    // the engine's own
  std::vector<session*> here_;
  long answered_ = 0;
};

static std::atomic<bool> goes_on = true;

/// Two clients and the engine: `messages` each, or, if 0, until somebody interrupts.
static void run(service& its, int messages) {
  std::thread engine([&its] { its.work(); });
  std::vector<std::thread> clients;
  for (int client = 1; client <= 2; ++client)
    clients.emplace_back([&its, client, messages] {
      for (int number = 0; goes_on && (messages == 0 || number != messages); ++number) {
        its.receive(client, number);
        if (messages == 0 && number % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  for (auto& client : clients) client.join();
  its.close();
  engine.join();
}

int main(int argc, char** argv) {
  service its;
  if (argc == 1) {
    run(its, 10'000);
    for (const tarn::pool_record& pool : tarn::snapshot())
      std::printf("%-12s %5zu blocks of %3zu bytes in use\n", pool.name, pool.in_use, pool.block_size);
    return 0;
  }
  const tarn::observing_thread watched(argv[1]);
  std::signal(SIGINT, [](int) { goes_on = false; });
  std::signal(SIGTERM, [](int) { goes_on = false; });
  std::thread fault;
  if (argc > 2 && std::strcmp(argv[2], "crash") == 0)
    fault = std::thread([] {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      std::abort();
    });
  run(its, 0);
  if (fault.joinable()) fault.join();
  return 0;
}
