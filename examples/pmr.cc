// A configuration that is read again and again: its strings, lists and maps take a std::pmr resource, and its peaks go back.
//
// The types are those of std::pmr; only the resource is tarn's. unsynchronized: one thread. trim(), which the standard's
// pools don't have, returns a peak's memory. The configuration is destroyed first, then the pools, then what they take
// memory from.
//
// Prints:
//
//   small: 10 sections, 300 words
//   large: 10 sections, 30000 words
//   after trim(): less than the small one took
//   at the end: 0 bytes
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/allocator/memory_resource.h"

/// Sections of keys with lists of words. Every part of it, down to the words, comes from the resource of the map.
using words = std::pmr::vector<std::pmr::string>;
using section = std::pmr::map<std::pmr::string, words, std::less<>>;
using configuration = std::pmr::map<std::pmr::string, section, std::less<>>;

/// What stands in front of `mark`; the rest stays in `text`.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t end = text.find(mark);
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return front;
}

/// Lines `section.key=word,word,word`. One that comes again replaces the first.
void read(std::string_view text, configuration& into) {
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    section& where = into.try_emplace(std::pmr::string(cut(line, '.'), into.get_allocator())).first->second;
    words& list = where.try_emplace(std::pmr::string(cut(line, '='), into.get_allocator())).first->second;
    list.clear();
    while (!line.empty()) list.emplace_back(cut(line, ','));
  }
}

std::size_t count_words(const configuration& all) {
  std::size_t n = 0;
  for (const auto& [name, keys] : all)
    for (const auto& [key, list] : keys) n += list.size();
  return n;
}

/// Stands for a file: so many keys, each with three words.
std::string text_of(int keys) {
  std::string text;
  for (int i = 0; i != keys; ++i) {
    text += "section" + std::to_string(i % 10) + ".key" + std::to_string(i);
    text += "=alpha,beta,a word that is too long for the string itself\n";
  }
  return text;
}

/// Counts the bytes that the pools hold. Any std::pmr::memory_resource can stand behind them.
class counting_resource : public std::pmr::memory_resource {
 public:
  std::size_t bytes() const { return bytes_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const p = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    bytes_ += bytes;
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    bytes_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  std::size_t bytes_ = 0;
};

int main() {
  counting_resource held;  // outlives the pools, which outlive the configuration
  {
    tarn::pmr::unsynchronized_pool_resource pools(&held);
    configuration current(&pools);

    read(text_of(100), current);
    std::printf("small: %zu sections, %zu words\n", current.size(), count_words(current));
    const std::size_t small = held.bytes();

    read(text_of(10'000), current);
    std::printf("large: %zu sections, %zu words\n", current.size(), count_words(current));
    const std::size_t large = held.bytes();

    current.clear();
    if (held.bytes() != large) return 1;  // the pools keep it: the next large one asks for nothing
    read(text_of(10'000), current);
    if (held.bytes() != large) return 1;

    current.clear();
    pools.trim();  // no large one is expected: what is wholly free goes back
    std::printf("after trim(): %s\n", held.bytes() < small ? "less than the small one took" : "still large");
    if (held.bytes() >= small) return 1;
  }
  std::printf("at the end: %zu bytes\n", held.bytes());
  return held.bytes() == 0 ? 0 : 1;
}
