/* Growing strings, conversion of numbers, and suggestions for misspelt words.
 *
 * Numbers do not depend on the locale: the program leaves LC_NUMERIC at "C". */
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory of the run ---- */

/* Blocks are in a list, so that they are reachable until the process ends. */
typedef union block {
    struct {
        union block *before, *next;
    } link;
    max_align_t alignment;
} block;

static block blocks = {.link = {&blocks, &blocks}};

static void link_block(block *b) {
    b->link.before = &blocks;
    b->link.next = blocks.link.next;
    b->link.next->link.before = blocks.link.next = b;
}

static void unlink_block(block *b) {
    b->link.before->link.next = b->link.next;
    b->link.next->link.before = b->link.before;
}

void *tool_array(size_t count, size_t bytes) {
    block *made =
        count < (SIZE_MAX - sizeof *made) / bytes ? calloc(1, sizeof *made + count * bytes) : NULL;
    if (!made)
        tool_exhausted();
    link_block(made);
    return made + 1;
}

void *tool_alloc(size_t bytes) {
    return tool_array(bytes, 1);
}

void *tool_resize(void *memory, size_t count, size_t bytes) {
    block *old = memory ? (block *)memory - 1 : NULL, *made = NULL;
    if (old)
        unlink_block(old);
    if (count < (SIZE_MAX - sizeof *made) / bytes)
        made = realloc(old, sizeof *made + count * bytes);
    if (!made)
        tool_exhausted();
    link_block(made);
    return made + 1;
}

void tool_free(void *memory) {
    if (!memory)
        return;
    block *old = (block *)memory - 1;
    unlink_block(old);
    free(old);
}

void tool_grow(void *list, size_t count, size_t *room, size_t element_bytes) {
    void *memory;
    if (count < *room)
        return;
    *room = *room ? 2 * *room : 64;
    memcpy(&memory, list, sizeof memory);
    memory = tool_resize(memory, *room, element_bytes);
    memcpy(list, &memory, sizeof memory);
}

char *tool_copy(const char *string) {
    size_t bytes = strlen(string) + 1;
    return memcpy(tool_alloc(bytes), string, bytes);
}

/* ---- growing strings ---- */

/* One byte more is for the terminator. */
static void make_room(tool_text *to, size_t more) {
    size_t room = to->room ? to->room : 256;
    if (more < to->room - to->used)
        return;
    while (room <= SIZE_MAX / 4 && room - to->used <= more)
        room *= 2;
    to->data = tool_resize(to->data, room, 1);
    to->room = room;
}

uint64_t hash_bytes(const char *bytes, size_t count) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash;
}

void text_bytes(tool_text *to, const char *bytes, size_t count) {
    make_room(to, count);
    if (count)
        memcpy(to->data + to->used, bytes, count);
    to->used += count;
    to->data[to->used] = 0;
}

void text_little(tool_text *to, uint64_t bits, size_t count) {
    char bytes[8];
    for (size_t i = 0; i < count; i++)
        bytes[i] = (char)(unsigned char)(bits >> 8 * i & 255);
    text_bytes(to, bytes, count);
}

void text_add(tool_text *to, const char *string) {
    text_bytes(to, string, strlen(string));
}

void text_print_list(tool_text *to, const char *format, va_list list) {
    va_list again;
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    if (length >= 0) {
        make_room(to, (size_t)length);
        vsnprintf(to->data + to->used, (size_t)length + 1, format, again);
        to->used += (size_t)length;
    }
    va_end(again);
}

void text_print(tool_text *to, const char *format, ...) {
    va_list list;
    va_start(list, format);
    text_print_list(to, format, list);
    va_end(list);
}

const char *text_of(const tool_text *text) {
    return text->data ? text->data : "";
}

void text_clear(tool_text *to) {
    to->used = 0;
    if (to->data)
        to->data[0] = 0;
}

void text_free(tool_text *to) {
    tool_free(to->data);
    *to = (tool_text){0};
}

/* ---- UTF-8 ---- */

/* Length of the UTF-8 sequence at s, or 0 if it is invalid (Unicode standard, table 3-7: no
 * overlong forms, no surrogates). A 0 byte is not a sequence. */
static size_t sequence_length(const unsigned char *s) {
    if (s[0] < 0x80)
        return s[0] != 0;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    size_t length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    unsigned char lowest = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char highest = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < lowest || s[1] > highest)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return length;
}

/* The code point of a sequence of this length. */
static uint32_t code_point(const unsigned char *s, size_t length) {
    uint32_t code = length == 1 ? s[0] : s[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (s[i] & 0x3fu);
    return code;
}

/* Control characters (C0, DEL, C1) could move the cursor of a terminal or send it commands. Line
 * and paragraph separators and bidirectional controls (Unicode 16, section 23.2) make text
 * appear as other text: "Trojan Source", Boucher and Anderson 2021. abuti_escape() of the
 * library has the same list. */
static bool is_control(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

bool text_is_utf8(const char *string) {
    const unsigned char *s = (const unsigned char *)string;
    while (*s) {
        size_t length = sequence_length(s);
        if (!length)
            return false;
        s += length;
    }
    return true;
}

void text_safe(tool_text *to, const char *string) {
    for (const unsigned char *s = (const unsigned char *)string; *s;) {
        size_t length = sequence_length(s);
        if (length && !is_control(code_point(s, length))) {
            text_bytes(to, (const char *)s, length);
            s += length;
        } else {
            text_print(to, "\\x%02x", *s++);
        }
    }
}

/* Length of an escape sequence of shade_on() at s, or 0. */
static size_t colour_length(const unsigned char *s) {
    if (s[0] != '\033' || s[1] != '[')
        return 0;
    size_t digits = strspn((const char *)s + 2, "0123456789");
    return digits && digits <= 2 && s[2 + digits] == 'm' ? digits + 3 : 0;
}

void text_terminal(tool_text *to, const char *bytes, size_t count) {
    const unsigned char *s = (const unsigned char *)bytes, *end = s + count;
    while (s < end) {
        size_t length = sequence_length(s), colour = colour_length(s);
        bool plain = length && (*s == '\n' || *s == '\t' || !is_control(code_point(s, length)));
        if (plain || colour) {
            text_bytes(to, (const char *)s, plain ? length : colour);
            s += plain ? length : colour;
        } else {
            text_print(to, "\\x%02x", *s++);
        }
    }
}

/* Whether a spreadsheet could read a cell as a formula: it begins with =, +, - or @ and is not a
 * number (OWASP ASVS, requirement 1.2.10; CWE-1236). Their full-width forms count as well, as a
 * precaution. A tab, which OWASP also names, is escaped before. */
static bool is_formula(const char *cell) {
    static const char *const wide[] = {"\uff1d", "\uff0b", "\uff0d", "\uff20"};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strncmp(cell, wide[i], strlen(wide[i])) == 0)
            return true;
    char *end;
    return *cell && strchr("=+-@", *cell) && (strtod(cell, &end), end == cell || *end);
}

void text_field(tool_text *to, const char *string) {
    tool_text cell = {0};
    text_safe(&cell, string);
    const char *at = text_of(&cell);
    bool formula = is_formula(at);
    if (!formula && !strpbrk(at, ",;\"") && *at != ' ') {
        text_add(to, at);
    } else {
        text_add(to, formula ? "\"'" : "\"");
        for (; *at; at++)
            text_print(to, *at == '"' ? "\"%c" : "%c", *at);
        text_add(to, "\"");
    }
    text_free(&cell);
}

void text_quoted(tool_text *to, const char *string) {
    text_add(to, "\"");
    for (const unsigned char *s = (const unsigned char *)string; *s;) {
        size_t length = sequence_length(s);
        if (!length) {
            text_print(to, "\\\\x%02x", *s++);
            continue;
        }
        if (*s == '"' || *s == '\\')
            text_print(to, "\\%c", *s);
        else if (*s == '\n')
            text_add(to, "\\n");
        else if (*s == '\t')
            text_add(to, "\\t");
        else if (is_control(code_point(s, length)))
            text_print(to, "\\u%04x", (unsigned)code_point(s, length));
        else
            text_bytes(to, (const char *)s, length);
        s += length;
    }
    text_add(to, "\"");
}

void text_shown(tool_text *to, const char *string) {
    tool_text safe = {0};
    text_safe(&safe, string);
    text_quoted(to, text_of(&safe));
    text_free(&safe);
}

void text_html(tool_text *to, const char *words) {
    for (; *words; words++)
        if (*words == '<' || *words == '>' || *words == '&' || *words == '"')
            text_print(to, "&#%d;", *words);
        else
            text_bytes(to, words, 1);
}

/* Escape sequences for colours (ESC [ ... m) have no width. */
size_t text_columns(const char *string) {
    size_t columns = 0;
    for (const char *s = string; *s; s++) {
        if (s[0] == '\033' && s[1] == '[') {
            while (*s && *s != 'm')
                s++;
            if (!*s)
                break;
        } else if (((unsigned char)*s & 0xc0) != 0x80) {
            columns++;
        }
    }
    return columns;
}

void text_wrapped(tool_text *to, const char *words, size_t column, size_t indent, size_t width) {
    bool first = true;
    while (*words) {
        size_t length = strcspn(words, " ");
        if (length) {
            char word[256];
            snprintf(word, sizeof word, "%.*s", (int)length, words);
            size_t columns = text_columns(word);
            if (!first && width && column + 1 + columns > width) {
                text_print(to, "\n%*s", (int)indent, "");
                column = indent;
            } else if (!first) {
                text_add(to, " ");
                column++;
            }
            text_bytes(to, words, length);
            column += columns;
            first = false;
        }
        words += length + (words[length] == ' ');
    }
}

void text_padded(tool_text *to, const char *string, size_t columns) {
    text_add(to, string);
    for (size_t used = text_columns(string); used < columns; used++)
        text_add(to, " ");
}

/* ---- numbers ---- */

void text_number(tool_text *to, double value) {
    if (!isfinite(value)) {
        text_add(to, "null");
        return;
    }
    if (value == 0)
        value = 0; /* removes the sign of a zero */
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_add(to, digits);
}

const char *point_words(abut_vec3 point, int digits, char words[POINT_WORDS]) {
    double largest = fmax(fmax(fabs(point.x), fabs(point.y)), fabs(point.z));
    for (double bound = 1000; largest >= bound && digits < 17; bound *= 10)
        digits++;
    /* adding 0 removes the sign of a zero */
    snprintf(words, POINT_WORDS, "%.*g, %.*g, %.*g", digits, point.x + 0.0, digits, point.y + 0.0,
             digits, point.z + 0.0);
    return words;
}

void text_grouped(tool_text *to, uint64_t value) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            text_add(to, ",");
        text_bytes(to, digits + i, 1);
    }
}

size_t read_numbers(const char *string, double *numbers, size_t most) {
    for (size_t count = 0; count < most; count++) {
        char *end;
        if (isspace((unsigned char)*string))
            return 0;
        numbers[count] = strtod(string, &end);
        if (end == string || !isfinite(numbers[count]))
            return 0;
        if (!*end)
            return count + 1;
        if (*end != ',')
            return 0;
        string = end + 1;
    }
    return 0;
}

bool read_count(const char *string, uint32_t *count) {
    char *end;
    if (!isdigit((unsigned char)*string))
        return false;
    errno = 0;
    unsigned long long value = strtoull(string, &end, 10);
    if (*end || errno || value < 1 || value > UINT32_MAX)
        return false;
    *count = (uint32_t)value;
    return true;
}

/* Some of the colour names of CSS, with their values. */
static const struct {
    const char *name;
    uint32_t rgb;
} colour_names[] = {{"black", 0x000000},  {"white", 0xffffff},  {"grey", 0x808080},
                    {"gray", 0x808080},   {"silver", 0xc0c0c0}, {"red", 0xff0000},
                    {"orange", 0xffa500}, {"yellow", 0xffff00}, {"green", 0x008000},
                    {"teal", 0x008080},   {"cyan", 0x00ffff},   {"blue", 0x0000ff},
                    {"navy", 0x000080},   {"purple", 0x800080}, {"magenta", 0xff00ff},
                    {"pink", 0xffc0cb},   {"brown", 0xa52a2a},  {"gold", 0xffd700}};

static abut_colour unpack_colour(uint32_t rgb, uint32_t alpha) {
    abut_colour colour = {(float)(rgb >> 16 & 255) / 255, (float)(rgb >> 8 & 255) / 255,
                          (float)(rgb & 255) / 255, (float)alpha / 255};
    return colour;
}

bool read_colour(const char *string, abut_colour *colour) {
    for (size_t i = 0; i < sizeof colour_names / sizeof *colour_names; i++) {
        if (strcmp(string, colour_names[i].name) == 0) {
            *colour = unpack_colour(colour_names[i].rgb, 255);
            return true;
        }
    }
    string += *string == '#';
    size_t length = strlen(string);
    if (strspn(string, "0123456789abcdefABCDEF") != length)
        return false;
    uint32_t value = (uint32_t)strtoul(string, NULL, 16);
    if (length == 3)
        *colour = unpack_colour((value >> 8 & 15) * 0x110000 + (value >> 4 & 15) * 0x1100 +
                                    (value & 15) * 0x11,
                                255);
    else if (length == 6)
        *colour = unpack_colour(value, 255);
    else if (length == 8)
        *colour = unpack_colour(value >> 8, value & 255);
    else
        return false;
    return true;
}

/* ---- words ---- */

#define WORD_MAX 40 /* longer words are not misspelt names */

/* Optimal string alignment: Levenshtein distance with transpositions of neighbours. */
size_t word_distance(const char *a, const char *b) {
    size_t rows[3][WORD_MAX + 1];
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > WORD_MAX || b_length > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[a_length % 3][b_length];
}

void word_closer(const char *wrong, const char *offered, const char **best, size_t *distance) {
    size_t apart = word_distance(wrong, offered);
    size_t length = strlen(wrong);
    /* a prefix is an abbreviation, not a misspelling */
    if (length >= 2 && apart && strncmp(wrong, offered, length) == 0)
        apart = 1;
    if (apart <= 1 + length / 4 && apart < length && (!*best || apart < *distance)) {
        *best = offered;
        *distance = apart;
    }
}

bool word_in(const char *word, const char *choices) {
    size_t length = strlen(word);
    while (*choices) {
        size_t next = strcspn(choices, "| ");
        if (next == length && strncmp(word, choices, length) == 0)
            return true;
        choices += next + (choices[next] != 0);
    }
    return false;
}

const char *path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

const char *path_ending(const char *path) {
    static char ending[8];
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t length = dot && dot != name ? strlen(dot + 1) : 0;
    if (length >= sizeof ending)
        length = 0;
    for (size_t i = 0; i < length; i++)
        ending[i] = (char)tolower((unsigned char)dot[1 + i]);
    ending[length] = 0;
    return ending;
}
