// Several pools at once. A block goes back to the pool that it came from; none lies in another pool, or over a block of one.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tarn/test/fuzz/input.h"
#include "tarn/test/fuzz/made_pool.h"
#include "tarn/test/fuzz/pool_driver.h"

namespace tarn::test {
namespace {

struct neighbour {
  explicit neighbour(input& in) {
    pools_of<as_it_is>::make(made, in);
    driver.emplace(made);
  }
  made_pool made;
  std::optional<pool_driver> driver;
};

/// No other pool owns a block of this one, or has another capacity than before; but one may have been asked to trim.
void others_are_as_they_were(const std::vector<std::unique_ptr<neighbour>>& all, std::size_t changed,
                             const std::vector<std::size_t>& capacities) {
  const stamped_blocks& blocks = all[changed]->driver->blocks();
  for (std::size_t i = 0; i != all.size(); ++i) {
    if (i == changed) continue;
    const made_pool& other = all[i]->made;
    const std::size_t capacity = other.pool->capacity();
    must(capacity == capacities[i] || (other.says.reclaims && capacity < capacities[i]), "a pool changed another's capacity");
    all[i]->driver->holds();
    if (blocks.empty()) continue;
    for (const std::size_t b : {std::size_t{0}, blocks.size() / 2, blocks.size() - 1})
      must(!other.pool->owns(blocks[b].start), "a pool owns another's block");
  }
}

}  // namespace
}  // namespace tarn::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tarn::test;
  input in(data, size);
  std::vector<std::unique_ptr<neighbour>> all;
  for (std::size_t n = 2 + in.below(4); n != 0; --n) all.push_back(std::make_unique<neighbour>(in));
  const std::uint8_t last = in.byte();

  std::vector<std::size_t> capacities(all.size());
  while (!in.ended()) {
    const std::size_t i = in.below(all.size());
    for (std::size_t j = 0; j != all.size(); ++j) capacities[j] = all[j]->made.pool->capacity();
    all[i]->driver->step(in);
    others_are_as_they_were(all, i, capacities);
  }
  for (const auto& one : all) one->driver->blocks().check_all();
  if (last % 4 == 0)
    for (const auto& one : all) one->driver->take_all();
  for (; !all.empty(); all.erase(all.begin())) {
    const std::size_t ends = last % all.size();
    std::swap(all.front(), all[ends]);
    all.front()->driver->end();
  }
  return 0;
}
