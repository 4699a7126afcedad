/* A glTF 2.0 document: container, JSON, buffers, accessors, nodes. The readers of scenes
 * (read_gltf.c: triangles) use it.
 *
 * Errors are sticky: the first one is stored in `status`, with its message, and later calls return
 * defaults. So a reader reads everything that it needs and checks the status once. Messages name
 * the element: "NAME: accessors[3]: byteOffset is -4; ...".
 */
#ifndef ABUTI_MESH_GLTF_H
#define ABUTI_MESH_GLTF_H

#include "io/files.h"
#include "io/json.h"

/* The top-level lists of a document, by which elements refer to each other. */
typedef enum abuti_gltf_list {
    ABUTI_GLTF_ACCESSORS = 0,
    ABUTI_GLTF_VIEWS,
    ABUTI_GLTF_BUFFERS,
    ABUTI_GLTF_MESHES,
    ABUTI_GLTF_NODES,
    ABUTI_GLTF_SCENES,
    ABUTI_GLTF_SKINS,
    ABUTI_GLTF_ANIMATIONS,
    ABUTI_GLTF_LIST_COUNT
} abuti_gltf_list;

/* Bytes of a buffer, owned or in the memory of the file. */
typedef struct abuti_gltf_bytes {
    const unsigned char *data;
    size_t count;
    unsigned char *owned; /* null if not owned */
} abuti_gltf_bytes;

typedef struct abuti_gltf {
    abuti_reader *reader;
    const char *path; /* of the file, for the buffers beside it; null = in memory */
    abut_status status;
    char where[64]; /* the element that is being read, with ": ", for messages */
    abuti_gltf_bytes text, binary;
    bool has_binary;
    abuti_json json;
    struct {
        uint32_t *values; /* elements in the JSON */
        uint32_t count;
    } lists[ABUTI_GLTF_LIST_COUNT];
    abuti_gltf_bytes *buffers; /* data is null until needed */
    uint64_t bytes;            /* bytes read so far: text, binary part, buffers */
    uint64_t lookups;          /* members and sparse indices examined so far */
    uint64_t work;             /* see abuti_gltf_spend() */
} abuti_gltf;

/* Reads container and JSON, checks version and extensions, finds the lists. Close it in any case.
 */
abut_status abuti_gltf_open(abuti_gltf *gltf, abuti_reader *reader, const char *path);
void abuti_gltf_close(abuti_gltf *gltf);

/* Fails with a message that names the file and the element. Keeps the first failure. */
abut_status abuti_gltf_fail(abuti_gltf *gltf, const char *format, ...) ABUTI_PRINTF(2, 3);
/* Stores an error whose message is already set; returns whether there is an error. */
static inline bool abuti_gltf_set_error(abuti_gltf *gltf, abut_status status) {
    if (!gltf->status)
        gltf->status = status;
    return gltf->status != ABUT_OK;
}
/* Stores the failure of a function of the reader, which returned `is_read`. */
static inline void abuti_gltf_check(abuti_gltf *gltf, bool is_read) {
    if (!is_read)
        gltf->status = gltf->reader->status;
}
/* Adds an element to a list; null with the error stored. */
#define ABUTI_GLTF_PUSH(gltf, list, type) ((type *)abuti_gltf_push(gltf, list, sizeof(type)))
static inline void *abuti_gltf_push(abuti_gltf *gltf, abuti_vector *list, size_t element_bytes) {
    void *added = abuti_vector_push(gltf->reader->context, list, element_bytes);
    if (!added)
        abuti_gltf_set_error(gltf, ABUT_ERROR_MEMORY);
    return added;
}
/* Members of an object, or elements of a list: the first value, and the next one. */
#define ABUTI_GLTF_EACH(gltf, value, list)                                    \
    for (uint32_t value = (list) + 1;                                         \
         (list) && !(gltf)->status && value < (gltf)->json.values[list].next; \
         value = (gltf)->json.values[value].next)

/* Counts work: vertices, corners, keys. Returns false if it exceeds the budget of the file. */
bool abuti_gltf_spend(abuti_gltf *gltf, uint64_t amount);

/* gltf_buffer.c: reads the container; reads the bytes of a buffer, as many as it declares. */
void abuti_gltf_load(abuti_gltf *gltf);
void abuti_gltf_load_buffer(abuti_gltf *gltf, uint32_t index);
static inline uint32_t abuti_gltf_u32(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* Returns the object of an element of a list, and names it in later messages. `index` is in range.
 */
uint32_t abuti_gltf_at(abuti_gltf *gltf, abuti_gltf_list list, uint32_t index);

/* Members of an object. Missing ones are 0 (no value), or the default. */
uint32_t abuti_gltf_member(abuti_gltf *gltf, uint32_t object, const char *name,
                           abuti_json_kind kind);
uint64_t abuti_gltf_integer(abuti_gltf *gltf, uint32_t object, const char *name, uint64_t missing);
/* The index of an element of a list; ABUT_NONE if the member is missing. The second function reads
 * a value itself. */
uint32_t abuti_gltf_reference(abuti_gltf *gltf, uint32_t object, const char *name,
                              abuti_gltf_list list);
uint32_t abuti_gltf_reference_of(abuti_gltf *gltf, uint32_t value, const char *name,
                                 abuti_gltf_list list);

/* The transformation of a node relative to its parent. */
abuti_affine abuti_gltf_transform(abuti_gltf *gltf, uint32_t node);
/* The same as in the file: a matrix, or first scale, then rotation, then translation. */
typedef struct abuti_gltf_trs {
    vec3 translation, scale;
    quat rotation;
    bool has_matrix;
    abuti_affine matrix;
} abuti_gltf_trs;
abuti_gltf_trs abuti_gltf_read_trs(abuti_gltf *gltf, uint32_t node);

/* A typed view of bytes, validated: every index below `count` is inside its buffer. */
typedef struct abuti_gltf_accessor {
    uint32_t count;
    uint32_t component; /* one of the constants of glTF, such as 5126 for floats */
    uint32_t component_count;
    bool normalized;
    const unsigned char *data; /* null = zeros */
    size_t stride;
    uint32_t sparse_count; /* elements with substitute values, by ascending index */
    uint32_t sparse_component;
    const unsigned char *sparse_indices, *sparse_values;
} abuti_gltf_accessor;

/* Opens an accessor, which must have the type `type` ("SCALAR", "VEC3", ...). One without data is
 * all zeros. */
abuti_gltf_accessor abuti_gltf_accessor_open(abuti_gltf *gltf, uint32_t index, const char *type);
/* The same; fails if it has no data. */
abuti_gltf_accessor abuti_gltf_accessor_filled(abuti_gltf *gltf, uint32_t index, const char *type);
/* The components of an element as doubles. */
void abuti_gltf_get(const abuti_gltf_accessor *accessor, uint32_t index, double *components);

/* ---- rigs (read_gltf.c) ---- */

/* A bone: a node of the scene, or another bind matrix of a node in a skin; then its parent is the
 * bone of the node itself. */
typedef struct abuti_rig_bone {
    uint32_t node, parent;
    bool bound;
    abuti_affine bind; /* from the mesh to the bone, if bound */
    uint32_t other;    /* the next bone of the same node; ABUT_NONE = none */
} abuti_rig_bone;

/* A morph target of the mesh of a node; those of a node are consecutive. */
typedef struct abuti_rig_morph {
    uint32_t node, mesh, target; /* `target` is its index in the mesh */
    double weight;               /* at rest */
} abuti_rig_morph;

typedef struct abuti_rig_shift {
    uint32_t morph, vertex;
    vec3 shift; /* not zero */
} abuti_rig_shift;

/* Additional results for a reader of characters. The vertices of the triangles are then those of
 * the meshes, transformed neither by nodes nor by joints. The caller releases the lists. */
typedef struct abuti_rig {
    abuti_vector bones; /* abuti_rig_bone; those of nodes come first, parents before children */
    abuti_vector weight_bones, weights; /* uint32_t, double: at least one per vertex */
    abuti_vector starts;                /* size_t: the first weight of each vertex, and the total */
    abuti_vector morphs;                /* abuti_rig_morph */
    abuti_vector shifts;                /* abuti_rig_shift */
    uint32_t
        *bone_of; /* of each node; ABUT_NONE = not in the scene. Valid until `finish` returns */
    /* Reads other parts of the document while it is open. */
    void (*finish)(struct abuti_rig *rig, abuti_gltf *gltf);
} abuti_rig;

#endif
