// What is chosen in a schedule, one after the other: which thread goes on, and what else can come out one way or another. Each
// schedule begins like the last one and takes the next branch at its end (depth first). A schedule is text, and can be
// followed:
//
//   0 1 2 ...   the thread that goes on
//   A B C ...   a load returns the newest value, the one before, ..., where it might return an older one
//   y z         a weak compare-exchange that might fail for no reason does not, or does
//   a b c ...   what the thread itself chose
#ifndef TARN_TEST_SCHEDULE_CHOICES_H_
#define TARN_TEST_SCHEDULE_CHOICES_H_

#include <cstddef>
#include <string>
#include <vector>

namespace tarn::test {

class choices {
 public:
  void clear() noexcept { path_.clear(); }
  /// A schedule begins: the next, or this.
  void begin(const std::string* followed) noexcept {
    taken_ = 0;
    followed_ = followed != nullptr ? followed->c_str() : nullptr;
  }
  /// Whether a schedule is left that wasn't tried.
  bool advance() noexcept {
    while (!path_.empty() && path_.back().taken + 1 == path_.back().of) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().taken;
    return true;
  }
  void record(std::string* schedule) noexcept { recorded_ = schedule; }

  /// One of `count`: every one of them is tried.
  unsigned choose(char first, unsigned count) noexcept {
    const unsigned n = follows() ? next_followed(first, count) : next_tried(count);
    if (n != count) note(first, n);
    return n;
  }

  bool follows() const noexcept { return followed_ != nullptr; }
  bool followed_to_the_end() const noexcept { return followed_ == nullptr || *followed_ == '\0'; }
  void follow_no_more() noexcept { followed_ = nullptr; }
  /// Returns `count` where the followed schedule says something else.
  unsigned next_followed(char first, unsigned count) noexcept {
    const auto n = static_cast<unsigned>(*followed_ - first);
    if (n >= count) return count;
    ++followed_;
    return n;
  }
  unsigned next_tried(unsigned count) noexcept {
    if (taken_ == path_.size()) path_.push_back({0, static_cast<unsigned char>(count)});
    return path_[taken_++].taken;
  }
  void note(char first, unsigned n) noexcept {
    if (recorded_ != nullptr) [[unlikely]] recorded_->push_back(static_cast<char>(first + static_cast<char>(n)));
  }

 private:
  struct branch {
    unsigned char taken;
    unsigned char of;
  };

  std::size_t taken_ = 0;
  std::vector<branch> path_;
  const char* followed_ = nullptr;
  std::string* recorded_ = nullptr;
};

}  // namespace tarn::test

#endif  // TARN_TEST_SCHEDULE_CHOICES_H_
