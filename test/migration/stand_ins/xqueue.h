// A stand-in for endurodave's header.
#ifndef XQUEUE_H
#define XQUEUE_H

#include <queue>

#include "stl_allocator.h"

template <class T, class C = std::deque<T, stl_allocator<T>>>
using xqueue = std::queue<T, C>;

#endif
