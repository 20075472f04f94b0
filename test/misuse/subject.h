// A pool that is misused, behind virtual functions: what is tried on many compositions is compiled once. It counts its
// operations as the pool should, so that the sequence numbers of a report can be foretold.
#ifndef TARN_TEST_MISUSE_SUBJECT_H_
#define TARN_TEST_MISUSE_SUBJECT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <unordered_map>

namespace tarn::test {

enum class policy : unsigned char { none, hardened, guarded, checked };
inline constexpr std::size_t policies = 4;
inline constexpr const char* policy_names[policies] = {"no_checking", "hardened", "with guard bytes", "checked"};

/// Where the pool keeps free blocks.
enum class home : unsigned char {
  links,      // lifo_reuse: in the blocks
  batches,    // batch_reuse: in an array, then in the blocks
  bitmap,     // page_local_reuse: in an array, then in the column of reuse
  magazines,  // thread_cached
  stack,      // lock_free: in the column of locking
};

struct traits {
  policy checks = policy::none;
  std::size_t size = 0;     // bytes
  std::size_t payload = 0;  // more, where a list in the blocks needs it
  home list = home::links;
  bool one_thread = false;  // nothing is locked
  bool grouped = false;
  bool bounded = false;
  bool over_resource = false;
};

/// A resource that can break its contract.
class moody_resource final : public std::pmr::memory_resource {
 public:
  enum class mood { honest, misaligned, twice, null };
  mood now = mood::honest;
  std::size_t asked = 0;

  moody_resource() = default;
  moody_resource(const moody_resource&) = delete;
  moody_resource& operator=(const moody_resource&) = delete;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  void* last_ = nullptr;
};

class subject {
 public:
  struct life {
    std::uint64_t allocated = 0;
    std::uint64_t freed = 0;
  };

  virtual ~subject() = default;

  // As a program uses it.
  void* try_allocate() {
    void* const block = get();
    if (block != nullptr) lives_[block].allocated = ++sequence_;
    return block;
  }
  void deallocate(void* block) {
    if (block != nullptr) lives_[block].freed = ++sequence_;
    give(block);
  }
  virtual bool owns(const void*) const noexcept = 0;
  virtual std::size_t block_size() const noexcept = 0;
  virtual std::size_t block_alignment() const noexcept = 0;
  virtual std::size_t capacity() const noexcept = 0;
  virtual bool try_reserve(std::size_t blocks) noexcept = 0;
  virtual void hand_over() noexcept = 0;
  virtual std::optional<std::size_t> verify() noexcept = 0;  // none: it has no such member

  // As one misuses it: not counted.
  virtual void* get() noexcept = 0;
  virtual void give(void* block) noexcept = 0;
  virtual void give(void* block, std::size_t bytes, std::size_t alignment) noexcept = 0;
  virtual void end() noexcept = 0;  // its memory, and that of its stores' objects, stays

  // What a report should say.
  virtual const void* address() const noexcept = 0;
  /// The start of block `number` of the chunk whose first slot is there.
  virtual const void* block_at(const void* chunk, std::size_t number) const noexcept = 0;
  life life_of(const void* block) const {
    const auto found = lives_.find(block);
    return found == lives_.end() ? life() : found->second;
  }

  // Where its own memory lies.
  /// Has everything given back to the core that waits in front of it.
  virtual void drain() noexcept = 0;
  virtual std::byte* link_of(void* block) const noexcept = 0;
  /// Looks up what the checking policy keeps of a block, for set_mark(): whether it is in use.
  virtual void find_mark(void* block) noexcept = 0;
  virtual void set_mark(bool in_use) noexcept = 0;
  /// The bitmap of a block's chunk, and the block's bit in it.
  virtual std::uint64_t* bitmap_word(void* block, std::uint64_t& bit) noexcept = 0;

  virtual std::unique_ptr<subject> another(const char* name) const = 0;

  moody_resource upstream;

 private:
  std::unordered_map<const void*, life> lives_;
  std::uint64_t sequence_ = 0;
};

struct family {
  std::string name;
  traits of;
  std::unique_ptr<subject> (*make)(const char* pool_name);
};

}  // namespace tarn::test

#endif  // TARN_TEST_MISUSE_SUBJECT_H_
