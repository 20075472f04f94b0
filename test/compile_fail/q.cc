// Q: containers with a pool of their own.
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tarn/allocator/containers.h"
#include "tarn/allocator/own_pool_allocator.h"

// case q1_array: tarn: [Q1] own_pool_allocator was given a store that has one region
RIGHT(tarn::fixed_list<int, 100> right; void use() { right.push_back(1); })
WRONG(std::list<int, tarn::own_pool_allocator<int, tarn::static_array_store<100>>> wrong; void use() { wrong.push_back(1); })

// case q1_array_to_fall_back_to: tarn: [Q1] own_pool_allocator was given a store that has one region
RIGHT(std::list<int, tarn::own_pool_allocator<int, tarn::fall_back_to<tarn::heap_store>>> right;
      void use() { right.push_back(1); })
WRONG(std::list<int, tarn::own_pool_allocator<int, tarn::fall_back_to<tarn::static_array_store<9>>>> wrong;
      void use() { wrong.push_back(1); })

// case q2_hash_table: tarn: [Q2] clear_at_once was given something that isn't a list, map or set
std::unordered_map<int, int, std::hash<int>, std::equal_to<>, tarn::own_pool_allocator<std::pair<const int, int>>> all;
RIGHT(void use() { all.clear(); })
WRONG(void use() { tarn::clear_at_once(all); })

// case q3_strings: tarn: [Q3] clear_at_once was given a container whose elements or comparator have a destructor
RIGHT(using element = int;)
WRONG(using element = std::string;)
std::list<element, tarn::own_pool_allocator<element>> all;
void use() { tarn::clear_at_once(all); }

// case q3_comparator: tarn: [Q3] clear_at_once was given a container whose elements or comparator have a destructor
struct by_name {
  RIGHT(const char* name;)
  WRONG(std::string name;)
  bool operator()(int a, int b) const { return a < b; }
};
std::map<int, int, by_name, tarn::own_pool_allocator<std::pair<const int, int>>> all;
void use() { tarn::clear_at_once(all); }

// case q4_vector: tarn: [Q4] fixed_container was given something that isn't a list, map or set
RIGHT(tarn::fixed_container<std::list<int>, 10> all;)
WRONG(tarn::fixed_container<std::vector<int>, 10> all;)
void use() { all.push_back(1); }

// case q4_hash_table: tarn: [Q4] fixed_container was given something that isn't a list, map or set
RIGHT(tarn::fixed_container<std::map<int, int>, 10> all;)
WRONG(tarn::fixed_container<std::unordered_map<int, int>, 10> all;)
void use() { all[1] = 2; }
