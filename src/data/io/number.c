/* Decimal numbers to doubles and back, correctly rounded, in any locale.
 *
 * Reading. Up to 19 digits fit a 64-bit integer m, so the number is m 10^e exactly.
 * - m <= 2^53 and |e| <= 22: both m and 10^|e| are doubles, so one multiplication or division
 *   rounds once (Clinger 1990, "How to read floating point numbers accurately").
 * - |e| <= 27: 5^|e| fits 64 bits, so m 5^e is an exact 128-bit product, or a quotient of at least
 *   62 bits with a remainder; either is rounded once, half to even.
 * - all other numbers (rare) are read by strtod() in the "C" locale.
 *
 * Writing. x = m 2^b times 10^p is (m 5^p) 2^(b+p), exact in 128 bits for p <= 27. It is rounded to
 * D digits and, for D below 17, read back to check whether D digits are enough (17 always are, and
 * 9 for a float; Steele & White 1990). Numbers outside that range are written by snprintf() in the
 * "C" locale.
 */
#include "base/locale.h"
#include "io/files.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

#define POWER_MAX 27 /* 5^27 < 2^63 */

#define SEVEN_POWERS(x) x, 5 * x, 25 * x, 125 * x, 625 * x, 3125 * x, 15625 * x
static const uint64_t power5[POWER_MAX + 1] = {SEVEN_POWERS(UINT64_C(1)),
                                               SEVEN_POWERS(UINT64_C(78125)),
                                               SEVEN_POWERS(UINT64_C(6103515625)),
                                               SEVEN_POWERS(UINT64_C(476837158203125))};

static const double power10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static int leading_zeros(uint64_t bits) {
    return __builtin_clzll(bits);
}

/* 2^exponent, for exponents of normal doubles. */
static double power2(int exponent) {
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* (n + a fraction below one, if `more`) 2^exponent, rounded half to even. n is not 0, has at least
 * 54 bits if `more`, and the result is a normal double. */
static double round_once(wide n, bool more, int exponent) {
    uint64_t high = (uint64_t)(n >> 64);
    int bits = high ? 128 - leading_zeros(high) : 64 - leading_zeros((uint64_t)n);
    int drop = bits - 53;
    if (drop <= 0)
        return (double)(uint64_t)n * power2(exponent);
    uint64_t kept = (uint64_t)(n >> drop);
    wide rest = n & (((wide)1 << drop) - 1), half = (wide)1 << (drop - 1);
    if (rest > half || (rest == half && (more || (kept & 1))))
        kept++;
    return (double)kept * power2(exponent + drop);
}

/* m 10^e; m is not 0 and |e| at most POWER_MAX. */
static double scale_decimal(uint64_t m, int e) {
    if (m <= (uint64_t)1 << 53 && e >= -22 && e <= 22)
        return e < 0 ? (double)m / power10[-e] : (double)m * power10[e];
    if (e >= 0)
        return round_once((wide)m * power5[e], false, e);
    int shift_m = leading_zeros(m), shift_d = leading_zeros(power5[-e]);
    wide numerator = (wide)(m << shift_m) << 63;
    uint64_t denominator = power5[-e] << shift_d;
    uint64_t quotient = (uint64_t)(numerator / denominator);
    bool more = (wide)quotient * denominator != numerator;
    return round_once(quotient, more, shift_d - shift_m - 63 + e);
}

/* ---- reading ---- */

/* The "C" locale. It is created once and kept; for most C libraries it is a constant. */
static locale_t c_locale(void) {
    static locale_t known;
    locale_t locale = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    if (!locale) {
        locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (__atomic_compare_exchange_n(&known, &locale, made, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return made;
        freelocale(made);
    }
    return locale;
}

static double read_by_strtod(const unsigned char *from, const unsigned char *to) {
    char text[ABUTI_SOURCE_LOOKAHEAD + 1];
    size_t length = (size_t)(to - from); /* callers limit the length */
    assert(length <= ABUTI_SOURCE_LOOKAHEAD);
    memcpy(text, from, length);
    text[length] = 0;
    locale_t old = uselocale(c_locale());
    double value = strtod(text, NULL);
    uselocale(old);
    return value;
}

static const unsigned char *read_word(const unsigned char *at, const unsigned char *end,
                                      const char *word) {
    for (; *word; word++, at++)
        if (at == end || (*at | 0x20) != *word)
            return NULL;
    return at;
}

static const unsigned char *read_special(const unsigned char *at, const unsigned char *end,
                                         double *value) {
    static const char *const words[] = {"nan", "infinity", "inf"};
    for (int i = 0; i < 3; i++) {
        const unsigned char *after = read_word(at, end, words[i]);
        if (after) {
            *value = i == 0 ? (double)NAN : (double)INFINITY;
            return after;
        }
    }
    return NULL;
}

/* Reads an exponent such as e-12, saturated. If no digits follow, the e is not part of the number.
 */
static const unsigned char *read_exponent(const unsigned char *at, const unsigned char *end,
                                          int *exponent) {
    const unsigned char *p = at + 1;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || *p < '0' || *p > '9')
        return at;
    int value = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (value < 100000)
            value = value * 10 + (*p - '0');
    *exponent = negative ? -value : value;
    return p;
}

const unsigned char *abuti_number_read(const unsigned char *at, const unsigned char *end,
                                       double *value) {
    const unsigned char *p = at;
    bool negative = p < end && *p == '-', dropped = false, any = false;
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const unsigned char *digits = p;
    const uint64_t digit_limit = 1000000000000000000u; /* below it, one more digit fits */
    uint64_t m = 0;
    int e = 0, exponent = 0;
    for (; p < end && (unsigned)(*p - '0') < 10; p++, any = true) {
        if (m < digit_limit)
            m = m * 10 + (unsigned)(*p - '0');
        else
            e++, dropped = dropped || *p != '0';
    }
    if (p < end && *p == '.')
        for (p++; p < end && (unsigned)(*p - '0') < 10; p++, any = true) {
            if (m < digit_limit)
                m = m * 10 + (unsigned)(*p - '0'), e--;
            else
                dropped = dropped || *p != '0';
        }
    if (!any) {
        p = read_special(digits, end, value);
        if (p && negative)
            *value = -*value;
        return p;
    }
    if (p < end && (*p == 'e' || *p == 'E'))
        p = read_exponent(p, end, &exponent);
    e += exponent;
    if (m == 0 && !dropped)
        *value = 0;
    else if (dropped || e < -POWER_MAX || e > POWER_MAX)
        *value = read_by_strtod(digits, p);
    else
        *value = scale_decimal(m, e);
    if (negative)
        *value = -*value;
    return p;
}

/* ---- writing ---- */

size_t abuti_integer_write(char *out, uint64_t value) {
    char backwards[24];
    size_t length = 0;
    do
        backwards[length++] = (char)('0' + value % 10);
    while (value /= 10);
    for (size_t i = 0; i < length; i++)
        out[i] = backwards[length - 1 - i];
    return length;
}

/* m 2^b 10^p rounded to the nearest integer, half to even; 0 if it is out of range. */
static uint64_t scale_to_integer(uint64_t m, int b, int p) {
    if (p < 0 || p > POWER_MAX)
        return 0;
    wide product = (wide)m * power5[p];
    int shift = b + p;
    if (shift >= 0)
        return shift < 64 && product >> (63 - shift) == 0 ? (uint64_t)product << shift : 0;
    if (shift <= -127)
        return 0;
    wide whole = product >> -shift, rest = product - (whole << -shift);
    wide half = (wide)1 << (-shift - 1);
    if (rest > half || (rest == half && (whole & 1)))
        whole++;
    return whole >> 64 ? 0 : (uint64_t)whole;
}

/* Writes the digits of n with the decimal point after the first digit, times 10^exponent. */
static size_t write_decimal(char *out, uint64_t n, int exponent) {
    while (n % 10 == 0)
        n /= 10;
    char digits[24];
    int length = (int)abuti_integer_write(digits, n);
    char *p = out;
    int before = exponent + 1; /* digits before the point; 0 or less: leading zeros */
    if (exponent < -5) {
        *p++ = digits[0];
        if (length > 1)
            *p++ = '.';
        memcpy(p, digits + 1, (size_t)(length - 1));
        p += length - 1;
        *p++ = 'e';
        *p++ = '-';
        return (size_t)(p - out) + abuti_integer_write(p, (uint64_t)-exponent);
    }
    if (before <= 0) {
        *p++ = '0';
        *p++ = '.';
    }
    for (; before < 0; before++)
        *p++ = '0';
    for (int i = 0; i < length || i < before; i++) {
        if (before > 0 && i == before)
            *p++ = '.';
        *p++ = i < length ? digits[i] : '0';
    }
    return (size_t)(p - out);
}

/* Writes x > 0 with D significant digits; returns 0 if they do not read back exactly (`exact`) or
 * are out of range. */
static size_t write_digits(char *out, double x, int D, bool exact) {
    uint64_t lowest = (uint64_t)power10[D - 1], next = (uint64_t)power10[D];
    int b;
    uint64_t m = (uint64_t)(frexp(x, &b) * 0x1p53);
    b -= 53;
    /* log10(2) = 0.30103; the estimate of the decimal exponent may be off by one */
    int exponent = (int)floor((b + 52) * 0.30103);
    for (int attempt = 0; attempt < 3; attempt++) {
        int p = D - 1 - exponent;
        uint64_t n = scale_to_integer(m, b, p);
        if (!n)
            return 0;
        if (n >= next)
            exponent++;
        else if (n < lowest)
            exponent--;
        else
            return exact && scale_decimal(n, -p) != x ? 0 : write_decimal(out, n, exponent);
    }
    return 0;
}

static size_t write_by_snprintf(char *out, double value, bool single) {
    locale_t old = uselocale(c_locale());
    int digits = single ? 9 : 15, length;
    do
        length = snprintf(out, ABUTI_NUMBER_BYTES - 1, "%.*g", digits, value);
    while (!single && digits++ < 17 && strtod(out, NULL) != value);
    uselocale(old);
    return (size_t)length;
}

size_t abuti_number_write(char *out, double value, bool single) {
    size_t sign = 0;
    if (signbit(value)) {
        out[sign++] = '-';
        value = -value;
    }
    if (value == 0) {
        out[sign] = '0';
        return sign + 1;
    }
    size_t length = 0;
    if (single)
        length = write_digits(out + sign, value, 9, false);
    else
        for (int digits = 15; digits <= 17 && !length; digits++)
            length = write_digits(out + sign, value, digits, digits < 17);
    return sign + (length ? length : write_by_snprintf(out + sign, value, single));
}
