/* Words, numbers and lines of the text formats, through the window of the source.
 *
 * No function needs a whole line in memory, so a line may be as long as the file. A number of more
 * than ABUTI_SOURCE_LOOKAHEAD bytes is an error; a keyword is truncated.
 */
#include "io/files.h"

#include <string.h>

/* Skips the line end here. */
static void skip_line_end(abuti_reader *reader) {
    abuti_source *source = &reader->source;
    if (*source->at == '\r' && abuti_source_fill(source, 2) >= 2 && source->at[1] == '\n')
        source->at++;
    source->at++;
    reader->line++;
}

bool abuti_text_blanks(abuti_reader *reader, bool continued) {
    abuti_source *source = &reader->source;
    for (;;) {
        int byte = abuti_text_peek(reader);
        if (byte < 0 || abuti_is_line_end(byte))
            return false;
        if (abuti_is_space(byte)) {
            source->at++;
        } else if (byte == '\\' && continued && abuti_source_fill(source, 2) >= 2 &&
                   abuti_is_line_end(source->at[1])) {
            source->at++;
            skip_line_end(reader);
        } else {
            return true;
        }
    }
}

bool abuti_text_space(abuti_reader *reader) {
    for (;;) {
        int byte = abuti_text_peek(reader);
        if (byte < 0)
            return false;
        if (!abuti_is_space(byte))
            return true;
        if (abuti_is_line_end(byte))
            skip_line_end(reader);
        else
            reader->source.at++;
    }
}

void abuti_text_skip_line(abuti_reader *reader) {
    abuti_source *source = &reader->source;
    while (abuti_text_peek(reader) >= 0) {
        const unsigned char *p = source->at, *end = source->end;
        while (p < end && !abuti_is_line_end(*p))
            p++;
        source->at = p;
        if (p < end) {
            skip_line_end(reader);
            return;
        }
    }
}

/* Whether a word ends before this byte: at white space, or where a comment begins. */
static bool ends_word(const abuti_reader *reader, unsigned char byte) {
    return abuti_is_space(byte) || (reader->marks && byte && strchr(reader->marks, byte));
}

void abuti_text_skip_word(abuti_reader *reader) {
    abuti_source *source = &reader->source;
    for (bool first = true; abuti_text_peek(reader) >= 0; first = false) {
        const unsigned char *p = source->at, *end = source->end;
        p += first && !abuti_is_space(*p); /* a mark that begins a word is part of it */
        while (p < end && !ends_word(reader, *p))
            p++;
        source->at = p;
        if (p < end)
            return;
    }
}

const unsigned char *abuti_text_end(abuti_reader *reader) {
    size_t visible = abuti_read_fill(reader, ABUTI_SOURCE_LOOKAHEAD);
    return reader->source.at +
           (visible < ABUTI_SOURCE_LOOKAHEAD ? visible : ABUTI_SOURCE_LOOKAHEAD);
}

size_t abuti_text_word(abuti_reader *reader, const char **word) {
    abuti_source *source = &reader->source;
    const unsigned char *end = abuti_text_end(reader), *p = source->at;
    while (p < end && !ends_word(reader, *p))
        p++;
    *word = (const char *)source->at;
    size_t length = (size_t)(p - source->at);
    source->at = p;
    return length;
}

bool abuti_text_is(const char *word, size_t length, const char *text) {
    for (size_t i = 0; i < length; i++) {
        char letter = word[i];
        if (letter >= 'A' && letter <= 'Z')
            letter = (char)(letter + ('a' - 'A'));
        if (!text[i] || letter != text[i])
            return false;
    }
    return !text[length];
}

bool abuti_text_fail_word(abuti_reader *reader, const char *what) {
    abuti_source *source = &reader->source;
    const unsigned char *end = abuti_text_end(reader), *p = source->at;
    char quoted[48];
    size_t length = 0;
    for (; p < end && length < sizeof quoted - 7; p++) {
        if (length ? ends_word(reader, *p) : abuti_is_space(*p))
            break;
        if (*p) {
            quoted[length++] = (char)*p;
        } else { /* as abuti_fail() writes other bytes that are not printable */
            memcpy(quoted + length, "\\x00", 4);
            length += 4;
        }
    }
    if (p < end && !ends_word(reader, *p)) {
        memcpy(quoted + length, "...", 3);
        length += 3;
    }
    quoted[length] = 0;
    if (!length)
        return abuti_read_fail(reader, "%s is missing", what);
    return abuti_read_fail(reader, "'%s' is not %s", quoted, what);
}

bool abuti_text_continue(abuti_reader *reader, const unsigned char *after, const char *what) {
    const unsigned char *end = abuti_text_end(reader), *at = reader->source.at;
    if (!after || (after < end ? !ends_word(reader, *after) : after - at >= ABUTI_SOURCE_LOOKAHEAD))
        return abuti_text_fail_word(reader, what);
    reader->source.at = after;
    return true;
}

bool abuti_text_number(abuti_reader *reader, const char *what, double *value) {
    const unsigned char *end = abuti_text_end(reader);
    return abuti_text_continue(reader, abuti_number_read(reader->source.at, end, value), what);
}

bool abuti_text_coordinate(abuti_reader *reader, int axis, double *value) {
    static const char *const names[] = {"a number for x", "a number for y", "a number for z"};
    return abuti_text_number(reader, names[axis], value);
}

const unsigned char *abuti_text_digits(const unsigned char *at, const unsigned char *end,
                                       int64_t *value) {
    const unsigned char *p = at;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const unsigned char *digits = p;
    int64_t sum = 0;
    for (; p < end && (unsigned)(*p - '0') < 10; p++)
        sum = sum > INT64_MAX / 10 - 1 ? INT64_MAX - 9 : sum * 10 + (*p - '0');
    if (p == digits)
        return NULL;
    *value = negative ? -sum : sum;
    return p;
}

bool abuti_text_integer(abuti_reader *reader, const char *what, int64_t *value) {
    const unsigned char *end = abuti_text_end(reader);
    return abuti_text_continue(reader, abuti_text_digits(reader->source.at, end, value), what);
}
