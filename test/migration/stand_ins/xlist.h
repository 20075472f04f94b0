// A stand-in for endurodave's header.
#ifndef XLIST_H
#define XLIST_H

#include <list>

#include "stl_allocator.h"

template <class T, class A = stl_allocator<T>>
using xlist = std::list<T, A>;

#endif
