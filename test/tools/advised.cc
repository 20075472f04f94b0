// Programs of which it is known what tarn-advise must say of them, for check_advise.py: `advised MODE`.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

class dice {
 public:
  unsigned operator()(unsigned sides) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<unsigned>(state_ >> 33) % sides;
  }

 private:
  std::uint64_t state_ = 1;
};

/// The compiler may not know what happens to it.
template <class T>
T* kept(T* block) {
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

}  // namespace

// Not in a namespace without a name, whose classes have no names that could be pasted.
struct order {
  explicit order(long number) : id(number) {}
  long id;
  double price[6] = {};
};

struct message {
  long words[12];
};

struct tree {
  tree* left = nullptr;
  tree* right = nullptr;
  long key = 0;
};

namespace {

/// All of one class: 1000 at a time, replaced at random.
void one_size() {
  dice roll;
  std::vector<order*> book(1000);
  for (long i = 0; i < 100'000; ++i) {
    order*& at = book[roll(1000)];
    delete at;
    at = kept(new order(i));
  }
  for (order* one : book) delete one;
}

/// A thread allocates, another frees; in a ring, which allocates nothing.
void from_thread_to_thread() {
  std::mutex mutex;
  std::condition_variable changed;
  message* ring[256];
  unsigned written = 0, read = 0;
  std::thread reader{[&] {
    for (int i = 0; i < 50'000; ++i) {
      std::unique_lock lock{mutex};
      changed.wait(lock, [&] { return written != read; });
      message* const one = ring[read++ % 256];
      lock.unlock();
      changed.notify_one();
      delete one;
    }
  }};
  for (int i = 0; i < 50'000; ++i) {
    message* const one = kept(new message{});
    std::unique_lock lock{mutex};
    changed.wait(lock, [&] { return written - read < 256; });
    ring[written++ % 256] = one;
    lock.unlock();
    changed.notify_one();
  }
  reader.join();
}

/// Allocates a little in a long time.
void nothing_to_gain() {
  for (int i = 0; i < 3000; ++i) delete kept(new order(i));
  std::this_thread::sleep_for(std::chrono::milliseconds{200});
  delete kept(new order(0));
}

/// Nodes of containers, which come and go.
void containers() {
  dice roll;
  std::map<long, double> prices;
  std::unordered_map<long, long> counts;
  std::list<long> last;
  for (long i = 0; i < 60'000; ++i) {
    prices[roll(1000)] = 1;
    prices.erase(roll(1000));
    ++counts[roll(1000)];
    counts.erase(roll(1000));
    last.push_back(i);
    if (last.size() > 100) last.pop_front();
  }
}

void add(tree*& to, long key) {
  tree** at = &to;
  while (*at != nullptr) at = key < (*at)->key ? &(*at)->left : &(*at)->right;
  *at = kept(new tree{nullptr, nullptr, key});
}
void drop(const tree* it) {
  if (it == nullptr) return;
  drop(it->left);
  drop(it->right);
  delete it;
}
/// Trees that are built and dropped as a whole.
void trees() {
  dice roll;
  for (int i = 0; i < 100; ++i) {
    tree* root = nullptr;
    for (int j = 0; j < 1000; ++j) add(root, roll(1'000'000));
    drop(root);
  }
}

struct line {
  line* next;
  char* word;
};
char* new_word(unsigned letters) { return kept(static_cast<char*>(std::malloc(letters))); }
line* new_line(line* next) {
  auto* const made = kept(static_cast<line*>(std::malloc(sizeof(line))));
  *made = {next, nullptr};
  return made;
}
/// Lines with words. They are dropped together; or the words are, once there are others.
void lines(bool are_together) {
  dice roll;
  std::vector<char*> words, before;
  for (int i = 0; i < 100; ++i) {
    line* all = nullptr;
    for (int j = 0; j < 300; ++j) {
      all = new_line(all);
      words.push_back(all->word = new_word(1 + roll(100)));
    }
    if (!are_together) words.swap(before);
    for (line* next = all; (all = next) != nullptr; std::free(all)) {
      next = all->next;
      if (!are_together) continue;
      std::free(all->word);
    }
    if (!are_together) {
      for (char* one : words) std::free(one);
    }
    words.clear();
  }
  for (char* one : before) std::free(one);
}

/// Arrays that grow, and strings.
void arrays() {
  dice roll;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<int> numbers;
    for (unsigned n = 4 + roll(60); n != 0; --n) numbers.push_back(1);
    kept(numbers.data());
  }
}
/// Two sizes: one next to the other, or far from it.
void few_sizes(std::size_t other) {
  dice roll;
  std::vector<void*> live(1000);
  for (int i = 0; i < 60'000; ++i) {
    void*& at = live[roll(1000)];
    std::free(at);
    at = kept(std::malloc(roll(3) == 0 ? other : 40));
  }
  for (void* one : live) std::free(one);
}
void sizes() {
  dice roll;
  for (int i = 0; i < 60'000; ++i) std::free(kept(std::malloc(16 + roll(400))));
}

/// Blocks of C, of which nobody knows the type.
void blocks() {
  for (int i = 0; i < 60'000; ++i) std::free(kept(std::malloc(40)));
}

void shared() {
  std::deque<std::shared_ptr<order>> last;
  for (long i = 0; i < 60'000; ++i) {
    last.push_back(std::make_shared<order>(i));
    if (last.size() > 50) last.pop_front();
  }
}

}  // namespace

int main(int, char** argv) {
  const std::string_view mode = argv[1];
  if (mode == "one-size") one_size();
  if (mode == "threads") from_thread_to_thread();
  if (mode == "nothing") nothing_to_gain();
  if (mode == "containers") containers();
  if (mode == "trees") trees();
  if (mode == "arrays") arrays();
  if (mode == "few-sizes") few_sizes(32);
  if (mode == "far-sizes") few_sizes(4000);
  if (mode == "sizes") sizes();
  if (mode == "lines") lines(true);
  if (mode == "lines-and-words") lines(false);
  if (mode == "blocks") blocks();
  if (mode == "shared") shared();
}
