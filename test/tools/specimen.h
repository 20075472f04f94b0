// What is misused: pools of every kind behind one face, each with a name.
#ifndef TARN_TEST_TOOLS_SPECIMEN_H_
#define TARN_TEST_TOOLS_SPECIMEN_H_

#include <cstddef>
#include <memory>
#include <span>

namespace tarn::test {

/// A pool, or what stands over one. What it can't do returns false, or 0.
class specimen {
 public:
  virtual ~specimen() = default;

  virtual std::size_t size() const noexcept = 0;  // bytes of a block that its user may touch
  virtual void* take() noexcept = 0;              // never null: there is memory for 1100 blocks
  virtual void give(void* block) noexcept = 0;

  virtual std::size_t take_batch(std::span<void*>) noexcept { return 0; }
  virtual bool give_batch(std::span<void* const>) noexcept { return false; }
  virtual bool reserve(std::size_t) noexcept { return false; }
  virtual bool trim() noexcept { return false; }
  virtual bool release() noexcept { return false; }
  virtual bool owns(const void*) const noexcept { return false; }
  virtual std::size_t objects() noexcept { return 0; }  // that for_each() visits; it reads them
};

struct family {
  const char* name;
  std::unique_ptr<specimen> (*make)();
  bool many_threads = false;  // may use it at once
  bool refuses = false;       // a checking policy answers to what is given back wrongly
  bool ends = true;           // its memory isn't the program's any more when it ends
  bool frees = true;          // what is given back is freed memory
};

std::span<const family> families() noexcept;

/// Does so many operations as they should be, of all that a pool can, and looks at every byte of every block. Returns what was
/// wrong, or null. Prints how many operations it did.
const char* use_well(const family& what, std::size_t operations);

}  // namespace tarn::test

#endif  // TARN_TEST_TOOLS_SPECIMEN_H_
