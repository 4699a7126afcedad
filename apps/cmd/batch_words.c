/* Splits job lines into words, parses flat JSON, and computes the hash that identifies a job. */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

/* Moves one word from *from to *to, without its quotes. Returns false if a quote is not closed. */
static bool move_word(char **from, char **to) {
    char *s = *from, *out = *to, quote = 0;
    for (; *s && (quote || !strchr(" \t\r\n", *s)); s++) {
        if (quote ? *s == quote : *s == '\'' || *s == '"') {
            quote = quote ? 0 : *s;
        } else if (*s == '\\' && quote != '\'') {
            if (!*++s)
                return false;
            *out++ = *s;
        } else {
            *out++ = *s;
        }
    }
    *from = s;
    *to = out;
    return !quote;
}

bool words_split(char *line, char ***words, size_t *count) {
    size_t room = 0;
    char *from = line, *to = line;
    *words = NULL;
    *count = 0;
    for (;;) {
        from += strspn(from, " \t\r\n");
        if (!tool_grow(words, *count, &room, sizeof **words))
            return false;
        (*words)[*count] = NULL;
        if (!*from)
            return true;
        char *start = to;
        if (!move_word(&from, &to))
            return false;
        from += *from != 0; /* the terminator of the word may overwrite the separator */
        *to++ = 0;
        (*words)[(*count)++] = start;
    }
}

void words_join(tool_text *to, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=.,:/@%";
    text_add(to, to->used ? " " : "");
    if (*word && strspn(word, plain) == strlen(word)) {
        text_add(to, word);
        return;
    }
    text_add(to, "'");
    for (; *word; word++)
        if (*word == '\'')
            text_add(to, "'\\''");
        else
            text_bytes(to, word, 1);
    text_add(to, "'");
}

/* ---- flat JSON ---- */

static bool read_hex(const char *s, unsigned *value) {
    *value = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef";
        const char *at =
            s[i] ? strchr(digits, s[i] >= 'A' && s[i] <= 'F' ? s[i] + 32 : s[i]) : NULL;
        if (!at)
            return false;
        *value = 16 * *value + (unsigned)(at - digits);
    }
    return true;
}

static char *encode_utf8(char *to, unsigned code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 63));
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    }
    return to;
}

/* Decodes the escape sequence after a backslash at s and advances s. Rejects unpaired surrogates
 * and 0, which would end the string. The result is never longer than its source. */
static char *unescape(char **s, char *to) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char *at = *s;
    const char *letter = *at ? strchr(letters, *at) : NULL;
    unsigned code, low;
    if (letter) {
        *s = at + 1;
        *to++ = meanings[letter - letters];
        return to;
    }
    if (*at != 'u' || !read_hex(at + 1, &code) || !code)
        return NULL;
    at += 5;
    if (code >= 0xd800 && code < 0xdc00) {
        if (at[0] != '\\' || at[1] != 'u' || !read_hex(at + 2, &low) || low < 0xdc00 ||
            low > 0xdfff)
            return NULL;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        return NULL;
    }
    *s = at;
    return encode_utf8(to, code);
}

/* Decodes the string whose opening quote is at *s, and advances *s past its end. */
static char *read_string(char **s) {
    char *start = *s + 1, *at = start, *to = start;
    while (to && *at && *at != '"') {
        if (*at == '\\') {
            at++;
            to = unescape(&at, to);
        } else {
            *to++ = *at++;
        }
    }
    if (!to || *at != '"')
        return NULL;
    *to = 0;
    *s = at + 1;
    return start;
}

static char *skip_blanks(char *s) {
    return s + strspn(s, " \t\r\n");
}

/* Parses a member. Returns the character after it, ',' or '}', or 0 if the syntax is wrong. */
static char read_member(char **s, flat_member *member) {
    char *at = skip_blanks(*s), *end;
    if (*at != '"' || !(member->key = read_string(&at)))
        return 0;
    at = skip_blanks(at);
    if (*at++ != ':')
        return 0;
    at = skip_blanks(at);
    if (*at == '"') {
        if (!(member->value = read_string(&at)))
            return 0;
        end = NULL;
    } else {
        member->value = at;
        at += strcspn(at, " \t\r\n,{}[]\"");
        if (at == member->value)
            return 0;
        end = at;
    }
    at = skip_blanks(at);
    char after = *at;
    if (after != ',' && after != '}')
        return 0;
    *s = at + 1;
    if (end)
        *end = 0;
    return after;
}

size_t flat_parse(char *line, flat_member *members, size_t most) {
    char *s = skip_blanks(line);
    size_t count = 0;
    if (*s++ != '{')
        return 0;
    while (count < most) {
        char after = read_member(&s, &members[count]);
        if (!after)
            return 0;
        count++;
        if (after == '}')
            return *skip_blanks(s) ? 0 : count;
    }
    return 0;
}

const char *flat_value(const flat_member *members, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(members[i].key, key) == 0)
            return members[i].value;
    return NULL;
}

/* ---- hashes ---- */

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}
