/* Numbers as text against the C library, which rounds correctly. */
#include "support/support.h"

#include "io/files.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static double bits_to_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t double_to_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Reads the text both ways; both must agree in value, sign and length. */
static void compare(const char *text) {
    const unsigned char *bytes = (const unsigned char *)text;
    double ours = -77;
    char *after;
    double theirs = strtod(text, &after);
    const unsigned char *end = abuti_number_read(bytes, bytes + strlen(text), &ours);
    assert_non_null(end);
    if (double_to_bits(ours) != double_to_bits(theirs) || (const char *)end != after)
        fail_msg("'%s' is %.17g, not %.17g; %d bytes, not %d", text, theirs, ours,
                 (int)((const char *)end - text), (int)(after - text));
}

TEST(reads_what_people_write) {
    char texts[] =
        "0 -0 +1 1. .5 -.5 00012 1e5 1E+5 1e-5 3.25e2x 7e 7e+ 7e-x 1.5.5 12,5 9007199254740993 "
        "9007199254740992.5 0.1 1e22 1e23 123456789012345678901234567890 "
        "0.000000000000000000000000000000123456789 1.7976931348623157e308 "
        "1.7976931348623159e308 4.9e-324 2.4e-324 2.5e-324 2.2250738585072011e-308 1e400 "
        "1e-400 -1e400 1e999999999999 0e999999999999 18446744073709551615 18446744073709551616 "
        "1e27 1e28 1e-27 1e-28 9999999999999999999e27 9999999999999999999e-27 "
        "0.0000000000000000000000000000000e5 8.98846567431158e307 6.123233995736766e-17 "
        "100000000000000000000000000000000000000";
    for (char *text = strtok(texts, " "); text; text = strtok(NULL, " "))
        compare(text);
}

TEST(reads_random_digits) {
    test_random random = {1};
    for (int i = 0; i < 100000; i++) {
        char text[96];
        uint32_t length = 1 + test_random_below(&random, i % 4 ? 20 : 40), used = 0;
        uint32_t point = test_random_below(&random, length + 1);
        for (uint32_t k = 0; k < length; k++) {
            if (k == point)
                text[used++] = '.';
            text[used++] = (char)('0' + test_random_below(&random, 10));
        }
        int exponent = i % 3 ? (int)test_random_below(&random, 60) - 30
                             : (int)test_random_below(&random, 700) - 350;
        text[used] = 0;
        if (i % 5)
            snprintf(text + used, sizeof text - used, "e%d", exponent);
        compare(text);
    }
}

/* Exactly between two doubles, and one digit beside: where a wrong rounding shows. */
TEST(reads_halfway_cases) {
    test_random random = {2};
    for (int i = 0; i < 50000; i++) {
        uint64_t m = (test_random_bits(&random) >> 11) | (uint64_t)1 << 52;
        char text[64];
        int shift = (int)test_random_below(&random, 10) + 1; /* a quotient of up to 2^10 */
        uint64_t whole = 2 * m + 1;                          /* needs 54 bits: a tie */
        snprintf(text, sizeof text, "%llu", (unsigned long long)whole);
        compare(text);
        snprintf(text, sizeof text, "%llu.0000000000000001", (unsigned long long)whole);
        compare(text);
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)whole, shift);
        compare(text);
        /* whole / 2^shift in decimal: whole 5^shift / 10^shift, as digits */
        uint64_t power = 1;
        for (int k = 0; k < shift; k++)
            power *= 5;
        if (whole <= UINT64_MAX / power) {
            snprintf(text, sizeof text, "%llue-%d", (unsigned long long)(whole * power), shift);
            compare(text);
        }
    }
}

TEST(reads_random_doubles) {
    test_random random = {3};
    for (int i = 0; i < 100000; i++) {
        double value = i % 2 ? test_random_real(&random, -1000, 1000)
                             : bits_to_double(test_random_bits(&random));
        if (!(fabs(value) < HUGE_VAL))
            continue;
        char text[64];
        snprintf(text, sizeof text, "%.*g", 1 + (int)test_random_below(&random, 19), value);
        compare(text);
    }
}

TEST(knows_what_is_no_number) {
    static const char *const texts[] = {"",    "-", "+",   ".",   "-.", "e5",
                                        ".e5", "x", "--1", "+-1", "na"};
    double value = 5;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const unsigned char *bytes = (const unsigned char *)texts[i];
        assert_null(abuti_number_read(bytes, bytes + strlen(texts[i]), &value));
    }
    const unsigned char *bytes = (const unsigned char *)"-Infinity";
    assert_ptr_equal(bytes + 9, abuti_number_read(bytes, bytes + 9, &value));
    assert_true(value < -1e308 && isinf(value));
    assert_ptr_equal(bytes + 4, abuti_number_read(bytes, bytes + 6, &value));
    assert_true(isinf(value));
    bytes = (const unsigned char *)"NaN";
    assert_ptr_equal(bytes + 3, abuti_number_read(bytes, bytes + 3, &value));
    assert_true(isnan(value));
    bytes = (const unsigned char *)"123456"; /* never past the end */
    assert_ptr_equal(bytes + 3, abuti_number_read(bytes, bytes + 3, &value));
    assert_true(value == 123);
}

/* The fewest of 15, 16 or 17 digits that give x back, by the C library. */
static int digits_needed(double value) {
    char text[40];
    for (int digits = 15; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return digits;
    }
    return 17;
}

static int digits_of(const char *text) {
    int count = 0, zeros = 0;
    for (; *text && *text != 'e'; text++)
        if (*text == '0' && count)
            zeros++;
        else if (*text >= '1' && *text <= '9')
            count += zeros + 1, zeros = 0;
    return count;
}

TEST(writes_what_comes_back) {
    test_random random = {4};
    for (int i = 0; i < 100000; i++) {
        double value = bits_to_double(test_random_bits(&random));
        if (i % 3 == 1)
            value = test_random_real(&random, -1, 1) *
                    pow(10, (int)test_random_below(&random, 30) - 14);
        else if (i % 3 == 2)
            value = (double)(int32_t)test_random_bits(&random) / 64;
        if (!(fabs(value) < HUGE_VAL))
            continue;
        char text[ABUTI_NUMBER_BYTES + 1];
        size_t length = abuti_number_write(text, value, false);
        assert_true(length < ABUTI_NUMBER_BYTES);
        text[length] = 0;
        double back = strtod(text, NULL);
        if (double_to_bits(back) != double_to_bits(value))
            fail_msg("%.17g was written as %s", value, text);
        if (fabs(value) > 1e-9 && fabs(value) < 1e15)
            assert_true(digits_of(text) <= digits_needed(value));
        compare(text);

        volatile float single = (float)value;
        if (!(fabs((double)single) < HUGE_VAL))
            continue;
        length = abuti_number_write(text, (double)single, true);
        text[length] = 0;
        volatile float back_single = (float)strtod(text, NULL);
        if (back_single != single)
            fail_msg("the float %.9g was written as %s", (double)single, text);
        assert_true(digits_of(text) <= 9);
    }
}

TEST(writes_plainly) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0, "-0"},
                 {1, "1"},
                 {-1.5, "-1.5"},
                 {100, "100"},
                 {0.1, "0.1"},
                 {1e15, "1000000000000000"},
                 {123456.789, "123456.789"},
                 {0.001, "0.001"},
                 {0.00001, "0.00001"},
                 {0.0000015, "1.5e-6"},
                 {1e-7, "1e-7"},
                 {1.0 / 3, "0.3333333333333333"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[ABUTI_NUMBER_BYTES];
        size_t length = abuti_number_write(text, cases[i].value, false);
        text[length] = 0;
        assert_string_equal(cases[i].text, text);
    }
    char text[24];
    size_t length = abuti_integer_write(text, UINT64_MAX);
    assert_int_equal(20, length);
    assert_memory_equal("18446744073709551615", text, 20);
}

/* Compiles a locale with a decimal comma into the test's folder and switches to it. */
static bool speak_german(void) {
    char command[600];
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1", test_folder());
    int ignored = system(command);
    (void)ignored;
    setenv("LOCPATH", test_folder(), 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") && localeconv()->decimal_point[0] == ',';
}

TEST(german_changes_nothing) {
    if (!speak_german())
        skip();
    char text[ABUTI_NUMBER_BYTES + 1];
    snprintf(text, sizeof text, "%.1f", 1.5);
    assert_string_equal("1,5", text);
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"1.5", 1.5},
                 {"0.1234567890123456789012", 0.1234567890123456789012},
                 {"1.5e-40", 1.5e-40},
                 {"-6.25e100", -6.25e100}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const unsigned char *bytes = (const unsigned char *)cases[i].text;
        double value;
        assert_non_null(abuti_number_read(bytes, bytes + strlen(cases[i].text), &value));
        assert_true(value == cases[i].value);
    }
    text[abuti_number_write(text, 1.5e-40, false)] = 0;
    assert_string_equal("1.5e-40", text);
    text[abuti_number_write(text, 2.5, false)] = 0;
    assert_string_equal("2.5", text);
    static const char obj[] = "v 1.5 0 0\nv 0 1.25e-33 0\nv 0 0 1\nf 1 2 3\n";
    abut_mesh *mesh;
    assert_ok(abut_mesh_read_memory(NULL, obj, sizeof obj - 1, "a.obj", NULL, &mesh));
    assert_true(abut_mesh_local_positions(mesh)[0].x == 1.5);
    assert_true(abut_mesh_local_positions(mesh)[1].y == 1.25e-33);
    assert_ok(abut_mesh_write(mesh, test_path("german.obj"), NULL));
    abut_mesh *back;
    assert_ok(abut_mesh_read(NULL, test_path("german.obj"), NULL, &back));
    assert_true(abut_mesh_local_positions(back)[1].y == 1.25e-33);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(back);
    setlocale(LC_ALL, "C");
}
