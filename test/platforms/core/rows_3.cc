#define TARN_SHARE 3
#include "tarn/test/platforms/core/rows_here.h"

const tarn::test::part tarn::test::compositions_part_3 = make_part("compositions, share 3", rows);
