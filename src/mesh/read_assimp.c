/* Every other format, through Assimp's C interface where it is built in.
 *
 * The meshes of all nodes are joined in the order of the scene's tree, each with its node's
 * transform. A transform that mirrors also turns the faces, as glTF 2.0 (section 3.7.4) demands.
 * Points and lines are left out. Assimp's own memory does not come from the context.
 */
#include "mesh/files.h"

#ifdef ABUT_HAS_ASSIMP

#include <assimp/cimport.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

/* A node on the way down, the next child to visit, and its transform to the scene. */
typedef struct visit {
    const struct aiNode *node;
    unsigned child;
    mat3 linear;
    vec3 shift;
} visit;

/* First the node's own transform, then its parent's. */
static visit enter(const struct aiNode *node, const visit *parent) {
    const struct aiMatrix4x4 *m = &node->mTransformation;
    visit here = {.node = node, .shift = v3((double)m->a4, (double)m->b4, (double)m->c4)};
    here.linear.row[0] = v3((double)m->a1, (double)m->a2, (double)m->a3);
    here.linear.row[1] = v3((double)m->b1, (double)m->b2, (double)m->b3);
    here.linear.row[2] = v3((double)m->c1, (double)m->c2, (double)m->c3);
    if (parent) {
        here.linear = m3_multiply(&parent->linear, &here.linear);
        here.shift = v3_add(m3_apply(&parent->linear, here.shift), parent->shift);
    }
    return here;
}

static bool mirrors(const mat3 *m) {
    return v3_dot(m->row[0], v3_cross(m->row[1], m->row[2])) < 0;
}

static abut_status add_face(abuti_reader *reader, const struct aiFace *face, uint32_t base,
                            uint32_t vertex_count, bool turned) {
    if (face->mNumIndices < 3)
        return ABUT_OK;
    abut_status status = ABUT_OK;
    abuti_read_face_begin(reader);
    for (unsigned i = 0; i < face->mNumIndices && !status; i++) {
        unsigned vertex = face->mIndices[turned ? face->mNumIndices - 1 - i : i];
        if (vertex >= vertex_count)
            return abuti_fail(ABUT_ERROR_FORMAT,
                              "%s: a face names vertex %u of a mesh that has only %u", reader->name,
                              vertex, vertex_count);
        status = abuti_read_corner(reader, base + vertex);
    }
    return status ? status : abuti_read_face_end(reader);
}

static abut_status add_mesh(abuti_reader *reader, const visit *here, const struct aiMesh *mesh) {
    uint32_t base = (uint32_t)reader->positions.count;
    bool turned = mirrors(&here->linear);
    abut_status status = ABUT_OK;
    for (unsigned i = 0; i < mesh->mNumVertices && !status; i++) {
        struct aiVector3D v = mesh->mVertices[i];
        vec3 p = m3_apply(&here->linear, v3((double)v.x, (double)v.y, (double)v.z));
        status = abuti_read_vertex(reader, v3_add(p, here->shift));
        if (!status)
            status = abuti_read_tick(reader);
    }
    for (unsigned i = 0; i < mesh->mNumFaces && !status; i++) {
        status = add_face(reader, &mesh->mFaces[i], base, mesh->mNumVertices, turned);
        if (!status)
            status = abuti_read_tick(reader);
    }
    return status;
}

/* Adds the meshes of a node and puts it on the stack. */
static abut_status add_node(abuti_reader *reader, const struct aiScene *scene, abuti_list *stack,
                            visit here) {
    abut_status status = ABUT_OK;
    for (unsigned i = 0; i < here.node->mNumMeshes && !status; i++)
        status = add_mesh(reader, &here, scene->mMeshes[here.node->mMeshes[i]]);
    if (status)
        return status;
    visit *slot = abuti_list_push(reader->context, stack);
    if (!slot)
        return ABUT_ERROR_MEMORY;
    *slot = here;
    return ABUT_OK;
}

/* A stack instead of recursion, since the depth is the file's choice. */
static abut_status add_scene(abuti_reader *reader, const struct aiScene *scene) {
    abuti_list stack = {.element_bytes = sizeof(visit)};
    abut_status status = ABUT_OK;
    if (scene->mRootNode)
        status = add_node(reader, scene, &stack, enter(scene->mRootNode, NULL));
    while (stack.count && !status) {
        visit *top = abuti_list_at(&stack, stack.count - 1);
        if (top->child == top->node->mNumChildren)
            stack.count--;
        else
            status =
                add_node(reader, scene, &stack, enter(top->node->mChildren[top->child++], top));
    }
    abuti_list_release(reader->context, &stack);
    return status;
}

abut_status abuti_read_assimp(abuti_reader *reader, const char *path, const char *hint) {
    const abuti_source *source = &reader->source;
    const struct aiScene *scene;
    reader->place = ABUTI_PLACE_NONE;
    if (path)
        scene = aiImportFile(path, 0);
    else if (source->end - source->at > UINT32_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: is larger than 4 GiB", reader->name);
    else
        scene = aiImportFileFromMemory((const char *)source->at,
                                       (unsigned)(source->end - source->at), 0, hint);
    if (!scene)
        return abuti_fail(ABUT_ERROR_FORMAT, "%s: Assimp cannot read it: %s", reader->name,
                          aiGetErrorString());
    abut_status status = add_scene(reader, scene);
    aiReleaseImport(scene);
    return status;
}

#else

abut_status abuti_read_assimp(abuti_reader *reader, const char *path, const char *hint) {
    (void)path;
    (void)hint;
    return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                      "%s: other formats are read through Assimp, which this build of abut lacks",
                      reader->name);
}

#endif
