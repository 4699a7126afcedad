/* PLY (Turk 1994): text, little-endian or big-endian binary, any elements and properties in any
 * order. Used are x, y and z of "vertex" and the list "vertex_indices" or "vertex_index" of "face"
 * and of "tristrips", where -1 ends a strip and begins another; everything else is skipped.
 *
 * All values are converted to double, which represents each of PLY's eight types exactly. Counts in
 * the header are compared with the size of the file before data are read.
 */
#include "io/files.h"

#include <inttypes.h>
#include <string.h>

typedef enum value_type { I8, U8, I16, U16, I32, U32, F32, F64, NO_TYPE } value_type;

static const unsigned char type_bytes[] = {1, 1, 2, 2, 4, 4, 4, 8};

typedef enum role { ROLE_X, ROLE_Y, ROLE_Z, ROLE_CORNERS, ROLE_NONE } role;

typedef struct property {
    unsigned char type;
    unsigned char count_type; /* of a list; otherwise NO_TYPE */
    unsigned char role;
} property;

typedef enum element_kind { VERTEX, FACE, STRIPS, OTHER } element_kind;

typedef struct element {
    element_kind kind;
    uint64_t count;
    size_t first, property_count;
    uint64_t line; /* in the header */
    unsigned roles;
} element;

typedef struct ply {
    abuti_reader *reader;
    bool has_format, text, swap;
    abuti_vector elements, properties;
    uint64_t vertex_count; /* by the header */
    bool has[OTHER];
    const element *now; /* the element that is being read, */
    uint64_t index;     /* and its index */
} ply;

static const char *const kind_names[] = {"vertex", "face", "tristrips", "element"};

/* ---- header ---- */

static value_type find_type(const char *word, size_t length) {
    static const char *const names[][2] = {{"char", "int8"},     {"uchar", "uint8"},
                                           {"short", "int16"},   {"ushort", "uint16"},
                                           {"int", "int32"},     {"uint", "uint32"},
                                           {"float", "float32"}, {"double", "float64"}};
    for (int i = 0; i < NO_TYPE; i++)
        if (abuti_text_is(word, length, names[i][0]) || abuti_text_is(word, length, names[i][1]))
            return (value_type)i;
    return NO_TYPE;
}

/* Fails because the word is not WHAT; a length of 0 means that there is none. */
static bool fail_word(abuti_reader *reader, const char *word, size_t length, const char *what) {
    if (length)
        reader->source.at = (const unsigned char *)word;
    return abuti_text_fail_word(reader, what);
}

/* The next word of this line; empty if there is none. */
static size_t next_word(abuti_reader *reader, const char **word) {
    return abuti_text_blanks(reader, false) ? abuti_text_word(reader, word) : 0;
}

static bool read_type(abuti_reader *reader, value_type *type) {
    const char *word;
    size_t length = next_word(reader, &word);
    *type = length ? find_type(word, length) : NO_TYPE;
    return *type != NO_TYPE ||
           fail_word(reader, word, length,
                     "a PLY type (char, uchar, short, ushort, int, uint, float, double)");
}

static bool read_format(ply *file) {
    static const char *const names[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    const char *word;
    size_t length = next_word(file->reader, &word);
    const uint16_t one = 1;
    const bool is_little = *(const unsigned char *)&one; /* this machine */
    int format = 0;
    while (format < 3 && !(length && abuti_text_is(word, length, names[format])))
        format++;
    file->has_format = true;
    file->text = format == 0;
    file->swap = format == (is_little ? 2 : 1);
    return format < 3 ||
           fail_word(file->reader, word, length,
                     "a PLY format (ascii, binary_little_endian or binary_big_endian)");
}

static bool read_element(ply *file) {
    abuti_reader *reader = file->reader;
    element added = {.first = file->properties.count, .line = reader->line};
    const char *word;
    size_t length = next_word(reader, &word);
    if (!length)
        return abuti_read_fail(reader, "an element without a name");
    while (added.kind < OTHER && !abuti_text_is(word, length, kind_names[added.kind]))
        added.kind++;
    int64_t count;
    abuti_text_blanks(reader, false);
    if (!abuti_text_integer(reader, "a count of elements", &count))
        return false;
    if (count < 0)
        return abuti_read_fail(reader, "a count of %" PRId64 " elements", count);
    added.count = (uint64_t)count;
    if (added.kind != OTHER && file->has[added.kind])
        return abuti_read_fail(reader, "a second element '%s'", kind_names[added.kind]);
    if (added.kind != OTHER)
        file->has[added.kind] = true;
    if (added.kind == VERTEX)
        file->vertex_count = added.count;
    element *slot = ABUTI_PUSH(reader->context, &file->elements, element);
    if (slot)
        *slot = added;
    return abuti_read_check(reader, slot ? ABUT_OK : ABUT_ERROR_MEMORY);
}

static role find_role(const element *owner, const char *word, size_t length) {
    if (owner->kind == VERTEX && length == 1 && *word >= 'x' && *word <= 'z')
        return (role)(*word - 'x');
    if ((owner->kind == FACE || owner->kind == STRIPS) &&
        (abuti_text_is(word, length, "vertex_indices") ||
         abuti_text_is(word, length, "vertex_index")))
        return ROLE_CORNERS;
    return ROLE_NONE;
}

static bool read_property(ply *file) {
    abuti_reader *reader = file->reader;
    if (!file->elements.count)
        return abuti_read_fail(reader, "a property before the first element");
    element *owner = &ABUTI_AT(&file->elements, element, file->elements.count - 1);
    value_type type, count_type = NO_TYPE;
    const char *word;
    size_t length = next_word(reader, &word);
    if (length && abuti_text_is(word, length, "list")) {
        if (!read_type(reader, &count_type))
            return false;
        if (count_type >= F32)
            return abuti_read_fail(reader, "the count of a list must be an integer type");
    } else if (length) {
        reader->source.at = (const unsigned char *)word;
    }
    if (!read_type(reader, &type))
        return false;
    length = next_word(reader, &word);
    if (!length)
        return abuti_read_fail(reader, "a property without a name");
    role found = find_role(owner, word, length);
    if (found != ROLE_NONE && (owner->roles & 1u << found))
        return abuti_read_fail(reader, "a second property '%.*s'", (int)length, word);
    if (found == ROLE_CORNERS && (count_type == NO_TYPE || type >= F32))
        return abuti_read_fail(reader, "'%.*s' must be a list of integers", (int)length, word);
    if (found < ROLE_CORNERS && count_type != NO_TYPE)
        return abuti_read_fail(reader, "'%.*s' of a vertex must not be a list", (int)length, word);
    owner->roles |= 1u << found;
    owner->property_count++;
    property *slot = ABUTI_PUSH(reader->context, &file->properties, property);
    if (slot)
        *slot = (property){(unsigned char)type, (unsigned char)count_type, (unsigned char)found};
    return abuti_read_check(reader, slot ? ABUT_OK : ABUT_ERROR_MEMORY);
}

static const property *properties_of(const ply *file, const element *e) {
    return (const property *)file->properties.data + e->first;
}

/* The bytes that an element has at least, with empty lists. */
static uint64_t least_bytes(const ply *file, const element *e) {
    uint64_t sum = 0;
    for (size_t k = 0; k < e->property_count; k++) {
        const property *p = &properties_of(file, e)[k];
        sum += file->text ? 2 : type_bytes[p->count_type == NO_TYPE ? p->type : p->count_type];
    }
    return sum;
}

/* Checks the elements, and that the file has enough bytes for their counts. */
static bool check_header(ply *file) {
    const unsigned xyz = 1u << ROLE_X | 1u << ROLE_Y | 1u << ROLE_Z;
    abuti_reader *reader = file->reader;
    uint64_t left = abuti_read_left(reader);
    if (!file->has_format)
        return abuti_read_fail(reader, "the header has no 'format'");
    if (!file->has[VERTEX] || !(file->has[FACE] || file->has[STRIPS]))
        return abuti_read_fail(reader, "the header has no element '%s', so this is not a mesh",
                               kind_names[file->has[VERTEX] ? FACE : VERTEX]);
    for (size_t i = 0; i < file->elements.count; i++) {
        const element *e = &ABUTI_AT(&file->elements, element, i);
        reader->line = e->line;
        if (e->kind == VERTEX && (e->roles & xyz) != xyz)
            return abuti_read_fail(reader, "element 'vertex' lacks one of the properties x, y, z");
        if ((e->kind == FACE || e->kind == STRIPS) && !(e->roles & 1u << ROLE_CORNERS))
            return abuti_read_fail(reader, "element '%s' lacks the list 'vertex_indices'",
                                   kind_names[e->kind]);
        if (e->kind == VERTEX && e->count >= ABUT_NONE)
            return abuti_read_fail(reader, "%" PRIu64 " vertices; at most %u are possible",
                                   e->count, ABUT_NONE - 1);
    }
    for (size_t i = 0; i < file->elements.count && left != UINT64_MAX; i++) {
        const element *e = &ABUTI_AT(&file->elements, element, i);
        const uint64_t bytes = least_bytes(file, e), used = bytes * e->count;
        reader->line = e->line;
        /* the last word of a text needs no separator */
        if (bytes && e->count > (left + file->text) / bytes)
            return abuti_read_fail(reader,
                                   "the header declares %" PRIu64 " of this element, but only "
                                   "%" PRIu64 " bytes are left for them; it may be truncated",
                                   e->count, left);
        left = left > used ? left - used : 0;
    }
    return true;
}

static bool read_line(ply *file, bool *ended) {
    abuti_reader *reader = file->reader;
    const char *word;
    size_t length = abuti_text_word(reader, &word);
    if (abuti_text_is(word, length, "comment") || abuti_text_is(word, length, "obj_info"))
        return true;
    if (abuti_text_is(word, length, "format"))
        return read_format(file);
    if (abuti_text_is(word, length, "element"))
        return read_element(file);
    if (abuti_text_is(word, length, "property"))
        return read_property(file);
    *ended = abuti_text_is(word, length, "end_header");
    return *ended || fail_word(reader, word, length, "a word of a PLY header");
}

static bool read_header(ply *file) {
    abuti_reader *reader = file->reader;
    abuti_source *source = &reader->source;
    const char *word;
    size_t length = abuti_text_word(reader, &word);
    if (!abuti_text_is(word, length, "ply"))
        return fail_word(reader, word, length, "'ply', with which a PLY file starts");
    size_t visible = abuti_source_fill(source, 2);
    bool single_cr = visible >= 2 && source->at[0] == '\r' && source->at[1] != '\n';
    for (bool ended = false; !ended;) {
        abuti_text_skip_line(reader);
        if (!abuti_text_space(reader))
            return abuti_read_fail_end(reader, "in the header");
        if (!read_line(file, &ended))
            return false;
    }
    if (!file->text && abuti_text_peek(reader) < 0)
        return abuti_read_fail_end(reader, "in the header");
    if (single_cr && abuti_text_peek(reader) == '\r') { /* an LF after it belongs to the data */
        source->at++;
        reader->line++;
    } else {
        abuti_text_skip_line(reader);
    }
    uint64_t data_line = reader->line;
    if (!check_header(file))
        return false;
    reader->line = data_line;
    reader->place = file->text ? ABUTI_PLACE_LINE : ABUTI_PLACE_BYTE;
    return true;
}

/* ---- data ---- */

static inline double load_value(const unsigned char *at, value_type type, bool swap) {
    unsigned char bytes[8];
    size_t count = type_bytes[type];
    if (swap) {
        for (size_t i = 0; i < count; i++)
            bytes[i] = at[count - 1 - i];
        at = bytes;
    }
#define LOAD(c_type)                      \
    {                                     \
        c_type value;                     \
        memcpy(&value, at, sizeof value); \
        return value;                     \
    }
    switch (type) {
    case I8:
        LOAD(int8_t)
    case U8:
        LOAD(uint8_t)
    case I16:
        LOAD(int16_t)
    case U16:
        LOAD(uint16_t)
    case I32:
        LOAD(int32_t)
    case U32:
        LOAD(uint32_t)
    case F32:
        LOAD(float)
    case F64:
        LOAD(double)
    case NO_TYPE:
        break;
    }
#undef LOAD
    return 0;
}

static bool fail_data_end(ply *file) {
    char where[80];
    snprintf(where, sizeof where, "in %s %" PRIu64 " of %" PRIu64, kind_names[file->now->kind],
             file->index, file->now->count);
    return abuti_read_fail_end(file->reader, where);
}

/* Reads one value. */
static inline bool read_value(ply *file, value_type type, double *value) {
    abuti_reader *reader = file->reader;
    if (!file->text) {
        size_t bytes = type_bytes[type];
        if (abuti_read_fill(reader, bytes) < bytes)
            return fail_data_end(file);
        *value = load_value(reader->source.at, type, file->swap);
        reader->source.at += bytes;
        return true;
    }
    if (!abuti_text_space(reader))
        return fail_data_end(file);
    if (!abuti_text_number(reader, "a number", value))
        return false;
    if (type == F32 && fabs(*value) <= (double)FLT_MAX)
        *value = (double)(float)*value;
    return true;
}

static bool skip_values(ply *file, value_type type, uint64_t count) {
    abuti_reader *reader = file->reader;
    abuti_source *source = &reader->source;
    uint64_t bytes = count * type_bytes[type]; /* both below 2^33 */
    while (!file->text && bytes) {
        size_t visible = abuti_read_fill(reader, 1);
        if (!visible)
            return fail_data_end(file);
        size_t step = visible < bytes ? visible : (size_t)bytes;
        source->at += step;
        bytes -= step;
    }
    for (uint64_t i = 0; file->text && i < count; i++) {
        if (!abuti_text_space(reader))
            return fail_data_end(file);
        abuti_text_skip_word(reader);
    }
    return true;
}

static inline bool check_corner(ply *file, double vertex) {
    if (vertex >= 0 && vertex < (double)file->vertex_count && vertex == (double)(uint32_t)vertex)
        return true;
    return abuti_read_fail(file->reader,
                           "%s %" PRIu64 " refers to vertex %.17g, but there are only %" PRIu64,
                           kind_names[file->now->kind], file->index, vertex, file->vertex_count);
}

/* Each vertex makes a triangle with the two before it, every second one in reverse order, so that
 * all have the same orientation. A triangle with a repeated vertex only joins two strips. */
static bool read_strips(ply *file, value_type type, uint64_t count) {
    uint32_t last[2] = {0, 0}, length = 0;
    for (uint64_t i = 0; i < count; i++) {
        double value;
        if (!read_value(file, type, &value))
            return false;
        if (value == -1) {
            length = 0;
            continue;
        }
        if (!check_corner(file, value))
            return false;
        uint32_t vertex = (uint32_t)value;
        if (length >= 2 && vertex != last[0] && vertex != last[1] && last[0] != last[1] &&
            !abuti_read_triangle(file->reader, last[length & 1], last[~length & 1], vertex))
            return false;
        last[0] = last[1];
        last[1] = vertex;
        length++;
        if (i % 65536 == 65535 && !abuti_read_report(file->reader))
            return false;
    }
    return true;
}

static bool read_corners(ply *file, value_type type, uint64_t count) {
    double vertex;
    abuti_read_face_begin(file->reader);
    for (uint64_t i = 0; i < count; i++)
        if (!read_value(file, type, &vertex) || !check_corner(file, vertex) ||
            !abuti_read_corner(file->reader, (uint32_t)vertex))
            return false;
    return abuti_read_face_end(file->reader);
}

static bool read_list(ply *file, const property *p) {
    abuti_reader *reader = file->reader;
    const char *kind = kind_names[file->now->kind];
    double count;
    if (!read_value(file, (value_type)p->count_type, &count))
        return false;
    if (!(count >= 0 && count <= UINT32_MAX && count == (double)(uint32_t)count))
        return abuti_read_fail(reader, "%s %" PRIu64 " has a list of %.17g values", kind,
                               file->index, count);
    uint64_t bytes_min = file->text ? 2 : type_bytes[p->type], left = abuti_read_left(reader);
    if (left != UINT64_MAX && (uint64_t)count > (left + file->text) / bytes_min)
        return abuti_read_fail(reader,
                               "%s %" PRIu64 " has a list of %.17g values, but only %" PRIu64
                               " bytes are left; the file may be truncated",
                               kind, file->index, count, left);
    return (p->role != ROLE_CORNERS     ? skip_values
            : file->now->kind == STRIPS ? read_strips
                                        : read_corners)(file, (value_type)p->type, (uint64_t)count);
}

/* Reads one element, property by property. */
static bool read_properties(ply *file) {
    const element *e = file->now;
    const property *p = properties_of(file, e);
    double position[3] = {0, 0, 0};
    for (size_t k = 0; k < e->property_count; k++, p++)
        if (!(p->count_type != NO_TYPE ? read_list(file, p)
              : p->role <= ROLE_Z      ? read_value(file, (value_type)p->type, &position[p->role])
                                       : skip_values(file, (value_type)p->type, 1)))
            return false;
    return e->kind != VERTEX ||
           abuti_read_vertex(file->reader, v3(position[0], position[1], position[2]));
}

/* Reserves memory for all elements, but no more than the rest of the file has. */
static bool reserve_list(ply *file, abuti_vector *list, size_t element_bytes) {
    uint64_t left = abuti_read_left(file->reader), most = left / element_bytes;
    if (left == UINT64_MAX)
        return true;
    most = most < file->now->count ? most : file->now->count;
    return abuti_read_check(file->reader, abuti_vector_reserve(file->reader->context, list,
                                                               (size_t)most, element_bytes));
}

static bool read_elements(ply *file, const element *e) {
    abuti_reader *reader = file->reader;
    file->now = e;
    if ((e->kind == VERTEX && !reserve_list(file, &reader->positions, sizeof(vec3))) ||
        (e->kind == FACE && !reserve_list(file, &reader->triangles, 3 * sizeof(uint32_t))))
        return false;
    for (file->index = 0; e->property_count && file->index < e->count; file->index++) {
        reader->byte = abuti_source_offset(&reader->source);
        if (!read_properties(file) || !abuti_read_tick(reader))
            return false;
    }
    return true;
}

bool abuti_read_ply(abuti_reader *reader, const char *path) {
    ply file = {.reader = reader};
    (void)path;
    bool is_read = read_header(&file);
    for (size_t i = 0; i < file.elements.count && is_read; i++)
        is_read = read_elements(&file, &ABUTI_AT(&file.elements, element, i));
    ABUTI_RELEASE(reader->context, file.elements.data, file.properties.data);
    return is_read;
}
