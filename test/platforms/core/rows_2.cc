#define TARN_SHARE 2
#include "tarn/test/platforms/core/rows_here.h"

const tarn::test::part tarn::test::compositions_part_2 = make_part("compositions, share 2", rows);
