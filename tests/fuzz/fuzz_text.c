/* Any bytes as a name: its printed form has no control characters, library and command agree on
 * it, and a table cell restores the name. */
#include "fuzz.h"

#include "base/base.h"

#include "../../apps/cmd/text.c"

void tool_exhausted(void) {
    abort();
}

/* Whether text is UTF-8 without controls, written anew: `allowed` are bytes that may occur. */
static bool is_harmless(const char *text, const char *allowed) {
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        unsigned length = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
        uint32_t code = length == 1 ? s[0] : s[0] & (0xffu >> (length + 1));
        for (unsigned i = 1; i < length; i++) {
            if ((s[i] & 0xc0) != 0x80)
                return false;
            code = code << 6 | (s[i] & 0x3fu);
        }
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        bool hidden = code < 32 || (code > 126 && code < 160) || code == 0x61c ||
                      code - 0x200e < 2 || code - 0x2028 < 7 || code - 0x2066 < 4;
        if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
            (hidden && !(code < 128 && strchr(allowed, (int)code))))
            return false;
        s += length;
    }
    return true;
}

/* A cell as a reader of comma-separated values has it; it must end with the text. */
static char *read_cell(const char *text) {
    char *cell = malloc(strlen(text) + 1), *to = cell;
    FUZZ_CHECK(cell);
    bool quoted = *text == '"';
    for (text += quoted; *text && !(quoted && text[0] == '"' && text[1] != '"'); text++) {
        FUZZ_CHECK(quoted || (*text != '"' && *text != ',' && *text != ';'));
        text += quoted && *text == '"';
        *to++ = *text;
    }
    FUZZ_CHECK(quoted ? !strcmp(text, "\"") : !*text);
    *to = 0;
    return cell;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char *name = malloc(bytes + 1), *escaped = malloc(4 * bytes + 1);
    FUZZ_CHECK(name && escaped);
    if (bytes)
        memcpy(name, data, bytes);
    name[bytes] = 0;
    tool_text safe = {0}, cell = {0}, quoted = {0}, shown = {0}, lines = {0};
    text_safe(&safe, name);
    const char *text = safe.data ? safe.data : "";
    FUZZ_CHECK(is_harmless(text, ""));
    abuti_escape(name, escaped, 4 * bytes + 1);
    FUZZ_CHECK(!strcmp(text, escaped));

    text_field(&cell, name);
    char *read = read_cell(cell.data ? cell.data : "");
    char *end, first = *read;
    bool number = (strtod(read, &end), end != read && !*end);
    FUZZ_CHECK(!first || !strchr("=+-@", first) || number);
    FUZZ_CHECK(!strcmp(read, text) || (first == '\'' && !strcmp(read + 1, text)));
    free(read);

    text_quoted(&quoted, name);
    text_shown(&shown, name);
    FUZZ_CHECK(is_harmless(quoted.data, "") && is_harmless(shown.data, ""));
    text_terminal(&lines, name, bytes);
    FUZZ_CHECK(is_harmless(lines.data ? lines.data : "", "\n\t\033"));
    for (const char *s = lines.data; s && (s = strchr(s, '\033')); s++)
        FUZZ_CHECK(s[1] == '[' && strcspn(s + 2, "m") <= 2);
    tool_text *all[] = {&safe, &cell, &quoted, &shown, &lines};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        text_free(all[i]);
    }
    free(escaped);
    free(name);
    return 0;
}
