/* Sine and cosine with the same bits on every machine and exact mirror symmetry. */
#ifndef ABUTI_BASE_TURN_H
#define ABUTI_BASE_TURN_H

#include "base/base.h"

typedef struct abuti_vec2 {
    double x, y;
} abuti_vec2;

/* Cosine and sine of `part` / `whole` turns, for part < whole <= 2^33. */
ABUTI_API abuti_vec2 abuti_turn(uint64_t part, uint64_t whole);

#endif
