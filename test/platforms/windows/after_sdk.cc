// Every header of the library after the Windows SDK's, with its macros min, max, small and near: the declarations agree.
#include <windows.h>
#include <winternl.h>

#include "tarn/allocator/all.h"

int main() { return tarn::platform::windows::GetCurrentThreadId() == GetCurrentThreadId() ? 0 : 1; }
