/* Reads all other formats through Assimp's C interface, if it is built in.
 *
 * The meshes of all nodes are joined in the order of the scene's tree, each with the transformation
 * of its node. A reflection also flips the faces, as glTF 2.0 (section 3.7.4) requires. Points and
 * lines are skipped. Assimp's own memory does not come from the context.
 *
 * Many of its importers skip what they do not support and continue. They report that in Assimp's
 * log, so a warning or an error about faces, indices or vertices there is an error here; other
 * warnings go to our log.
 */
#include "io/files.h"

#ifdef ABUT_HAS_ASSIMP

#include <assimp/cimport.h>
#include <assimp/scene.h>
#include <string.h>

/* ---- the log ---- */

/* The messages of the import of this thread. A log stream receives the messages of all threads;
 * this identifies those of its own. */
static _Thread_local struct log_record *log_record_of_thread;

typedef struct log_record {
    abuti_reader *reader;
    char loss[300]; /* the first message about skipped elements; empty = none */
} log_record;

static bool reports_loss(const char *message) {
    /* without their first letters, which may be capitals */
    static const char *const parts[] = {"face", "Face",   "olygon", "riangle",
                                        "ndex", "ndices", "ertex",  "ertices"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(message, parts[i]))
            return true;
    return false;
}

/* Messages have the form "Warn,  T3: text" or "Error, T3: text". */
static void record_log_message(const char *message, char *user) {
    log_record *h = (log_record *)(void *)user;
    if (h != log_record_of_thread ||
        (strncmp(message, "Warn", 4) != 0 && strncmp(message, "Error", 5) != 0))
        return;
    const char *colon = strstr(message, ": ");
    const char *text = colon ? colon + 2 : message;
    int length = (int)strcspn(text, "\r\n");
    if (!reports_loss(text))
        abuti_log(h->reader->context, ABUT_LOG_WARNING, "%s: Assimp reports: %.*s", h->reader->name,
                  length, text);
    else if (!h->loss[0])
        snprintf(h->loss, sizeof h->loss, "%.*s", length, text);
}

/* ---- the scene ---- */

/* A node on the path from the root, the next child to visit, and its transformation to the scene.
 */
typedef struct node_visit {
    const struct aiNode *node;
    unsigned child;
    abuti_affine placed;
} node_visit;

/* First the node's own transformation, then its parent's. */
static node_visit visit_node(const struct aiNode *node, const node_visit *parent) {
    const struct aiMatrix4x4 *m = &node->mTransformation;
    const abuti_affine own = {{{v3((double)m->a1, (double)m->a2, (double)m->a3),
                                v3((double)m->b1, (double)m->b2, (double)m->b3),
                                v3((double)m->c1, (double)m->c2, (double)m->c3)}},
                              v3((double)m->a4, (double)m->b4, (double)m->c4)};
    return (node_visit){.node = node,
                        .placed = parent ? abuti_affine_compose(&parent->placed, &own) : own};
}

static bool add_face(abuti_reader *reader, const struct aiFace *face, uint32_t base,
                     uint32_t vertex_count, bool flipped) {
    if (!face->mNumIndices)
        return abuti_read_fail(reader, "Assimp skipped the corners of a face");
    if (face->mNumIndices < 3)
        return true;
    abuti_read_face_begin(reader);
    for (unsigned i = 0; i < face->mNumIndices; i++) {
        unsigned vertex = face->mIndices[flipped ? face->mNumIndices - 1 - i : i];
        if (vertex >= vertex_count)
            return abuti_read_fail(reader, "a face refers to vertex %u of a mesh that has only %u",
                                   vertex, vertex_count);
        if (!abuti_read_corner(reader, base + vertex))
            return false;
    }
    return abuti_read_face_end(reader);
}

static bool add_mesh(abuti_reader *reader, const node_visit *here, const struct aiMesh *mesh) {
    uint32_t base = (uint32_t)reader->positions.count;
    bool flipped = abuti_affine_flips(&here->placed);
    for (unsigned i = 0; i < mesh->mNumVertices; i++) {
        struct aiVector3D v = mesh->mVertices[i];
        vec3 p = v3((double)v.x, (double)v.y, (double)v.z);
        if (!abuti_read_vertex(reader, abuti_affine_apply(&here->placed, p)) ||
            !abuti_read_tick(reader))
            return false;
    }
    for (unsigned i = 0; i < mesh->mNumFaces; i++)
        if (!add_face(reader, &mesh->mFaces[i], base, mesh->mNumVertices, flipped) ||
            !abuti_read_tick(reader))
            return false;
    return true;
}

/* Adds the meshes of a node and pushes it on the stack. */
static bool add_node(abuti_reader *reader, const struct aiScene *scene, abuti_vector *stack,
                     node_visit here) {
    for (unsigned i = 0; i < here.node->mNumMeshes; i++)
        if (!add_mesh(reader, &here, scene->mMeshes[here.node->mMeshes[i]]))
            return false;
    node_visit *slot = ABUTI_PUSH(reader->context, stack, node_visit);
    if (slot)
        *slot = here;
    return abuti_read_check(reader, slot ? ABUT_OK : ABUT_ERROR_MEMORY);
}

/* A stack instead of recursion, because the file determines the depth. */
static bool add_scene(abuti_reader *reader, const struct aiScene *scene) {
    abuti_vector stack = {0};
    bool is_read =
        !scene->mRootNode || add_node(reader, scene, &stack, visit_node(scene->mRootNode, NULL));
    while (stack.count && is_read) {
        node_visit *top = &ABUTI_AT(&stack, node_visit, stack.count - 1);
        if (top->child == top->node->mNumChildren)
            stack.count--;
        else
            is_read = add_node(reader, scene, &stack,
                               visit_node(top->node->mChildren[top->child++], top));
    }
    abuti_release(reader->context, stack.data);
    return is_read;
}

static const struct aiScene *import_scene(abuti_reader *reader, const char *path,
                                          const char *hint) {
    const abuti_source *source = &reader->source;
    if (path)
        return aiImportFile(path, 0);
    return aiImportFileFromMemory((const char *)source->at, (unsigned)(source->end - source->at), 0,
                                  hint);
}

bool abuti_read_assimp(abuti_reader *reader, const char *path, const char *hint) {
    reader->place = ABUTI_PLACE_NONE;
    if (!path && reader->source.end - reader->source.at > UINT32_MAX)
        return abuti_read_check(reader, abuti_fail(ABUT_ERROR_LIMIT, "%s: is larger than 4 GiB",
                                                   reader->name));
    log_record record = {.reader = reader};
    struct aiLogStream stream = {record_log_message, (char *)(void *)&record};
    log_record_of_thread = &record;
    aiAttachLogStream(&stream);
    const struct aiScene *scene = import_scene(reader, path, hint);
    aiDetachLogStream(&stream);
    log_record_of_thread = NULL;
    bool is_read;
    if (!scene)
        is_read = abuti_read_fail(reader, "Assimp cannot read it: %s", aiGetErrorString());
    else if (record.loss[0] || scene->mFlags & AI_SCENE_FLAGS_INCOMPLETE)
        is_read = abuti_read_fail(reader, "Assimp cannot read all of it: %s",
                                  record.loss[0] ? record.loss : "the scene is incomplete");
    else
        is_read = add_scene(reader, scene);
    aiReleaseImport(scene);
    return is_read;
}

#else

bool abuti_read_assimp(abuti_reader *reader, const char *path, const char *hint) {
    (void)path;
    (void)hint;
    return abuti_read_check(
        reader,
        abuti_fail(
            ABUT_ERROR_UNSUPPORTED,
            "%s: other formats are read by Assimp, which this build of abut does not include",
            reader->name));
}

#endif
