// A stand-in for endurodave's header.
#ifndef XSTRING_H
#define XSTRING_H

#include <string>

#include "stl_allocator.h"

using xstring = std::basic_string<char, std::char_traits<char>, stl_allocator<char>>;
using xwstring = std::basic_string<wchar_t, std::char_traits<wchar_t>, stl_allocator<wchar_t>>;

#endif
