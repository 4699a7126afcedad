/* Accessors of glTF (3.6.2). They are validated once, when opened: after that every element is
 * inside its buffer. */
#include "io/gltf.h"

#ifdef ABUT_HAS_GLTF

#include <inttypes.h>
#include <string.h>

typedef struct component_kind {
    uint32_t bytes; /* 0 = unknown */
    double whole;   /* the integer that stands for 1 in normalized accessors */
} component_kind;

static component_kind find_component(uint64_t type) {
    static const component_kind kinds[] = {{1, 127}, {1, 255}, {2, 32767}, {2, 65535},
                                           {0, 0},   {4, 0},   {4, 0}};
    return type >= 5120 && type <= 5126 ? kinds[type - 5120] : kinds[4];
}

static double read_component(const unsigned char *at, uint32_t type) {
    uint32_t wide;
    float single;
    switch (type) {
    case 5120:
        return at[0] < 128 ? at[0] : at[0] - 256.0;
    case 5121:
        return at[0];
    case 5122:
    case 5123:
        wide = (uint32_t)(at[0] | at[1] << 8);
        return type == 5122 && wide > 32767 ? wide - 65536.0 : wide;
    case 5125:
        return abuti_gltf_u32(at);
    default:
        wide = abuti_gltf_u32(at);
        memcpy(&single, &wide, sizeof single);
        return single;
    }
}

/* Returns the data of `count` elements of `bytes` bytes at `offset` of a buffer view. If *stride is
 * 0, it is set to the stride of the view, or to packed elements. */
static const unsigned char *open_view(abuti_gltf *gltf, uint32_t index, uint64_t offset,
                                      uint64_t count, uint32_t bytes, size_t *stride) {
    char where[sizeof gltf->where];
    if (gltf->status)
        return NULL;
    memcpy(where, gltf->where, sizeof where);
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_VIEWS, index);
    uint32_t buffer = abuti_gltf_reference(gltf, object, "buffer", ABUTI_GLTF_BUFFERS);
    uint64_t begin = abuti_gltf_integer(gltf, object, "byteOffset", 0);
    uint64_t length = abuti_gltf_integer(gltf, object, "byteLength", 0);
    uint64_t spacing = abuti_gltf_integer(gltf, object, "byteStride", 0);
    if (!gltf->status && buffer == ABUT_NONE)
        abuti_gltf_fail(gltf, "has no buffer");
    if (!gltf->status && spacing && spacing < bytes)
        abuti_gltf_fail(gltf,
                        "its byteStride is %" PRIu64 ", but its elements have %" PRIu32 " bytes",
                        spacing, bytes);
    spacing = spacing && !*stride ? spacing : bytes;
    if (!gltf->status && !gltf->buffers[buffer].data)
        abuti_gltf_load_buffer(gltf, buffer);
    if (gltf->status)
        return NULL;
    abuti_gltf_at(gltf, ABUTI_GLTF_VIEWS, index);
    size_t available = gltf->buffers[buffer].count;
    if (begin > available || length > available - begin) {
        abuti_gltf_fail(gltf,
                        "is bytes %" PRIu64 " to %" PRIu64 " of buffer %" PRIu32
                        ", which has only %zu",
                        begin, begin + length, buffer, available);
        return NULL;
    }
    memcpy(gltf->where, where, sizeof where);
    /* a count of 2^53 with a stride of 2^53 would overflow 64 bits */
    if (offset > length ||
        (count && (bytes > length - offset || (count - 1) > (length - offset - bytes) / spacing))) {
        abuti_gltf_fail(gltf,
                        "%" PRIu64 " elements of %" PRIu32 " bytes, %" PRIu64
                        " apart, from byte %" PRIu64 " on do not fit bufferViews[%" PRIu32
                        "], which has %" PRIu64 " bytes",
                        count, bytes, spacing, offset, index, length);
        return NULL;
    }
    *stride = (size_t)spacing;
    return gltf->buffers[buffer].data + begin + offset;
}

static uint32_t sparse_index(const abuti_gltf_accessor *accessor, uint32_t i) {
    const unsigned char *at =
        accessor->sparse_indices + (size_t)i * find_component(accessor->sparse_component).bytes;
    return (uint32_t)read_component(at, accessor->sparse_component);
}

/* Elements that replace others (3.6.2.3). */
static void open_sparse(abuti_gltf *gltf, uint32_t object, uint32_t bytes,
                        abuti_gltf_accessor *accessor) {
    uint64_t count = abuti_gltf_integer(gltf, object, "count", 0);
    uint32_t indices = abuti_gltf_member(gltf, object, "indices", ABUTI_JSON_OBJECT);
    uint32_t values = abuti_gltf_member(gltf, object, "values", ABUTI_JSON_OBJECT);
    if (!gltf->status && (!count || count > accessor->count || !indices || !values))
        abuti_gltf_fail(gltf,
                        "its sparse part must have indices, values and a count from 1 to that of "
                        "the accessor");
    if (gltf->status)
        return;
    uint64_t type = abuti_gltf_integer(gltf, indices, "componentType", 0);
    if (!gltf->status && type != 5121 && type != 5123 && type != 5125)
        abuti_gltf_fail(gltf, "its sparse indices have componentType %" PRIu64, type);
    uint32_t index_view = abuti_gltf_reference(gltf, indices, "bufferView", ABUTI_GLTF_VIEWS);
    uint32_t value_view = abuti_gltf_reference(gltf, values, "bufferView", ABUTI_GLTF_VIEWS);
    if (!gltf->status && (index_view == ABUT_NONE || value_view == ABUT_NONE))
        abuti_gltf_fail(gltf, "its sparse part has no buffer view");
    if (gltf->status)
        return;
    size_t packed = 1;
    accessor->sparse_component = (uint32_t)type;
    accessor->sparse_indices =
        open_view(gltf, index_view, abuti_gltf_integer(gltf, indices, "byteOffset", 0), count,
                  find_component(type).bytes, &packed);
    packed = 1;
    accessor->sparse_values =
        open_view(gltf, value_view, abuti_gltf_integer(gltf, values, "byteOffset", 0), count, bytes,
                  &packed);
    if (gltf->status)
        return;
    accessor->sparse_count = (uint32_t)count;
    gltf->lookups += count;
    for (uint32_t i = 0, last = 0; i < count; i++) {
        uint32_t index = sparse_index(accessor, i);
        if (index >= accessor->count || (i && index <= last)) {
            abuti_gltf_fail(gltf,
                            "its sparse indices must ascend and stay below %" PRIu32 "; %" PRIu32
                            " does not",
                            accessor->count, index);
            return;
        }
        last = index;
    }
}

/* Checks the type of an accessor and returns its number of components. */
static uint32_t check_type(abuti_gltf *gltf, uint32_t object, const char *wanted) {
    static const char *const types[] = {"SCALAR", "VEC2", "VEC3", "VEC4", "MAT4"};
    static const uint32_t counts[] = {1, 2, 3, 4, 16};
    uint32_t value = abuti_gltf_member(gltf, object, "type", ABUTI_JSON_TEXT);
    if (value && !abuti_json_is(&gltf->json, gltf->json.values[value].is.text.at,
                                gltf->json.values[value].is.text.bytes, wanted))
        value = 0;
    if (!value)
        abuti_gltf_fail(gltf, "its type must be %s here", wanted);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i], wanted))
            return counts[i];
    return 0;
}

abuti_gltf_accessor abuti_gltf_accessor_open(abuti_gltf *gltf, uint32_t index, const char *type) {
    const abuti_gltf_accessor none = {0};
    abuti_gltf_accessor accessor = {0};
    if (gltf->status)
        return none;
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_ACCESSORS, index);
    uint64_t count = abuti_gltf_integer(gltf, object, "count", 0);
    uint64_t component = abuti_gltf_integer(gltf, object, "componentType", 0);
    uint64_t offset = abuti_gltf_integer(gltf, object, "byteOffset", 0);
    uint32_t normalized = abuti_gltf_member(gltf, object, "normalized", ABUTI_JSON_BOOLEAN);
    uint32_t from = abuti_gltf_reference(gltf, object, "bufferView", ABUTI_GLTF_VIEWS);
    uint32_t sparse = abuti_gltf_member(gltf, object, "sparse", ABUTI_JSON_OBJECT);
    accessor.component_count = check_type(gltf, object, type);
    accessor.normalized = normalized && gltf->json.values[normalized].is.number != 0;
    uint32_t bytes = find_component(component).bytes * accessor.component_count;
    if (!gltf->status && !bytes)
        abuti_gltf_fail(gltf, "its componentType is %" PRIu64 ", which glTF 2.0 does not have",
                        component);
    if (!gltf->status && (!count || count > ABUT_NONE - 1))
        abuti_gltf_fail(gltf, "its count is %" PRIu64 "; it must be from 1 to %u", count,
                        ABUT_NONE - 1);
    if (!gltf->status && accessor.normalized && !(find_component(component).whole > 0))
        abuti_gltf_fail(gltf, "is normalized; only integers of 8 and 16 bits can be");
    if (gltf->status)
        return none;
    accessor.component = (uint32_t)component;
    accessor.count = (uint32_t)count;
    if (from != ABUT_NONE)
        accessor.data = open_view(gltf, from, offset, count, bytes, &accessor.stride);
    if (sparse)
        open_sparse(gltf, sparse, bytes, &accessor);
    return gltf->status ? none : accessor;
}

abuti_gltf_accessor abuti_gltf_accessor_filled(abuti_gltf *gltf, uint32_t index, const char *type) {
    abuti_gltf_accessor accessor = abuti_gltf_accessor_open(gltf, index, type);
    if (!gltf->status && !accessor.data && !accessor.sparse_count)
        abuti_gltf_fail(gltf, "has no data: neither a buffer view nor a sparse part");
    return accessor;
}

/* The sparse element that replaces this one; null if there is none. */
static const unsigned char *sparse_find(const abuti_gltf_accessor *accessor, uint32_t index) {
    uint32_t low = 0, high = accessor->sparse_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sparse_index(accessor, middle) < index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == accessor->sparse_count || sparse_index(accessor, low) != index)
        return NULL;
    return accessor->sparse_values +
           (size_t)low * accessor->component_count * find_component(accessor->component).bytes;
}

void abuti_gltf_get(const abuti_gltf_accessor *accessor, uint32_t index, double *components) {
    const unsigned char *at = accessor->sparse_count ? sparse_find(accessor, index) : NULL;
    component_kind kind = find_component(accessor->component);
    if (!at && accessor->data)
        at = accessor->data + (size_t)index * accessor->stride;
    for (uint32_t i = 0; i < accessor->component_count; i++) {
        double value = at ? read_component(at + (size_t)i * kind.bytes, accessor->component) : 0;
        if (accessor->normalized)
            value = value < -kind.whole ? -1 : value / kind.whole;
        components[i] = value;
    }
}

#endif
