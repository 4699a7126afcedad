/* Points on the unit circle.
 *
 * Sine and cosine differ between C libraries in the last bit, but generated meshes must not. The
 * circle is therefore computed with additions and multiplications only, which IEEE 754 defines
 * exactly. Only the first eighth of a turn is computed; mirror images give the rest, so that meshes
 * are exactly symmetric.
 */
#include "base/turn.h"

#include <assert.h>
#include <stdbool.h>

/* Taylor series; for 0 <= x <= pi/4 the first omitted term is below 2^-62 of the sum. */
static double sine_series(double x) {
    double y = x * x, sum = 1.0;
    for (int k = 16; k > 0; k -= 2)
        sum = 1.0 - sum * (y / (double)(k * (k + 1)));
    return x * sum;
}
static double cosine_series(double x) {
    double y = x * x, sum = 1.0;
    for (int k = 17; k > 0; k -= 2)
        sum = 1.0 - sum * (y / (double)(k * (k + 1)));
    return sum;
}

abuti_vec2 abuti_turn(uint64_t part, uint64_t whole) {
    const double quarter_turn = 1.57079632679489661923;
    assert(part < whole);
    uint64_t quarter = 4 * part / whole, rest = 4 * part % whole;
    bool beyond_eighth = 2 * rest > whole;
    double angle = quarter_turn * ((double)(beyond_eighth ? whole - rest : rest) / (double)whole);
    double c = cosine_series(angle), s = sine_series(angle);
    abuti_vec2 turn = {beyond_eighth ? s : c, beyond_eighth ? c : s};
    for (; quarter > 0; quarter--)
        turn = (abuti_vec2){0.0 - turn.y, turn.x};
    return turn;
}
