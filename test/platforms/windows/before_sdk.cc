// Every header of the library before the Windows SDK's: the declarations agree.
#include "tarn/allocator/all.h"

#include <windows.h>
#include <winternl.h>

int main() { return tarn::platform::windows::GetCurrentThreadId() == GetCurrentThreadId() ? 0 : 1; }
