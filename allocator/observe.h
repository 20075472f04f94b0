// Answers requests of other programs about the pools of this one, at a socket with a path:
//
//   tarn::observer watched = tarn::observe("/run/user/1000/service.sock");
//   ... poll(watched.descriptor()) ...    // readable: there is a request
//   watched.serve();                      // answers, and never waits
//
// A client sends one line and reads the answer until the connection ends: `echo json | nc -U /run/user/1000/service.sock`. Only
// the user of the process can connect. docs/how-to/watch.md lists the requests. observing_thread.h serves in a thread.
//
// serve() calls observed_clients::serve(), which continues with its clients, disconnects those whose time is over, and accepts
// new ones. A complete line is answered by answer_request(): a snapshot of the registry as text, a trim, a switch of checks.
// observed_place owns the socket and the clients; a fork's child closes its copies of them.
#ifndef TARN_ALLOCATOR_OBSERVE_H_
#define TARN_ALLOCATOR_OBSERVE_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

#if defined(TARN_HAS_LOCAL_SOCKETS)

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "tarn/allocator/registry.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/name.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/sockets.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn {

namespace detail {

// ---- who asks: each client sends one line and reads the answer, which ends where the connection does ---------------------

/// The text that answers a request: new char[], or a constant.
struct observed_answer {
  const char* text = nullptr;
  std::size_t bytes = 0;
  bool is_owned = false;
};

/// No call waits for a client, and no client is kept for longer than `patience`.
/// \tparam Mutex  held while descriptors are opened and closed, and while a fork copies the process, so that its child knows
/// which exist. Nothing else is locked under it.
template <class Mutex>
class observed_clients {
 public:
  using socket = platform::local_socket;
  using respond = observed_answer (*)(const char* request, std::size_t bytes) noexcept;

  static constexpr std::size_t places = 32;  // clients at the same time; others wait in the system
  static constexpr std::size_t longest = 255;  // bytes of a request
  static constexpr std::uint64_t patience = 10'000'000'000;  // nanoseconds that a client has, from the start to the end
  static constexpr std::uint64_t crowded = 500'000'000;  // while there is no other place
  static constexpr std::uint64_t pause = 100'000'000;  // until clients are accepted again, when the system refused

  observed_clients(const socket& at, Mutex& mutex) noexcept : listening_(at), mutex_(mutex) {}

  /// Returns the error, or 0.
  int open() noexcept {
    const held<Mutex> lock(mutex_);
    if (const int error = set_.open(listening_.descriptor()); error != 0) return error;
    reserve_ = listening_.spare();
    return reserve_ >= 0 ? 0 : errno;
  }
  void close() noexcept {
    for (client& c : clients_) end(c);
    const held<Mutex> lock(mutex_);
    close_copies();
  }
  /// In the child of a fork: closes what it has inherited. Another thread of the parent may have been in serve(); what was
  /// being written there is left alone. Precondition: the mutex is held, or no other thread can be here.
  void close_copies() noexcept {
    for (client& c : clients_) socket::close(c.descriptor);
    socket::close(reserve_);
    set_.close();
    connected_ = 0;
  }
  int descriptor() const noexcept { return set_.descriptor(); }
  std::size_t size() const noexcept { return connected_; }
  /// Whether new clients are accepted.
  bool is_accepting() const noexcept { return is_accepting_; }

  /// Continues with every client as far as it can without waiting. Returns how many requests it answered.
  std::size_t serve(std::uint64_t now, respond answer) noexcept {
    std::size_t answered = 0;
    for (client& c : clients_)
      if (c.descriptor >= 0 && advance(c, answer)) ++answered;
    const std::uint64_t limit = time_of_each();
    for (client& c : clients_)
      if (c.descriptor >= 0 && now > c.admitted + limit) end(c);
    auto next = socket::outcome::done;
    for (client& c : clients_) {
      if (c.descriptor >= 0) continue;
      next = accept(c, now);
      if (next != socket::outcome::done) break;
      if (c.descriptor >= 0 && advance(c, answer)) ++answered;
    }
    watch(now, next == socket::outcome::failed);
    return answered;
  }

 private:
  struct client {
    int descriptor = -1;
    std::uint64_t admitted = 0;  // when it came
    std::size_t got = 0;  // bytes of the request
    std::size_t sent = 0;  // of the answer
    observed_answer answer;
    char request[longest + 1];
  };

  std::uint64_t time_of_each() const noexcept { return connected_ == places ? crowded : patience; }
  /// The set is readable when there is something to do. A client that comes while there is no place for it, or no descriptor,
  /// doesn't make it readable; a deadline does.
  void watch(std::uint64_t now, bool is_refused) noexcept {
    if (set_.descriptor() < 0) return;  // an answer forked, and this is its child
    const bool accepts = connected_ != places && !is_refused;
    if (accepts != is_accepting_) set_.look_at(listening_.descriptor(), accepts);
    is_accepting_ = accepts;
    std::uint64_t next = is_refused ? now + pause : never;
    for (const client& c : clients_)
      if (const std::uint64_t late = c.admitted + time_of_each() + 1; c.descriptor >= 0 && late < next) next = late;
    if (next == wakes_at_) return;
    wakes_at_ = next;
    set_.wake_after(next == never ? 0 : next - now);
  }

  /// outcome::done: there was a client, and it is admitted unless the system can't watch it.
  socket::outcome accept(client& c, std::uint64_t now) noexcept {
    const held<Mutex> lock(mutex_);
    if (reserve_ < 0) reserve_ = listening_.spare();
    const socket::outcome found = listening_.accept(c.descriptor, reserve_);
    if (found != socket::outcome::done) return found;
    if (!set_.add(c.descriptor)) return socket::close(c.descriptor), found;
    c.admitted = now;
    c.got = c.sent = 0;
    ++connected_;
    return found;
  }
  void end(client& c) noexcept {
    if (c.descriptor >= 0) {
      const held<Mutex> lock(mutex_);
      set_.drop(c.descriptor);
      socket::end(c.descriptor);
      --connected_;
    }
    const observed_answer answer = c.answer;
    c.answer = {};
    if (answer.is_owned) delete[] answer.text;
  }

  /// Returns whether it produced an answer.
  bool advance(client& c, respond answer) noexcept {
    const bool asks = c.answer.text == nullptr;
    if (asks && !read(c, answer)) return false;
    write(c);
    return asks;
  }
  /// Returns whether the request was complete, and answered.
  bool read(client& c, respond answer) noexcept {
    for (;;) {
      std::size_t bytes = sizeof c.request - c.got;
      switch (socket::read(c.descriptor, c.request + c.got, bytes)) {
        case socket::outcome::nothing:
          return false;
        case socket::outcome::failed:
          return end(c), false;
        case socket::outcome::done:
          break;
      }
      const bool is_end = bytes == 0;
      const std::size_t before = c.got;
      c.got += bytes;
      for (std::size_t i = before; i != c.got; ++i)
        if (c.request[i] == '\n') return set_answer(c, answer(c.request, i)), true;
      if (c.got == sizeof c.request) return set_answer(c, text("error: the request is longer than 255 bytes\n")), true;
      if (!is_end) continue;
      if (c.got == 0) return end(c), false;
      return set_answer(c, answer(c.request, c.got)), true;
    }
  }
  void set_answer(client& c, const observed_answer& answer) noexcept {
    c.answer = answer;
    if (c.descriptor >= 0) set_.await_room(c.descriptor);
  }
  void write(client& c) noexcept {
    while (c.sent != c.answer.bytes) {
      std::size_t bytes = c.answer.bytes - c.sent;
      const socket::outcome sent = socket::write(c.descriptor, c.answer.text + c.sent, bytes);
      if (sent == socket::outcome::nothing) return;
      if (sent == socket::outcome::failed) break;
      c.sent += bytes;
    }
    end(c);
  }
  template <std::size_t N>
  static constexpr observed_answer text(const char (&words)[N]) noexcept {
    return {words, N - 1, false};
  }

  static constexpr std::uint64_t never = ~std::uint64_t{0};

  const socket& listening_;
  Mutex& mutex_;
  platform::watched_set set_;
  int reserve_ = -1;
  std::size_t connected_ = 0;
  bool is_accepting_ = true;
  std::uint64_t wakes_at_ = never;
  client clients_[places];
};

// ---- what is answered ----------------------------------------------------------------------------------------------------

/// Text whose length is known only after it is written: write(span) returns it.
observed_answer answer_of(auto write) noexcept {
  static constexpr char no_memory[] = "error: no memory for the answer\n";
  const std::size_t bytes = write(span<char>());
  char* const text = ::new (std::nothrow) char[bytes + 1];
  if (text == nullptr) return {no_memory, sizeof no_memory - 1, false};
  write(span<char>(text, bytes));
  return {text, bytes, true};
}
observed_answer line_of(const auto&... parts) noexcept {
  return detail::answer_of([&](span<char> out) {
    text_writer to(out);
    (to.put(parts), ...);
    to.put('\n');
    return to.written();
  });
}

/// The pools, as write(records, out) writes them.
inline observed_answer answer_pools(std::size_t (*write)(span<const pool_record>, span<char>) noexcept) noexcept {
  for (std::size_t room = pools_of_process().listed();; room += room / 4) {
    room += 8;  // more may be created in between
    pool_record* const records = ::new (std::nothrow) pool_record[room];
    if (records == nullptr) return line_of("error: no memory for the pools");
    const std::size_t pools = snapshot(span<pool_record>(records, room));
    observed_answer answer;
    if (pools <= room) {
      const span<const pool_record> all(records, pools);
      answer = answer_of([&](span<char> out) { return write(all, out); });
    }
    delete[] records;
    if (pools <= room) return answer;
  }
}

/// An error line that quotes the client's request; bytes that aren't text are shown as '?'.
inline observed_answer refusal(const char* before, std::string_view said, const char* after) noexcept {
  return answer_of([&](span<char> out) {
    text_writer to(out);
    to.put("error: ");
    to.put(before);
    for (const char c : said) to.put(c < ' ' || c > '~' ? '?' : c);
    to.put(after);
    to.put('\n');
    return to.written();
  });
}

inline observed_answer answer_check(std::string_view words) noexcept {
  const bool is_on = words.starts_with("on ");
  if (!is_on && !words.starts_with("off ")) return line_of("error: write 'check on NAME' or 'check off NAME'");
  const std::string_view name = words.substr(is_on ? 3 : 4);
  const switched_pools done = switch_checks_of(span<const char>(name.data(), name.size()), is_on);
  if (done.refused != 0) return refusal("only TARN_CHECK, at the start, switches the checks on in a pool called ", name, "");
  if (done.switched != 0) return line_of("done");
  return refusal("no pool with switchable checks is called ", name, "");
}

inline observed_answer answer_request(const char* text, std::size_t bytes) noexcept {
  std::string_view said(text, bytes);
  if (said.ends_with('\r')) said.remove_suffix(1);
  if (said == "json") return answer_pools(to_json);
  if (said == "prometheus") return answer_pools(to_prometheus);
  if (said == "openmetrics") return answer_pools(to_open_metrics);
  if (said == "slab") return answer_pools(to_slabinfo);
  if (said == "trim") {
    const std::size_t freed = reclaim_all();
    return answer_of([freed](span<char> out) {
      text_writer to(out);
      to.put_number(freed);
      to.put('\n');
      return to.written();
    });
  }
  if (said.starts_with("check ")) return answer_check(said.substr(6));
  if (said == "help")
    return line_of(
        "json               the pools that have a name, as JSON\n"
        "prometheus         the same in the text format of Prometheus\n"
        "openmetrics        the same in that of OpenMetrics\n"
        "slab               the same in the columns of /proc/slabinfo\n"
        "trim               pools give back what they don't use; answers how many bytes\n"
        "check on NAME      switches the checks of pools with this name on; off: off\n"
        "help               this");
  return refusal("'", said, "' is no request; 'help' lists them");
}

/// What an observer owns. It isn't moved. A fork holds its mutex, so that the child can close what it inherits, which would
/// keep the socket's path in use after the parent exits.
class observed_place : fork_member {
 public:
  observed_place() noexcept { const held<observed_place> lock(*this); }  // from now on forks know it
  ~observed_place() {
    const bool is_owner = this->is_owner();
    if (is_owner) clients.close();
    else clients.close_copies();
    socket.close(is_owner);
    close_bell();
    leave();
  }
  observed_place(const observed_place&) = delete;
  observed_place& operator=(const observed_place&) = delete;

  void lock() noexcept { (admits(act) ? mutex_ : mutex_of_forker<mutex>).lock(); }
  void unlock() noexcept { (process_forks().holds_all() ? mutex_of_forker<mutex> : mutex_).unlock(); }
  bool is_owner() const noexcept { return process_ == platform::local_socket::process(); }
  /// Returns the error, or 0.
  int make_bell() noexcept {
    const held<observed_place> lock(*this);
    return platform::local_socket::make_pair(bell);
  }

  platform::local_socket socket;
  observed_clients<observed_place> clients{socket, *this};
  int bell[2] = {-1, -1};  // rings when a thread that serves should exit

 private:
  void close_bell() noexcept {
    for (int& end : bell) platform::local_socket::close(end);
  }
  static void act(fork_member& m, fork_step step) noexcept {
    auto& its = static_cast<observed_place&>(m);
    act_on_leaf(its.mutex_, step);
    if (step != fork_step::renew) return;
    its.clients.close_copies();
    its.socket.close(false);
    its.close_bell();
  }

  mutex mutex_;
  const long process_ = platform::local_socket::process();
};

[[noreturn]] TARN_COLD inline void throw_observe_error([[maybe_unused]] int error, [[maybe_unused]] std::string_view path) {
#if TARN_EXCEPTIONS
  const std::error_code code(error, std::generic_category());
  std::string said = "tarn: observe can't answer at";
  said.append(" ").append(path);
  if (code == std::errc::address_in_use) said += ": another program answers there";
  if (code == std::errc::file_exists) said += ": this is a file, and no socket";
  if (code == std::errc::filename_too_long)
    said += ": a socket's path has at most " + std::to_string(platform::local_socket::longest_path) + " bytes";
  throw std::system_error(code, said);
#else
  std::abort();
#endif
}

}  // namespace detail

/// Answers at a socket as long as it exists; it can be moved. In the child of a fork its descriptors are closed, and its
/// destructor doesn't affect the parent.
class observer {
 public:
  /// Takes the other's socket; the other no longer answers. Assignment returns *this.
  observer(observer&& other) noexcept : its_(detail::replace(other.its_, nullptr)) {}
  observer& operator=(observer&& other) noexcept {
    observer taken(static_cast<observer&&>(other));
    detail::swap_both(its_, taken.its_);
    return *this;
  }
  /// Ends all connections, and removes the path if it is still the socket's.
  ~observer() {
    if (its_ == nullptr) return;
    const platform::same_errno same;
    delete its_;
  }

  /// Returns a descriptor for poll(), select() or epoll only: it is readable while serve() has something to do. On systems
  /// without epoll it is readable only while there are new clients, so call serve() regularly as well. -1: it was moved from,
  /// or this is the child of a fork.
  int descriptor() const noexcept { return its_ != nullptr ? its_->clients.descriptor() : -1; }

  /// Answers the requests so far, and waits for no client. A client that hasn't sent a request and read the answer after ten
  /// seconds is disconnected; while there are 32, after half a second. So is a new client for which there is no descriptor.
  /// Without memory for an answer, the answer is an error. Returns how many requests it answered. O(pools) for each, as
  /// snapshot().
  std::size_t serve() noexcept {
    if (its_ == nullptr || !its_->is_owner()) return 0;
    const platform::same_errno same;
    return its_->clients.serve(platform::system::nanoseconds(), detail::answer_request);
  }

 private:
  friend observer observe(std::string_view path);
  friend class observing_thread;
  explicit observer(detail::observed_place* its) noexcept : its_(its) {}

  detail::observed_place* its_ = nullptr;
};

/// Answers at a socket with this path, which only the process's user can use (mode 0600). A socket that a crashed process left
/// there is replaced, even if a child of it is still running. A socket of a running process isn't replaced, nor is any other
/// file. If clone() created the child, without the handlers of fork(), this takes a second, and works only on Linux. Returns
/// the observer, which stops answering when it is destroyed. Its destructor looks a relative path up again, so the process's
/// working directory must still be the same. It needs four descriptors.
/// Throws: std::system_error, whose text contains the path; std::bad_alloc. A build without exceptions aborts.
[[nodiscard("tarn: it answers only while this object exists")]] inline observer observe(std::string_view path) {
  auto* const its = new detail::observed_place;
  int error = its->socket.listen(path.data(), path.size());
  if (error == 0) error = its->clients.open();
  if (error == 0) return observer(its);
  delete its;
  detail::throw_observe_error(error, path);
}

}  // namespace tarn

#else  // no sockets with a path

namespace tarn {

class observer {
 public:
  int descriptor() const noexcept;
  std::size_t serve() noexcept;
};

template <class Path>
observer observe(const Path&) {
  static_assert(sizeof(Path) == 0,
                "tarn: [Y11] observe was called, but this target has no sockets with a path (AF_UNIX); write the result of "
                "to_json(snapshot()) where it can be read");
  return {};
}

}  // namespace tarn

#endif

#endif  // TARN_ALLOCATOR_OBSERVE_H_
