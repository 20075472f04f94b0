#define TARN_SHARE 4
#include "tarn/test/platforms/core/rows_here.h"

const tarn::test::part tarn::test::compositions_part_4 = make_part("compositions, share 4", rows);
