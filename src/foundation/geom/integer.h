/* Signed integers of arbitrary size, for exact decisions.
 *
 * All numbers have the same capacity in digits and come from one pool, last in, first out: a caller
 * saves `used`, creates numbers and restores `used`. If a number or the pool is too small, the pool
 * sets `full`; later results are undefined but memory-safe. The caller then starts again with a
 * larger pool.
 */
#ifndef ABUTI_GEOM_INTEGER_H
#define ABUTI_GEOM_INTEGER_H

#include "base/base.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct integer {
    int sign;       /* -1, 0, 1 */
    uint32_t count; /* number of digits in base 2^32, the lowest first, the highest not 0 */
    uint32_t *digit;
} integer;

typedef struct integer_pool {
    uint32_t *digits; /* slots * room digits */
    uint32_t room;    /* digits of each number, two or more */
    uint32_t slots, used;
    bool full;
} integer_pool;

static inline integer integer_new(integer_pool *pool) {
    if (pool->used >= pool->slots) {
        pool->full = true;
        pool->used = 0;
    }
    integer r = {0, 0, pool->digits + (size_t)pool->room * pool->used++};
    return r;
}

static inline void integer_set(integer *r, const integer *a) {
    r->sign = a->sign;
    r->count = a->count;
    if (a->count)
        memmove(r->digit, a->digit, a->count * sizeof *a->digit);
}

static inline void integer_trim(integer *r) {
    while (r->count && r->digit[r->count - 1] == 0)
        r->count--;
    if (!r->count)
        r->sign = 0;
}

/* A view of a with the opposite sign. */
static inline integer integer_negative(const integer *a) {
    integer r = *a;
    r.sign = -r.sign;
    return r;
}

static inline int integer_compare_size(const integer *a, const integer *b) {
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (uint32_t i = a->count; i-- > 0;)
        if (a->digit[i] != b->digit[i])
            return a->digit[i] < b->digit[i] ? -1 : 1;
    return 0;
}

/* r = a + b; r may be a or b. */
static inline void integer_add(integer_pool *pool, integer *r, const integer *a, const integer *b) {
    if (!a->sign || !b->sign) {
        integer_set(r, a->sign ? a : b);
        return;
    }
    const integer *large = integer_compare_size(a, b) < 0 ? b : a;
    const integer *small = large == a ? b : a;
    uint32_t count = large->count, small_count = small->count;
    int sign = large->sign;
    uint64_t carry = 0;
    if (a->sign == b->sign) {
        for (uint32_t i = 0; i < count; i++) {
            carry += (uint64_t)large->digit[i] + (i < small_count ? small->digit[i] : 0);
            r->digit[i] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry && count == pool->room)
            pool->full = true;
        else if (carry)
            r->digit[count++] = (uint32_t)carry;
    } else {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t subtrahend = (i < small_count ? small->digit[i] : 0) + carry;
            carry = large->digit[i] < subtrahend;
            r->digit[i] = (uint32_t)(large->digit[i] - subtrahend);
        }
    }
    r->count = count;
    r->sign = sign;
    integer_trim(r);
}

static inline void integer_subtract(integer_pool *pool, integer *r, const integer *a,
                                    const integer *b) {
    integer negative = integer_negative(b);
    integer_add(pool, r, a, &negative);
}

/* r = a b; r must not be a or b. */
static inline void integer_multiply(integer_pool *pool, integer *r, const integer *a,
                                    const integer *b) {
    r->sign = 0;
    r->count = 0;
    if (!a->sign || !b->sign)
        return;
    if (a->count + b->count > pool->room) {
        pool->full = true;
        return;
    }
    memset(r->digit, 0, (a->count + b->count) * sizeof *r->digit);
    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t carry = 0;
        for (uint32_t j = 0; j < b->count; j++) {
            carry += (uint64_t)a->digit[i] * b->digit[j] + r->digit[i + j];
            r->digit[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        r->digit[i + b->count] = (uint32_t)carry;
    }
    r->sign = a->sign * b->sign;
    r->count = a->count + b->count;
    integer_trim(r);
}

/* Multiplies a by 2^bits in place. */
static inline void integer_shift(integer_pool *pool, integer *a, uint32_t bits) {
    uint32_t whole = bits / 32, part = bits % 32;
    if (!a->sign || !bits)
        return;
    if (whole >= pool->room || a->count >= pool->room - whole) {
        pool->full = true;
        return;
    }
    a->digit[a->count + whole] = 0;
    for (uint32_t i = a->count; i-- > 0;) {
        uint64_t wide = (uint64_t)a->digit[i] << part;
        a->digit[i + whole + 1] |= (uint32_t)(wide >> 32);
        a->digit[i + whole] = (uint32_t)wide;
    }
    memset(a->digit, 0, whole * sizeof *a->digit);
    a->count += whole + 1;
    integer_trim(a);
}

/* x 2^shift, which must be an integer. */
static inline integer integer_of(integer_pool *pool, double x, int shift) {
    integer r = integer_new(pool);
    int exponent;
    double m = frexp(fabs(x), &exponent);
    uint64_t bits = (uint64_t)ldexp(m, 53);
    int up = exponent - 53 + shift;
    if (up < 0)
        bits >>= up > -64 ? -up : 63; /* shifts out zeros only */
    r.sign = bits == 0 ? 0 : x < 0 ? -1 : 1;
    r.count = 2;
    r.digit[0] = (uint32_t)bits;
    r.digit[1] = (uint32_t)(bits >> 32);
    integer_trim(&r);
    if (up > 0)
        integer_shift(pool, &r, (uint32_t)up);
    return r;
}

#endif
