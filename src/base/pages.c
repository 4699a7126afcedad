/* Memory in large pages, where the system has them for those who ask (Linux, "madvise"). A field of
 * 64 MiB that is read from disk spends half of its time on 16,384 small ones otherwise. */
#if defined(__linux__)
#define _DEFAULT_SOURCE
#endif
#include "base/base.h"

#include <sys/mman.h>

void abuti_expect_all(void *memory, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    const uintptr_t page = (uintptr_t)2 << 20;
    uintptr_t begin = ((uintptr_t)memory + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)memory + bytes) & ~(page - 1);
    if (end > begin)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* a hint: failing changes nothing */
#else
    (void)memory;
    (void)bytes;
#endif
}
