// One misuse of one pool: what the pool held before, what it must report, and that it is as before afterwards.
#ifndef TARN_TEST_MISUSE_TRIAL_H_
#define TARN_TEST_MISUSE_TRIAL_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tarn/policies/detail/call_frame.h"
#include "tarn/test/misuse/reports.h"
#include "tarn/test/misuse/subject.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"

namespace tarn::test {

/// What must be reported. What isn't set must be as in a report that knows nothing of it.
struct expectation {
  misuse_kind kind = misuse_kind::double_free;
  const void* address = nullptr;
  const void* block = nullptr;   // the block that it is about, where the pool knows it
  bool any_address = false;      // it can't be foretold
  std::ptrdiff_t offset = 0;
  std::size_t damaged = 0;
  unsigned char value = 0;
  std::size_t size = 0;
  std::size_t alignment = 0;
  const void* other_pool = nullptr;
  std::string other_name;
  std::size_t leaked = 0;
  std::vector<const void*> leaks;
  std::uint64_t thread = 0;
  std::uint64_t owner = 0;
};

class trial {
 public:
  static constexpr const char* pool_name = "orders";

  /// \param misuses  not: the twin, to which all happens but the misuse
  trial(const family& of, bool misuses) : about(of.of), pool_(of.make(pool_name)), live(*pool_), misuses_(misuses) {
    for (int i = 0; i != 400; ++i) REQUIRE(live.take());
    std::mt19937_64 random(7);
    live.shuffle(random);
    for (int i = 0; i != 60; ++i) live.give_newest();
    for (int i = 0; i != 20; ++i) REQUIRE(live.take());
    capacity_ = pool_->capacity();
  }

  const traits about;
  subject& pool() { return *pool_; }
  std::size_t size() const { return pool_->block_size(); }
  /// One that is in use, in the middle of a chunk, as are its neighbours or not.
  std::byte* some_block() const { return static_cast<std::byte*>(live.blocks()[100]); }
  /// Gives the newest back. Returns its address, which the next allocation returns.
  std::byte* free_block() {
    void* const block = live.blocks().back();
    live.give_newest();
    return static_cast<std::byte*>(block);
  }

  bool misuses() const { return misuses_; }
  /// What the twin is spared.
  template <class Action>
  void misuse_by(Action action) {
    if (misuses_) action();
  }
  expectation& expect(misuse_kind kind, const void* address = nullptr, const void* block = nullptr) {
    expectation& e = expected.emplace_back();
    e.kind = kind;
    e.address = address;
    e.block = block;
    if (block != nullptr) lives.push_back(pool_->life_of(block));
    else lives.push_back({});
    return e;
  }
  void end() {
    capacity_ = 0;
    pool_->end();
  }
  bool ended() const { return capacity_ == 0; }

  void check_reports() const {
    const auto& seen = recorder::seen();
    check_that(seen.size() == expected.size(),
               std::to_string(seen.size()) + " reports instead of " + std::to_string(expected.size()));
    for (std::size_t i = 0; i != std::min(seen.size(), expected.size()); ++i) check_report(seen[i], expected[i], lives[i]);
  }

  /// The pool is as if nothing had happened: what is in use is as it was written, all of it can be given back, and then as many
  /// blocks as the twin has, none twice. Nothing is reported.
  void check_aftermath(trial& twin) {
    recorder::seen().clear();
    live.verify();
    check_that(live.live() == twin.live.live(), "not as many blocks in use as in the twin");
    check_that(pool_->capacity() == twin.pool_->capacity(), "another capacity than the twin's");
    check_that(turn_over(lost) + lost == twin.turn_over(0), "not as many blocks as the twin");
    check_that(pool_->capacity() == twin.pool_->capacity(), "another capacity than the twin's, afterwards");
    if (const auto damaged = pool_->verify()) check_that(*damaged == 0, "verify() finds something");
    if (lost == 0) pool_->end();
    for (const report& r : recorder::seen()) check_that(false, "reported afterwards: " + r.text);
    recorder::seen().clear();
  }

  std::vector<expectation> expected;
  std::vector<subject::life> lives;
  std::size_t lost = 0;    // blocks that may be lost, since nobody knows any more that they are free
  bool freed_by_nobody = false;  // somebody wrote that it was
  std::string where;       // for messages

 private:
  std::unique_ptr<subject> pool_;

 public:
  model<subject> live;

 private:
  void check_that(bool holds, const std::string& what, called_from = {}) const {
    if (!holds) BOOST_ERROR(where + ": " + what);
  }

  /// Gives all back, takes all there are, and gives them back. Returns how many there were.
  std::size_t turn_over(std::size_t less) {
    std::mt19937_64 random(11);
    live.shuffle(random);
    while (live.live() != 0) live.give_newest();
    const std::size_t n = pool_->capacity() - less;
    const std::size_t blocks = pool_->capacity();
    std::size_t got = 0;
    while (got != n && live.take() && pool_->capacity() == blocks) ++got;
    live.verify();
    live.shuffle(random);
    while (live.live() != 0) live.give_newest();
    return got;
  }

  void check_report(const report& r, const expectation& e, const subject::life& life) const {
    const misuse& w = r.what;
    const auto says = [&](bool holds, const char* what) { check_that(holds, std::string(what) + " in: " + r.text); };
    says(w.kind == e.kind, "another kind");
    says(r.pool_name == pool_name, "another name");
    says(w.pool == pool_->address(), "another pool");
    says(w.block_size == size_, "another size of blocks");
    says(e.any_address || w.address == e.address, "another address");
    says(w.offset == e.offset && w.damaged == e.damaged && w.value == e.value, "another damage");
    says(w.size == e.size && w.alignment == e.alignment, "another size or alignment");
    says(w.other_pool == e.other_pool && r.other_name == e.other_name, "another other pool");
    says(w.leaked == e.leaked && r.leaks == e.leaks, "other leaks");
    says(w.thread == e.thread && w.owner == e.owner, "other threads");
    says(w.file == nullptr, "a file");
    if (e.block == nullptr) {
      says(w.block == nullptr && w.number == misuse::unknown, "a block");
      const std::uint64_t first = e.leaks.empty() ? 0 : pool_->life_of(e.leaks.front()).allocated;
      says(w.allocated == first && w.freed == 0, "another sequence number");
      return;
    }
    says(w.block == e.block, "another block");
    says(w.chunk != nullptr && pool_->block_at(w.chunk, w.number) == e.block, "another chunk, or number in it");
    const bool counts = about.checks == policy::checked;
    says(w.allocated == (counts ? life.allocated : 0) && w.freed == (counts ? life.freed : 0), "another sequence number");
    const std::uint64_t me = counts ? detail::this_thread_number() : 0;
    says(w.allocated_by == (life.allocated != 0 ? me : 0) && w.freed_by == (life.freed != 0 && !freed_by_nobody ? me : 0),
         "another thread");
  }

  std::size_t capacity_ = 0;
  std::size_t size_ = pool_->block_size();
  bool misuses_;
};

}  // namespace tarn::test

#endif  // TARN_TEST_MISUSE_TRIAL_H_
