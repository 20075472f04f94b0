// To compare with: the C library's (newlib-nano). Its blocks are in no column.
#include <cstdlib>

void* take() { return std::malloc(48); }
void give(void* block) { std::free(block); }
