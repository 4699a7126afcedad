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
    abuti_block_list elements, properties;
    uint64_t vertex_count; /* by the header */
    bool has[OTHER];
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

/* The next word of this line; empty if there is none. */
static size_t next_word(abuti_reader *reader, const char **word) {
    return abuti_text_blanks(reader, false) ? abuti_text_word(reader, word) : 0;
}

static abut_status read_type(abuti_reader *reader, value_type *type) {
    const char *word;
    size_t length = next_word(reader, &word);
    *type = length ? find_type(word, length) : NO_TYPE;
    if (*type != NO_TYPE)
        return ABUT_OK;
    if (length)
        reader->source.at = (const unsigned char *)word;
    return abuti_text_fail_word(reader, "a PLY type (char, uchar, short, ushort, int, uint, float, "
                                        "double)");
}

static abut_status read_format(ply *file) {
    abuti_reader *reader = file->reader;
    const char *word;
    size_t length = next_word(reader, &word);
    const uint16_t one = 1;
    bool little_machine = *(const unsigned char *)&one;
    file->has_format = true;
    if (length && abuti_text_is(word, length, "ascii"))
        file->text = true;
    else if (length && abuti_text_is(word, length, "binary_little_endian"))
        file->swap = !little_machine;
    else if (length && abuti_text_is(word, length, "binary_big_endian"))
        file->swap = little_machine;
    else {
        if (length)
            reader->source.at = (const unsigned char *)word;
        return abuti_text_fail_word(
            reader, "a PLY format (ascii, binary_little_endian or binary_big_endian)");
    }
    return ABUT_OK;
}

static abut_status read_element(ply *file) {
    abuti_reader *reader = file->reader;
    element added = {.kind = OTHER, .first = file->properties.count, .line = reader->line};
    const char *word;
    size_t length = next_word(reader, &word);
    if (!length)
        return abuti_read_fail(reader, "an element without a name");
    if (abuti_text_is(word, length, "vertex"))
        added.kind = VERTEX;
    else if (abuti_text_is(word, length, "face"))
        added.kind = FACE;
    else if (abuti_text_is(word, length, "tristrips"))
        added.kind = STRIPS;
    int64_t count;
    abuti_text_blanks(reader, false);
    abut_status status = abuti_text_integer(reader, "a count of elements", &count);
    if (status)
        return status;
    if (count < 0)
        return abuti_read_fail(reader, "a count of %" PRId64 " elements", count);
    added.count = (uint64_t)count;
    if (added.kind != OTHER && file->has[added.kind])
        return abuti_read_fail(reader, "a second element '%s'", kind_names[added.kind]);
    if (added.kind != OTHER)
        file->has[added.kind] = true;
    if (added.kind == VERTEX)
        file->vertex_count = added.count;
    void *slot = abuti_block_list_push(reader->context, &file->elements);
    if (!slot)
        return ABUT_ERROR_MEMORY;
    memcpy(slot, &added, sizeof added);
    return ABUT_OK;
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

static abut_status read_property(ply *file) {
    abuti_reader *reader = file->reader;
    if (!file->elements.count)
        return abuti_read_fail(reader, "a property before the first element");
    element *owner = abuti_block_list_at(&file->elements, file->elements.count - 1);
    value_type type, count_type = NO_TYPE;
    const char *word;
    size_t length = next_word(reader, &word);
    abut_status status = ABUT_OK;
    if (length && abuti_text_is(word, length, "list")) {
        status = read_type(reader, &count_type);
        if (!status && count_type >= F32)
            return abuti_read_fail(reader, "the count of a list must be an integer type");
    } else if (length) {
        reader->source.at = (const unsigned char *)word;
    }
    if (!status)
        status = read_type(reader, &type);
    if (status)
        return status;
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
    property *slot = abuti_block_list_push(reader->context, &file->properties);
    if (!slot)
        return ABUT_ERROR_MEMORY;
    *slot = (property){(unsigned char)type, (unsigned char)count_type, (unsigned char)found};
    return ABUT_OK;
}

/* Checks that the file has enough bytes for the counts of the header. */
static abut_status check_counts(ply *file, uint64_t left) {
    abuti_reader *reader = file->reader;
    for (size_t i = 0; i < file->elements.count && left != UINT64_MAX; i++) {
        const element *e = abuti_block_list_at(&file->elements, i);
        uint64_t bytes_min = 0;
        for (size_t k = 0; k < e->property_count; k++) {
            const property *p = abuti_block_list_at(&file->properties, e->first + k);
            bytes_min +=
                file->text ? 2 : type_bytes[p->count_type == NO_TYPE ? p->type : p->count_type];
        }
        /* the last word of a text needs no separator */
        if (bytes_min && e->count > (left + file->text) / bytes_min) {
            reader->line = e->line;
            return abuti_read_fail(reader,
                                   "the header declares %" PRIu64 " of this element, but only "
                                   "%" PRIu64 " bytes are left for them; it may be truncated",
                                   e->count, left);
        }
        uint64_t used = bytes_min * e->count;
        left = left > used ? left - used : 0;
    }
    return ABUT_OK;
}

static abut_status check_header(ply *file) {
    abuti_reader *reader = file->reader;
    if (!file->has_format)
        return abuti_read_fail(reader, "the header has no 'format'");
    if (!file->has[VERTEX] || !(file->has[FACE] || file->has[STRIPS]))
        return abuti_read_fail(reader, "the header has no element '%s', so this is not a mesh",
                               kind_names[file->has[VERTEX] ? FACE : VERTEX]);
    for (size_t i = 0; i < file->elements.count; i++) {
        const element *e = abuti_block_list_at(&file->elements, i);
        unsigned xyz = 1u << ROLE_X | 1u << ROLE_Y | 1u << ROLE_Z;
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
    return ABUT_OK;
}

static abut_status read_line(ply *file, bool *ended) {
    abuti_reader *reader = file->reader;
    const char *word;
    size_t length = abuti_text_word(reader, &word);
    if (abuti_text_is(word, length, "comment") || abuti_text_is(word, length, "obj_info"))
        return ABUT_OK;
    if (abuti_text_is(word, length, "format"))
        return read_format(file);
    if (abuti_text_is(word, length, "element"))
        return read_element(file);
    if (abuti_text_is(word, length, "property"))
        return read_property(file);
    *ended = abuti_text_is(word, length, "end_header");
    if (*ended)
        return ABUT_OK;
    reader->source.at = (const unsigned char *)word;
    return abuti_text_fail_word(reader, "a word of a PLY header");
}

/* Ends the last line of the header. If lines end with a single CR, an LF after it belongs to the
 * data. */
static void end_header(ply *file, bool single_cr) {
    abuti_source *source = &file->reader->source;
    if (single_cr && abuti_text_peek(file->reader) == '\r') {
        source->at++;
        file->reader->line++;
    } else {
        abuti_text_skip_line(file->reader);
    }
}

static abut_status read_header(ply *file) {
    abuti_reader *reader = file->reader;
    abuti_source *source = &reader->source;
    const char *word;
    size_t length = abuti_text_word(reader, &word);
    if (!abuti_text_is(word, length, "ply")) {
        source->at = (const unsigned char *)word;
        return abuti_text_fail_word(reader, "'ply', with which a PLY file starts");
    }
    size_t visible = abuti_source_fill(source, 2);
    bool single_cr = visible >= 2 && source->at[0] == '\r' && source->at[1] != '\n';
    bool ended = false;
    abut_status status = ABUT_OK;
    while (!status && !ended) {
        abuti_text_skip_line(reader);
        if (!abuti_text_space(reader))
            return abuti_read_fail_end(reader, "in the header");
        status = read_line(file, &ended);
    }
    if (status)
        return status;
    if (!file->text && abuti_text_peek(reader) < 0)
        return abuti_read_fail_end(reader, "in the header");
    end_header(file, single_cr);
    uint64_t data_line = reader->line;
    status = check_header(file);
    if (!status)
        status = check_counts(file, abuti_read_left(reader));
    if (!status) {
        reader->line = data_line;
        reader->place = file->text ? ABUTI_PLACE_LINE : ABUTI_PLACE_BYTE;
    }
    return status;
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

static abut_status fail_data_end(ply *file, const element *e, uint64_t index) {
    char where[80];
    snprintf(where, sizeof where, "in %s %" PRIu64 " of %" PRIu64, kind_names[e->kind], index,
             e->count);
    return abuti_read_fail_end(file->reader, where);
}

/* Reads one value of the element with that index. */
static abut_status read_value(ply *file, const element *e, uint64_t index, value_type type,
                              double *value) {
    abuti_reader *reader = file->reader;
    abuti_source *source = &reader->source;
    if (!file->text) {
        size_t bytes = type_bytes[type];
        if (abuti_read_fill(reader, bytes) < bytes)
            return fail_data_end(file, e, index);
        *value = load_value(source->at, type, file->swap);
        source->at += bytes;
        return ABUT_OK;
    }
    if (!abuti_text_space(reader))
        return fail_data_end(file, e, index);
    abut_status status = abuti_text_number(reader, "a number", value);
    if (!status && type == F32 && fabs(*value) <= (double)FLT_MAX)
        *value = (double)(float)*value;
    return status;
}

/* Skips `count` values. */
static abut_status skip_values(ply *file, const element *e, uint64_t index, value_type type,
                               uint64_t count) {
    abuti_reader *reader = file->reader;
    abuti_source *source = &reader->source;
    uint64_t bytes = count * type_bytes[type]; /* both below 2^33 */
    while (!file->text && bytes) {
        size_t visible = abuti_read_fill(reader, 1);
        if (!visible)
            return fail_data_end(file, e, index);
        size_t step = visible < bytes ? visible : (size_t)bytes;
        source->at += step;
        bytes -= step;
    }
    for (uint64_t i = 0; file->text && i < count; i++) {
        if (!abuti_text_space(reader))
            return fail_data_end(file, e, index);
        abuti_text_skip_word(reader);
    }
    return ABUT_OK;
}

static inline abut_status check_corner(ply *file, const element *e, uint64_t index, double vertex) {
    if (vertex >= 0 && vertex < (double)file->vertex_count && vertex == (double)(uint32_t)vertex)
        return ABUT_OK;
    return abuti_read_fail(file->reader,
                           "%s %" PRIu64 " refers to vertex %.17g, but there are only %" PRIu64,
                           kind_names[e->kind], index, vertex, file->vertex_count);
}

/* Adds a corner if it is one of the vertices. */
static inline abut_status add_corner(ply *file, const element *e, uint64_t index, double vertex) {
    abut_status status = check_corner(file, e, index, vertex);
    return status ? status : abuti_read_corner(file->reader, (uint32_t)vertex);
}

/* Each vertex makes a triangle with the two before it, every second one in reverse order, so that
 * all have the same orientation. A triangle with a repeated vertex only joins two strips. */
static abut_status read_strips(ply *file, const element *e, uint64_t index, value_type type,
                               uint64_t count) {
    uint32_t last[2] = {0, 0}, length = 0;
    abut_status status = ABUT_OK;
    for (uint64_t i = 0; i < count && !status; i++) {
        double value;
        status = read_value(file, e, index, type, &value);
        if (!status && value == -1) {
            length = 0;
            continue;
        }
        if (!status)
            status = check_corner(file, e, index, value);
        if (status)
            break;
        uint32_t vertex = (uint32_t)value;
        if (length >= 2 && vertex != last[0] && vertex != last[1] && last[0] != last[1])
            status = abuti_read_triangle(file->reader, last[length & 1], last[~length & 1], vertex);
        last[0] = last[1];
        last[1] = vertex;
        length++;
        if (!status && i % 65536 == 65535)
            status = abuti_read_report(file->reader);
    }
    return status;
}

static abut_status read_corners(ply *file, const element *e, uint64_t index, value_type type,
                                uint64_t count) {
    abuti_reader *reader = file->reader;
    abuti_source *source = &reader->source;
    abut_status status = ABUT_OK;
    abuti_read_face_begin(reader);
    if (!file->text && count <= ABUTI_SOURCE_LOOKAHEAD / 8) { /* visible at once */
        size_t bytes = (size_t)count * type_bytes[type];
        if (abuti_read_fill(reader, bytes) < bytes)
            return fail_data_end(file, e, index);
        for (uint64_t i = 0; i < count && !status; i++, source->at += type_bytes[type])
            status = add_corner(file, e, index, load_value(source->at, type, file->swap));
    } else {
        for (uint64_t i = 0; i < count && !status; i++) {
            double vertex;
            status = read_value(file, e, index, type, &vertex);
            if (!status)
                status = add_corner(file, e, index, vertex);
        }
    }
    return status ? status : abuti_read_face_end(reader);
}

static abut_status read_list(ply *file, const element *e, uint64_t index, const property *p) {
    abuti_reader *reader = file->reader;
    double count;
    abut_status status = read_value(file, e, index, (value_type)p->count_type, &count);
    if (status)
        return status;
    if (!(count >= 0 && count <= UINT32_MAX && count == (double)(uint32_t)count))
        return abuti_read_fail(reader, "%s %" PRIu64 " has a list of %.17g values",
                               kind_names[e->kind], index, count);
    uint64_t bytes_min = file->text ? 2 : type_bytes[p->type], left = abuti_read_left(reader);
    if (left != UINT64_MAX && (uint64_t)count > (left + file->text) / bytes_min)
        return abuti_read_fail(reader,
                               "%s %" PRIu64 " has a list of %.17g values, but only %" PRIu64
                               " bytes are left; the file may be truncated",
                               kind_names[e->kind], index, count, left);
    if (p->role == ROLE_CORNERS && e->kind == STRIPS)
        return read_strips(file, e, index, (value_type)p->type, (uint64_t)count);
    if (p->role == ROLE_CORNERS)
        return read_corners(file, e, index, (value_type)p->type, (uint64_t)count);
    return skip_values(file, e, index, (value_type)p->type, (uint64_t)count);
}

/* Reads one element, property by property. */
static abut_status read_element_data(ply *file, const element *e, uint64_t index) {
    double position[3] = {0, 0, 0};
    abut_status status = ABUT_OK;
    for (size_t k = 0; k < e->property_count && !status; k++) {
        const property *p = abuti_block_list_at(&file->properties, e->first + k);
        if (p->count_type != NO_TYPE)
            status = read_list(file, e, index, p);
        else if (p->role <= ROLE_Z)
            status = read_value(file, e, index, (value_type)p->type, &position[p->role]);
        else
            status = skip_values(file, e, index, (value_type)p->type, 1);
    }
    if (!status && e->kind == VERTEX)
        status = abuti_read_vertex(file->reader, v3(position[0], position[1], position[2]));
    return status;
}

/* Whether the file has enough bytes for all of an element, at `record` bytes each. */
static bool has_bytes_for(const ply *file, const element *e, size_t record) {
    uint64_t left = abuti_read_left(file->reader);
    return left != UINT64_MAX && record && e->count <= left / record;
}

/* Reads vertices of binary scalars at fixed offsets of a record, without iterating over properties.
 */
static abut_status read_packed_vertices(ply *file, const element *e, size_t record,
                                        const size_t *offsets, const value_type *types) {
    abuti_reader *reader = file->reader;
    abuti_source *source = &reader->source;
    abut_status status = ABUT_OK;
    if (has_bytes_for(file, e, record))
        status = abuti_block_list_reserve(reader->context, &reader->positions, e->count);
    for (uint64_t i = 0; i < e->count && !status; i++) {
        if (abuti_read_fill(reader, record) < record)
            return fail_data_end(file, e, i);
        reader->byte = abuti_source_offset(source);
        double p[3];
        for (int axis = 0; axis < 3; axis++)
            p[axis] = load_value(source->at + offsets[axis], types[axis], file->swap);
        status = abuti_read_vertex(reader, v3(p[0], p[1], p[2]));
        source->at += record;
        if (!status)
            status = abuti_read_tick(reader);
    }
    return status;
}

/* Whether faces are only a list as most programs write it: a count of one byte, and indices of four
 * bytes in the byte order of this machine. */
static bool has_plain_faces(const ply *file, const element *e) {
    const property *p = abuti_block_list_at(&file->properties, e->first);
    return e->kind == FACE && !file->text && !file->swap && e->property_count == 1 &&
           (p->count_type == U8 || p->count_type == I8) && (p->type == I32 || p->type == U32);
}

enum { PLAIN_BYTES = 1 + 3 * sizeof(uint32_t) };

/* Reads triangles as long as they are complete and valid; the caller handles the next element. */
static abut_status read_plain_triangles(ply *file, const element *e, uint64_t *index) {
    abuti_reader *reader = file->reader;
    abuti_source *source = &reader->source;
    const property *p = abuti_block_list_at(&file->properties, e->first);
    const uint64_t limit = p->type == I32 ? (uint64_t)INT32_MAX + 1 : UINT32_MAX;
    const uint32_t index_limit =
        (uint32_t)(file->vertex_count < limit ? file->vertex_count : limit);
    uint32_t corner[3]; /* a negative index is too large */
    abut_status status = ABUT_OK;
    while (*index < e->count && !status && abuti_read_fill(reader, PLAIN_BYTES) >= PLAIN_BYTES &&
           source->at[0] == 3) {
        memcpy(corner, source->at + 1, sizeof corner);
        if (corner[0] >= index_limit || corner[1] >= index_limit || corner[2] >= index_limit)
            break;
        status = abuti_read_triangle(reader, corner[0], corner[1], corner[2]);
        source->at += PLAIN_BYTES;
        ++*index;
        if (!status)
            status = abuti_read_tick(reader);
    }
    return status;
}

/* Whether read_packed_vertices() can read this element; returns the layout. */
static bool find_layout(const ply *file, const element *e, size_t *record, size_t *offsets,
                        value_type *types) {
    *record = 0;
    for (size_t k = 0; k < e->property_count; k++) {
        const property *p = abuti_block_list_at(&file->properties, e->first + k);
        if (p->count_type != NO_TYPE || *record > ABUTI_SOURCE_LOOKAHEAD - 8)
            return false;
        if (p->role <= ROLE_Z) {
            offsets[p->role] = *record;
            types[p->role] = (value_type)p->type;
        }
        *record += type_bytes[p->type];
    }
    return e->kind == VERTEX && !file->text;
}

static abut_status read_elements(ply *file, const element *e) {
    abuti_reader *reader = file->reader;
    size_t record, offsets[3] = {0, 0, 0};
    value_type types[3] = {F32, F32, F32};
    if (find_layout(file, e, &record, offsets, types))
        return read_packed_vertices(file, e, record, offsets, types);
    abut_status status = ABUT_OK;
    bool plain = e->property_count && has_plain_faces(file, e);
    if (plain && has_bytes_for(file, e, PLAIN_BYTES))
        status = abuti_block_list_reserve(reader->context, &reader->triangles, e->count);
    for (uint64_t k = 0; e->property_count && k < e->count && !status; k++) {
        if (plain)
            status = read_plain_triangles(file, e, &k);
        if (status || k == e->count)
            break;
        reader->byte = abuti_source_offset(&reader->source);
        status = read_element_data(file, e, k);
        if (!status)
            status = abuti_read_tick(reader);
    }
    return status;
}

abut_status abuti_read_ply(abuti_reader *reader) {
    ply file = {.reader = reader,
                .elements = {.element_bytes = sizeof(element)},
                .properties = {.element_bytes = sizeof(property)}};
    abut_status status = read_header(&file);
    for (size_t i = 0; i < file.elements.count && !status; i++)
        status = read_elements(&file, abuti_block_list_at(&file.elements, i));
    abuti_block_list_release(reader->context, &file.elements);
    abuti_block_list_release(reader->context, &file.properties);
    return status;
}
