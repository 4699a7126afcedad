/* Status names, the thread-local error message, and options structs of other versions. */
#include "base/base.h"

#include <stdarg.h>
#include <string.h>

static _Thread_local char last_error[1024] = "no error";

const char *abut_last_error(void) {
    return last_error;
}

const char *abut_status_name(abut_status status) {
    static const char *const names[] = {[ABUT_OK] = "ok",
                                        [ABUT_ERROR_ARGUMENT] = "argument error",
                                        [ABUT_ERROR_MEMORY] = "out of memory",
                                        [ABUT_ERROR_FILE] = "file error",
                                        [ABUT_ERROR_FORMAT] = "format error",
                                        [ABUT_ERROR_UNSUPPORTED] = "unsupported",
                                        [ABUT_ERROR_LIMIT] = "limit exceeded",
                                        [ABUT_ERROR_BUFFER] = "buffer too small",
                                        [ABUT_ERROR_CANCELLED] = "cancelled",
                                        [ABUT_ERROR_DEVICE] = "device error"};
    return ABUTI_NAME(names, status);
}

const char *abut_log_level_name(abut_log_level level) {
    static const char *const names[] = {"info", "warning"};
    return ABUTI_NAME(names, level);
}

/* Whether a valid sequence of three bytes is a bidirectional control or a line separator, which
 * make text look like other text: U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069. */
static bool is_format_control(const unsigned char *s) {
    return s[0] == 0xe2 && ((s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f)) ||
                            (s[1] == 0x80 && s[2] >= 0xa8 && s[2] <= 0xae) ||
                            (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

/* Length of the valid UTF-8 sequence of a printable character at s, or 0 (RFC 3629; Unicode
 * standard, table 3-7: no overlong forms, no surrogates). */
static size_t utf8_length(const unsigned char *s) {
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7f;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    size_t length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    unsigned char lowest = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char highest = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < lowest || s[1] > highest)
        return 0;
    if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xd8 && s[1] == 0x9c)) /* C1 controls; U+061C */
        return 0;
    for (size_t i = 2; i < length; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return length == 3 && is_format_control(s) ? 0 : length;
}

void abuti_escape(const char *text, char *out, size_t out_bytes) {
    const unsigned char *s = (const unsigned char *)text;
    size_t used = 0;
    while (*s) {
        size_t length = utf8_length(s);
        size_t needed = length ? length : 4;
        if (used + needed + 1 > out_bytes)
            break;
        if (length) {
            memcpy(out + used, s, length);
            s += length;
        } else {
            static const char digits[] = "0123456789abcdef";
            out[used] = '\\';
            out[used + 1] = 'x';
            out[used + 2] = digits[*s >> 4];
            out[used + 3] = digits[*s & 15];
            s++;
        }
        used += needed;
    }
    out[used] = 0;
}

abut_status abuti_fail(abut_status status, const char *format, ...) {
    char raw[sizeof last_error];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    abuti_escape(raw, last_error, sizeof last_error);
    return status;
}

abut_status abuti_null(const char *function, const char *argument) {
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null", function, argument);
}

abut_status abuti_check_range(const char *function, const char *argument, double number,
                              double least, double most, const char *unit) {
    if (number >= least && number <= most)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is %g; it must be from %g to %g %s", function,
                      argument, number, least, most, unit);
}

abut_status abuti_check_length(const char *function, const char *argument, double length) {
    return abuti_check_range(function, argument, length, 0, ABUT_COORDINATE_MAX,
                             "units of the coordinates");
}

/* The size field of a struct of the caller. */
static size_t size_of(const void *theirs) {
    size_t size;
    memcpy(&size, theirs, sizeof size);
    return size;
}

static abut_status check_size(const void *theirs, size_t ours_bytes, const char *function,
                              const char *what) {
    const size_t size = size_of(theirs);
    if (size >= sizeof size && size <= ours_bytes)
        return ABUT_OK;
    return abuti_fail(
        ABUT_ERROR_ARGUMENT,
        "%s: %s is %zu; initialise the structure with its function ..._default(), which sets the "
        "size (%zu in this library)",
        function, what, size, ours_bytes);
}

abut_status abuti_info_check(const void *theirs, size_t ours_bytes, const char *function) {
    return check_size(theirs, ours_bytes, function, "the size field of the result");
}

abut_status abuti_options_read(void *ours, size_t ours_bytes, const void *theirs,
                               const char *what) {
    abut_status status = theirs ? check_size(theirs, ours_bytes, what, "its size field") : ABUT_OK;
    if (theirs && !status)
        memcpy(ours, theirs, size_of(theirs));
    return status;
}

abut_status abuti_info_write(void *theirs, const void *ours, size_t ours_bytes,
                             const char *function) {
    abut_status status = abuti_info_check(theirs, ours_bytes, function);
    const size_t kept = sizeof(size_t);
    if (!status)
        memcpy((char *)theirs + kept, (const char *)ours + kept, size_of(theirs) - kept);
    return status;
}

abut_status abuti_result_read(void *ours, size_t ours_bytes, const void *theirs,
                              const char *function, const char *name) {
    if (!theirs)
        return abuti_null(function, name);
    abut_status status = abuti_info_check(theirs, ours_bytes, function);
    if (status)
        return status;
    memset(ours, 0, ours_bytes);
    memcpy(ours, theirs, size_of(theirs));
    return ABUT_OK;
}

abut_status abuti_result_write(void *theirs, const void *ours, abut_status status) {
    if (!status || status == ABUT_ERROR_BUFFER)
        memcpy(theirs, ours, size_of(theirs));
    return status;
}

abut_status abuti_list_check(const char *function, const char *name, const void *list,
                             uint64_t capacity, size_t element_bytes) {
    if (!list && capacity)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the list of %s is null, but its capacity is %llu", function, name,
                          (unsigned long long)capacity);
    if (capacity > SIZE_MAX / element_bytes)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: the capacity of %s is %llu; it must be at most %llu, the address space", function,
            name, (unsigned long long)capacity, (unsigned long long)(SIZE_MAX / element_bytes));
    return ABUT_OK;
}

abut_status abuti_list_count(const char *function, const char *name, uint64_t found,
                             uint64_t capacity, uint64_t *count) {
    *count = found;
    if (found <= capacity)
        return ABUT_OK;
    const char *noun = strrchr(name, '>'); /* of a member, such as patches->contacts */
    return abuti_fail(ABUT_ERROR_BUFFER, "%s: there are %llu %s, but the capacity of %s is %llu",
                      function, (unsigned long long)found, noun ? noun + 1 : name, name,
                      (unsigned long long)capacity);
}

abut_status abuti_list_write(const char *function, const char *name, const void *from,
                             uint64_t found, size_t element_bytes, void *list, uint64_t capacity,
                             uint64_t *count) {
    abut_status status = abuti_list_count(function, name, found, capacity, count);
    if (!status && found)
        memcpy(list, from, (size_t)found * element_bytes);
    return status;
}

abut_status abut_set_error(abut_status status, const char *sentence) {
    return abuti_fail(status, "%s", sentence ? sentence : "no reason was given");
}
