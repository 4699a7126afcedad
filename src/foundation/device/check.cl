/* Self-test: arithmetic of floats and integers, local memory and barriers. The host computes the
 * same in check.c. */
#include "base/math_shared.h"
#include "device/group_cl.h"

DEFINE_GROUP_SCAN(uint, scan_words)

/* One group of 256; `in` has two floats for each work-item. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
known_answers(__global const float *in, __global uint *out, __local uint *room) {
    uint item = (uint)get_local_id(0), total;
    real a = in[2 * item], b = in[2 * item + 1];
    __global uint *words = out + CHECK_WORDS * item;
    words[0] = as_uint(a / b);
    words[1] = as_uint(real_sqrt(real_abs(a)));
    words[2] = as_uint(a * b + a);
    words[3] = as_uint(a) * 2654435761u ^ as_uint(b) >> 7;
    words[4] = scan_words(as_uint(a) >> 8, room, &total) ^ total;
}
