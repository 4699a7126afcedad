/* The triangles of a glTF scene in its initial state, without animation.
 *
 * The scene is the one that the file names, otherwise its first; without scenes it is all nodes,
 * and without nodes all meshes. Nodes form trees (3.5.2): a node that is reached twice is an error,
 * which also excludes cycles. A mesh is added once for each node that has it, with the
 * transformation of the node; a reflection flips the triangles (3.7.4). Morph targets move
 * positions by the weights of the node or the mesh. A skin moves them by its joints (3.7.3), which
 * replace the transformation of the node.
 *
 * Primitives of a mesh that share positions share vertices. Points and lines are skipped, with a
 * warning. Instances in a file of a few bytes can require a lot of work; the work budget of the
 * file limits it: see abuti_gltf_spend().
 */
#include "io/gltf.h"

#ifdef ABUT_HAS_GLTF

#include <inttypes.h>
#include <string.h>

typedef struct scene {
    abuti_gltf *gltf;
    abuti_reader *reader;
    abuti_affine *placed; /* transformation of each node to the scene, if reached */
    unsigned char *reached;
    uint32_t *order, count; /* nodes of the scene, parents before children */
    uint32_t *stack;
    uint32_t *parents;        /* of each reached node */
    abuti_rig *rig;           /* of a character, or null */
    uint32_t *owners, *bases; /* per accessor: the instance that added it, its first vertex */
    uint32_t instance;        /* nodes with a mesh so far */
    uint64_t skipped;         /* points, lines, and primitives without positions */
} scene;

/* A mesh with its transformation. */
typedef struct instance {
    uint32_t mesh, node;
    abuti_affine placed;
    bool flipped;
    uint32_t weights;                  /* of morph targets: a list in the JSON, or 0 */
    uint32_t first_morph, morph_count; /* of a rig; not added yet if the count is 0 */
    bool skinned;
    abuti_affine *joints; /* the transformation of the mesh by each joint */
    uint32_t *bones;      /* the bones of the joints, of a rig */
    uint32_t joint_count;
} instance;

/* ---- nodes ---- */

static void push_node(scene *s, uint32_t *depth, uint32_t node) {
    if (s->gltf->status)
        return;
    if (s->reached[node]) {
        abuti_gltf_at(s->gltf, ABUTI_GLTF_NODES, node);
        abuti_gltf_fail(s->gltf, "is reached twice; nodes must form trees");
        return;
    }
    s->reached[node] = 1;
    s->stack[(*depth)++] = node;
}

/* Pushes the nodes of a list so that the first is popped first. */
static void push_list(scene *s, uint32_t *depth, uint32_t list, const char *name) {
    uint32_t from = *depth;
    ABUTI_GLTF_EACH(s->gltf, i, list) {
        uint32_t node = abuti_gltf_reference_of(s->gltf, i, name, ABUTI_GLTF_NODES);
        if (node != ABUT_NONE)
            push_node(s, depth, node);
    }
    for (uint32_t to = *depth; from + 1 < to; from++) {
        uint32_t swapped = s->stack[--to];
        s->stack[to] = s->stack[from];
        s->stack[from] = swapped;
    }
}

/* Follows children from the nodes on the stack, whose `placed` is that of their parents. */
static void visit_children(scene *s, uint32_t depth) {
    abuti_gltf *gltf = s->gltf;
    while (depth && !gltf->status) {
        uint32_t node = s->stack[--depth], from = depth;
        abuti_affine here = abuti_gltf_transform(gltf, node);
        s->placed[node] = abuti_affine_compose(&s->placed[node], &here);
        s->order[s->count++] = node;
        uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_NODES, node);
        push_list(s, &depth, abuti_gltf_member(gltf, object, "children", ABUTI_JSON_LIST),
                  "children");
        for (uint32_t i = from; i < depth; i++)
            s->placed[s->stack[i]] = s->placed[node], s->parents[s->stack[i]] = node;
        if (!gltf->status && s->count % 65536 == 0)
            abuti_gltf_check(gltf, abuti_read_report(s->reader));
    }
}

static const abuti_affine identity = {
    {{{.x = 1, .y = 0, .z = 0}, {.x = 0, .y = 1, .z = 0}, {.x = 0, .y = 0, .z = 1}}},
    {.x = 0, .y = 0, .z = 0}};

/* Without scenes: the nodes that are not children are roots. */
static void push_roots(scene *s, uint32_t *depth) {
    abuti_gltf *gltf = s->gltf;
    uint32_t nodes = gltf->lists[ABUTI_GLTF_NODES].count;
    for (uint32_t i = 0; i < nodes && !gltf->status; i++) {
        uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_NODES, i);
        uint32_t list = abuti_gltf_member(gltf, object, "children", ABUTI_JSON_LIST);
        ABUTI_GLTF_EACH(gltf, k, list) {
            uint32_t child = abuti_gltf_reference_of(gltf, k, "children", ABUTI_GLTF_NODES);
            if (child != ABUT_NONE)
                s->reached[child] = 1;
        }
    }
    for (uint32_t i = nodes; i-- > 0 && !gltf->status;)
        if (!s->reached[i])
            s->stack[(*depth)++] = i;
    for (uint32_t i = 0; i < nodes; i++)
        s->reached[i] = 0;
    for (uint32_t i = 0; i < *depth; i++)
        s->reached[s->stack[i]] = 1;
}

/* Finds the nodes of the scene and their transformations. */
static void place_nodes(scene *s) {
    abuti_gltf *gltf = s->gltf;
    uint32_t scenes = gltf->lists[ABUTI_GLTF_SCENES].count, depth = 0;
    uint32_t nodes = gltf->lists[ABUTI_GLTF_NODES].count;
    for (uint32_t i = 0; i < nodes; i++)
        s->placed[i] = identity, s->parents[i] = ABUT_NONE;
    if (!scenes) {
        push_roots(s, &depth);
        visit_children(s, depth);
        if (!gltf->status && s->count < nodes) {
            gltf->where[0] = 0;
            abuti_gltf_fail(gltf, "its nodes form a cycle");
        }
        return;
    }
    uint32_t chosen = abuti_gltf_reference(gltf, 0, "scene", ABUTI_GLTF_SCENES);
    chosen = chosen == ABUT_NONE ? 0 : chosen;
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_SCENES, chosen);
    push_list(s, &depth, abuti_gltf_member(gltf, object, "nodes", ABUTI_JSON_LIST), "nodes");
    visit_children(s, depth);
    if (!gltf->status && scenes > 1)
        abuti_log(s->reader->context, ABUT_LOG_WARNING,
                  "%s: has %" PRIu32 " scenes; only scene %" PRIu32 " is read", s->reader->name,
                  scenes, chosen);
}

/* ---- rigs ---- */

static uint32_t add_bone(scene *s, const abuti_rig_bone *bone) {
    abuti_rig_bone *added = ABUTI_GLTF_PUSH(s->gltf, &s->rig->bones, abuti_rig_bone);
    if (added)
        *added = *bone;
    return added ? (uint32_t)s->rig->bones.count - 1 : ABUT_NONE;
}

static void add_bones(scene *s) {
    for (uint32_t i = 0; i < s->gltf->lists[ABUTI_GLTF_NODES].count; i++)
        s->rig->bone_of[i] = ABUT_NONE;
    for (uint32_t i = 0; i < s->count && !s->gltf->status; i++) {
        uint32_t node = s->order[i], parent = s->parents[node];
        abuti_rig_bone bone = {.node = node,
                               .parent = parent == ABUT_NONE ? ABUT_NONE : s->rig->bone_of[parent],
                               .other = ABUT_NONE};
        s->rig->bone_of[node] = add_bone(s, &bone);
    }
}

/* The bone of a node that is bound by this matrix. */
static uint32_t bind_bone(scene *s, uint32_t node, const abuti_affine *bind) {
    uint32_t first = s->rig->bone_of[node], at = first;
    while (abuti_gltf_spend(s->gltf, 1)) {
        abuti_rig_bone *bone = &ABUTI_AT(&s->rig->bones, abuti_rig_bone, at);
        if (!bone->bound) {
            bone->bound = true;
            bone->bind = *bind;
        }
        if (!memcmp(&bone->bind, bind, sizeof *bind))
            return at;
        if (bone->other == ABUT_NONE) {
            abuti_rig_bone more = {node, first, true, *bind, ABUT_NONE};
            uint32_t added = add_bone(s, &more);
            ABUTI_AT(&s->rig->bones, abuti_rig_bone, at).other = added;
            return added;
        }
        at = bone->other;
    }
    return 0;
}

/* ---- positions ---- */

/* A morph target with its weight. */
typedef struct morph {
    abuti_gltf_accessor targets;
    double weight;
} morph;

#define MORPH_MAX 64 /* targets with a weight that is not 0 */

/* Opens the targets that have a weight. Returns their number. */
static uint32_t open_morphs(scene *s, const instance *in, uint32_t primitive, uint32_t vertices,
                            morph *morphs) {
    abuti_gltf *gltf = s->gltf;
    const abuti_json_value *values = gltf->json.values;
    uint32_t targets = abuti_gltf_member(gltf, primitive, "targets", ABUTI_JSON_LIST), count = 0;
    if (!targets || !in->weights || !abuti_gltf_spend(s->gltf, values[targets].is.count))
        return 0;
    if (values[targets].is.count != values[in->weights].is.count) {
        abuti_gltf_fail(gltf, "has %" PRIu32 " morph targets, but %" PRIu32 " weights",
                        values[targets].is.count, values[in->weights].is.count);
        return 0;
    }
    for (uint32_t t = targets + 1, w = in->weights + 1; t < values[targets].next && !gltf->status;
         t = values[t].next, w = values[w].next) {
        if (values[t].kind != ABUTI_JSON_OBJECT || values[w].kind != ABUTI_JSON_NUMBER)
            abuti_gltf_fail(gltf, "its morph targets must be objects, and their weights numbers");
        else if (values[w].is.number == 0)
            continue;
        uint32_t accessor = abuti_gltf_reference(gltf, t, "POSITION", ABUTI_GLTF_ACCESSORS);
        if (accessor == ABUT_NONE)
            continue;
        if (count == MORPH_MAX)
            abuti_gltf_fail(gltf, "has more than %d morph targets with a weight", MORPH_MAX);
        else
            morphs[count] =
                (morph){abuti_gltf_accessor_open(gltf, accessor, "VEC3"), values[w].is.number};
        if (!gltf->status && morphs[count].targets.count != vertices)
            abuti_gltf_fail(gltf, "moves %" PRIu32 " vertices of %" PRIu32,
                            morphs[count].targets.count, vertices);
        count += !gltf->status;
        abuti_gltf_spend(s->gltf, vertices);
    }
    return count;
}

/* Adds the morph targets of an instance to a rig, with their weights at rest. */
static void add_morphs(scene *s, instance *in, uint32_t count) {
    abuti_gltf *gltf = s->gltf;
    const abuti_json_value *values = gltf->json.values;
    if (in->weights && values[in->weights].is.count != count)
        abuti_gltf_fail(gltf, "has %" PRIu32 " morph targets, but %" PRIu32 " weights", count,
                        values[in->weights].is.count);
    in->first_morph = (uint32_t)s->rig->morphs.count;
    for (uint32_t i = 0, w = in->weights + 1; i < count && abuti_gltf_spend(gltf, 1); i++) {
        abuti_rig_morph *added = ABUTI_GLTF_PUSH(gltf, &s->rig->morphs, abuti_rig_morph);
        if (!added)
            return;
        *added = (abuti_rig_morph){in->node, in->mesh, i, 0};
        if (!in->weights)
            continue;
        if (values[w].kind != ABUTI_JSON_NUMBER)
            abuti_gltf_fail(gltf, "the weights of its morph targets must be numbers");
        else
            added->weight = values[w].is.number;
        w = values[w].next;
    }
    in->morph_count = count;
}

#define SHIFT_COST 4 /* work of a shift, which is stored three times */

/* Adds the shifts of one morph target, of vertices from `base` on. */
static void add_shifts(scene *s, uint32_t target, uint32_t number, uint32_t vertices,
                       uint32_t base) {
    abuti_gltf *gltf = s->gltf;
    uint32_t accessor = abuti_gltf_reference(gltf, target, "POSITION", ABUTI_GLTF_ACCESSORS);
    if (accessor == ABUT_NONE)
        return;
    abuti_gltf_accessor moves = abuti_gltf_accessor_open(gltf, accessor, "VEC3");
    if (!gltf->status && moves.count != vertices)
        abuti_gltf_fail(gltf, "moves %" PRIu32 " vertices of %" PRIu32, moves.count, vertices);
    if (!abuti_gltf_spend(gltf, vertices))
        return;
    for (uint32_t i = 0; i < vertices && !gltf->status; i++) {
        double moved[3];
        abuti_gltf_get(&moves, i, moved);
        abuti_gltf_check(gltf, abuti_read_tick(s->reader));
        if ((moved[0] == 0 && moved[1] == 0 && moved[2] == 0) ||
            !abuti_gltf_spend(gltf, SHIFT_COST))
            continue;
        abuti_rig_shift *shift = ABUTI_GLTF_PUSH(gltf, &s->rig->shifts, abuti_rig_shift);
        if (shift)
            *shift = (abuti_rig_shift){number, base + i, v3(moved[0], moved[1], moved[2])};
    }
}

/* Adds the morph targets of a primitive to a rig; returns whether there are any. */
static bool keep_morphs(scene *s, instance *in, uint32_t primitive, uint32_t vertices,
                        uint32_t base) {
    abuti_gltf *gltf = s->gltf;
    const abuti_json_value *values = gltf->json.values;
    uint32_t targets = abuti_gltf_member(gltf, primitive, "targets", ABUTI_JSON_LIST), number = 0;
    uint32_t count = targets ? values[targets].is.count : 0;
    if (count && !in->morph_count)
        add_morphs(s, in, count);
    else if (count && count != in->morph_count)
        abuti_gltf_fail(gltf, "has primitives with %" PRIu32 " and with %" PRIu32 " morph targets",
                        in->morph_count, count);
    ABUTI_GLTF_EACH(gltf, t, targets) {
        abuti_gltf_at(gltf, ABUTI_GLTF_MESHES, in->mesh);
        if (values[t].kind != ABUTI_JSON_OBJECT)
            abuti_gltf_fail(gltf, "its morph targets must be objects");
        else
            add_shifts(s, t, in->first_morph + number++, vertices, base);
    }
    return count > 0;
}

/* Joints and weights of vertices, in sets of four. */
typedef struct binding {
    abuti_gltf_accessor joints, weights;
} binding;

#define BINDING_MAX 8 /* sets of four joints */

static uint32_t open_bindings(scene *s, const instance *in, uint32_t attributes, uint32_t vertices,
                              binding *bindings) {
    abuti_gltf *gltf = s->gltf;
    uint32_t count = 0;
    while (in->skinned && !gltf->status) {
        abuti_gltf_at(gltf, ABUTI_GLTF_MESHES, in->mesh);
        char joints_name[16], weights_name[16];
        snprintf(joints_name, sizeof joints_name, "JOINTS_%" PRIu32, count);
        snprintf(weights_name, sizeof weights_name, "WEIGHTS_%" PRIu32, count);
        uint32_t j = abuti_gltf_reference(gltf, attributes, joints_name, ABUTI_GLTF_ACCESSORS);
        uint32_t w = abuti_gltf_reference(gltf, attributes, weights_name, ABUTI_GLTF_ACCESSORS);
        if (j == ABUT_NONE || w == ABUT_NONE)
            break;
        if (count == BINDING_MAX) {
            abuti_gltf_fail(gltf, "has more than %d joints per vertex", 4 * BINDING_MAX);
            break;
        }
        binding *one = &bindings[count];
        one->weights = abuti_gltf_accessor_filled(gltf, w, "VEC4");
        one->joints = abuti_gltf_accessor_filled(gltf, j, "VEC4");
        if (!gltf->status && (one->joints.component != 5121 && one->joints.component != 5123))
            abuti_gltf_fail(gltf, "joints must be unsigned integers of 8 or 16 bits");
        if (!gltf->status && (one->joints.count != vertices || one->weights.count != vertices))
            abuti_gltf_fail(gltf,
                            "%" PRIu32 " joints and %" PRIu32 " weights for %" PRIu32 " vertices",
                            one->joints.count, one->weights.count, vertices);
        one->joints.normalized = false;
        count++;
        abuti_gltf_spend(s->gltf, vertices);
    }
    return gltf->status ? 0 : count;
}

/* Checks a joint of a vertex. */
static bool is_joint(scene *s, const instance *in, uint32_t vertex, double joint) {
    if (!(joint < in->joint_count))
        abuti_gltf_fail(s->gltf, "vertex %" PRIu32 " refers to joint %g of %" PRIu32, vertex, joint,
                        in->joint_count);
    return !s->gltf->status;
}

static void add_start(scene *s) {
    size_t *start = ABUTI_GLTF_PUSH(s->gltf, &s->rig->starts, size_t);
    if (start)
        *start = s->rig->weights.count;
}

/* Adds the weights of a vertex to a rig: its first joint, and others with a weight that is not 0;
 * or, without joints, the bone of its own node. */
static void add_weights(scene *s, const instance *in, const binding *bindings, uint32_t count,
                        uint32_t vertex, uint32_t own) {
    uint32_t slots = count ? 4 * count : 1;
    double joints[4] = {0}, weights[4] = {1, 0, 0, 0};
    for (uint32_t i = 0; i < slots; i++) {
        if (count && i % 4 == 0) {
            abuti_gltf_get(&bindings[i / 4].joints, vertex, joints);
            abuti_gltf_get(&bindings[i / 4].weights, vertex, weights);
        }
        if (count && !is_joint(s, in, vertex, joints[i % 4]))
            return;
        if (i && weights[i % 4] == 0)
            continue;
        uint32_t *bone = ABUTI_GLTF_PUSH(s->gltf, &s->rig->weight_bones, uint32_t);
        double *weight = ABUTI_GLTF_PUSH(s->gltf, &s->rig->weights, double);
        if (!bone || !weight)
            return;
        *bone = count ? in->bones[(uint32_t)joints[i % 4]] : own;
        *weight = weights[i % 4];
    }
    add_start(s);
}

/* Skins a vertex: moves it by its joints, with weights normalised to sum 1. One without weights
 * follows its first joint. */
static vec3 skin_vertex(scene *s, const instance *in, const binding *bindings, uint32_t count,
                        uint32_t vertex, vec3 p) {
    vec3 sum = v3(0, 0, 0);
    double total = 0;
    uint32_t first = ABUT_NONE;
    for (uint32_t set = 0; set < count; set++) {
        double joints[4], weights[4];
        abuti_gltf_get(&bindings[set].joints, vertex, joints);
        abuti_gltf_get(&bindings[set].weights, vertex, weights);
        for (int i = 0; i < 4; i++) {
            if (!is_joint(s, in, vertex, joints[i]))
                return p;
            uint32_t joint = (uint32_t)joints[i];
            first = first == ABUT_NONE ? joint : first;
            total += weights[i];
            if (weights[i] != 0)
                sum = v3_add(sum, v3_scale(abuti_affine_apply(&in->joints[joint], p), weights[i]));
        }
    }
    return total != 0 ? v3_scale(sum, 1 / total) : abuti_affine_apply(&in->joints[first], p);
}

/* Adds the vertices of a primitive; returns the first. */
static uint32_t add_vertices(scene *s, instance *in, uint32_t primitive, uint32_t attributes,
                             uint32_t index, uint32_t *count) {
    abuti_gltf *gltf = s->gltf;
    morph morphs[MORPH_MAX];
    binding bindings[BINDING_MAX];
    abuti_gltf_accessor positions = abuti_gltf_accessor_filled(gltf, index, "VEC3");
    *count = positions.count;
    if (gltf->status)
        return 0;
    abuti_gltf_at(gltf, ABUTI_GLTF_MESHES, in->mesh);
    uint32_t base = (uint32_t)s->reader->positions.count, own = ABUT_NONE;
    bool morphed = s->rig && keep_morphs(s, in, primitive, *count, base);
    uint32_t morph_count = s->rig ? 0 : open_morphs(s, in, primitive, *count, morphs);
    uint32_t binding_count = open_bindings(s, in, attributes, *count, bindings);
    bool shared = !morphed && !morph_count && !binding_count;
    if (shared && s->owners[index] == s->instance)
        return s->bases[index];
    if (s->rig && !binding_count)
        own = bind_bone(s, in->node, &identity);
    if (abuti_gltf_spend(s->gltf, *count))
        abuti_gltf_set_error(gltf, abuti_vector_reserve(s->reader->context, &s->reader->positions,
                                                        (size_t)base + *count, sizeof(vec3)));
    abuti_gltf_at(gltf, ABUTI_GLTF_ACCESSORS, index);
    for (uint32_t i = 0; i < *count && !gltf->status; i++) {
        double p[3], moved[3];
        abuti_gltf_get(&positions, i, p);
        for (uint32_t k = 0; k < morph_count; k++) {
            abuti_gltf_get(&morphs[k].targets, i, moved);
            for (int axis = 0; axis < 3; axis++)
                p[axis] += morphs[k].weight * moved[axis];
        }
        vec3 at = v3(p[0], p[1], p[2]);
        if (!s->rig)
            at = binding_count ? skin_vertex(s, in, bindings, binding_count, i, at)
                               : abuti_affine_apply(&in->placed, at);
        if (gltf->status)
            break;
        abuti_gltf_check(gltf, abuti_read_vertex(s->reader, at) && abuti_read_tick(s->reader));
        if (!gltf->status && s->rig)
            add_weights(s, in, bindings, binding_count, i, own);
    }
    if (shared) {
        s->owners[index] = s->instance;
        s->bases[index] = base;
    }
    return base;
}

/* ---- triangles ---- */

/* Corners of a primitive: vertices by index, or in their order. */
typedef struct corners {
    abuti_gltf_accessor indices; /* no data = none */
    bool indexed;
    uint32_t count, vertices, base;
    double restart;         /* an index that strips and fans must not have */
    abuti_gltf_accessor uv; /* if texture coordinates are wanted */
} corners;

static uint32_t read_index(scene *s, const corners *c, uint32_t i) {
    double vertex = i;
    if (c->indexed)
        abuti_gltf_get(&c->indices, i, &vertex);
    if (vertex == c->restart)
        abuti_gltf_fail(s->gltf,
                        "element %" PRIu32 " is %.0f, the primitive restart value, which glTF "
                        "does not allow",
                        i, vertex);
    else if (!(vertex < c->vertices))
        abuti_gltf_fail(s->gltf, "element %" PRIu32 " refers to vertex %.0f of %" PRIu32, i, vertex,
                        c->vertices);
    return s->gltf->status ? 0 : c->base + (uint32_t)vertex;
}

/* Adds the texture coordinates of a triangle, whose corners are vertices of the mesh. */
static void add_triangle_uv(scene *s, const corners *c, const uint32_t corner[3]) {
    abuti_gltf *gltf = s->gltf;
    const uint32_t first = (uint32_t)s->reader->uv.count;
    for (uint32_t k = 0; k < 3 && !gltf->status; k++) {
        double uv[2];
        abuti_gltf_get(&c->uv, corner[k] - c->base, uv);
        abuti_gltf_check(gltf, abuti_read_uv(s->reader, uv[0], uv[1]));
    }
    if (!gltf->status)
        abuti_gltf_check(gltf, abuti_read_triangle_uv(s->reader, first, first + 1, first + 2));
}

/* Adds the triangles of a list (4), strip (5) or fan (6), with corners ordered as in 3.7.2.1. */
static void add_triangles(scene *s, const instance *in, const corners *c, uint64_t mode) {
    abuti_gltf *gltf = s->gltf;
    uint32_t triangles = mode == 4 ? c->count / 3 : c->count - 2;
    abuti_gltf_set_error(gltf, abuti_vector_reserve(s->reader->context, &s->reader->triangles,
                                                    s->reader->triangles.count + triangles,
                                                    3 * sizeof(uint32_t)));
    for (uint32_t i = 0; i < triangles && !gltf->status; i++) {
        uint32_t odd = i & 1;
        uint32_t k[3] = {i, i + 1 + odd, i + 2 - odd}; /* strip */
        if (mode == 4)
            k[0] = 3 * i, k[1] = 3 * i + 1, k[2] = 3 * i + 2;
        else if (mode == 6)
            k[0] = i + 1, k[1] = i + 2, k[2] = 0;
        uint32_t a = read_index(s, c, k[0]), b = read_index(s, c, k[1]), d = read_index(s, c, k[2]);
        if (gltf->status)
            return;
        abuti_gltf_check(gltf, abuti_read_triangle(s->reader, a, in->flipped ? d : b,
                                                   in->flipped ? b : d) &&
                                   abuti_read_tick(s->reader));
        if (!gltf->status && s->reader->wants_uv)
            add_triangle_uv(s, c, (uint32_t[3]){a, in->flipped ? d : b, in->flipped ? b : d});
    }
}

static void open_indices(abuti_gltf *gltf, uint32_t index, uint64_t mode, corners *c) {
    c->indices = abuti_gltf_accessor_filled(gltf, index, "SCALAR");
    c->indexed = true;
    c->count = c->indices.count;
    uint32_t type = c->indices.component;
    if (!gltf->status && (c->indices.normalized || (type != 5121 && type != 5123 && type != 5125)))
        abuti_gltf_fail(gltf, "indices must be unsigned integers");
    if (mode != 4)
        c->restart = type == 5121 ? UINT8_MAX : type == 5123 ? UINT16_MAX : UINT32_MAX;
}

static void open_uv(scene *s, uint32_t attributes, corners *c) {
    abuti_gltf *gltf = s->gltf;
    const uint32_t index =
        abuti_gltf_reference(gltf, attributes, "TEXCOORD_0", ABUTI_GLTF_ACCESSORS);
    if (!gltf->status && index == ABUT_NONE)
        abuti_gltf_fail(gltf, "a primitive has no texture coordinates (TEXCOORD_0)");
    if (gltf->status)
        return;
    c->uv = abuti_gltf_accessor_filled(gltf, index, "VEC2");
    if (!gltf->status && c->uv.count != c->vertices)
        abuti_gltf_fail(gltf, "has texture coordinates for %" PRIu32 " vertices of %" PRIu32,
                        c->uv.count, c->vertices);
}

static void add_primitive(scene *s, instance *in, uint32_t primitive) {
    abuti_gltf *gltf = s->gltf;
    abuti_gltf_at(gltf, ABUTI_GLTF_MESHES, in->mesh);
    if (!abuti_gltf_spend(s->gltf, 1))
        return;
    if (gltf->json.values[primitive].kind != ABUTI_JSON_OBJECT) {
        abuti_gltf_fail(gltf, "a primitive is not an object");
        return;
    }
    uint64_t mode = abuti_gltf_integer(gltf, primitive, "mode", 4);
    uint32_t attributes = abuti_gltf_member(gltf, primitive, "attributes", ABUTI_JSON_OBJECT);
    uint32_t indices = abuti_gltf_reference(gltf, primitive, "indices", ABUTI_GLTF_ACCESSORS);
    uint32_t positions = ABUT_NONE;
    if (attributes)
        positions = abuti_gltf_reference(gltf, attributes, "POSITION", ABUTI_GLTF_ACCESSORS);
    if (!gltf->status && mode > 6)
        abuti_gltf_fail(gltf, "a primitive has mode %" PRIu64 "; it must be from 0 to 6", mode);
    if (gltf->status)
        return;
    if (mode < 4 || positions == ABUT_NONE) {
        s->skipped++;
        return;
    }
    corners c = {.restart = -1};
    c.base = add_vertices(s, in, primitive, attributes, positions, &c.vertices);
    c.count = c.vertices;
    if (!gltf->status && s->reader->wants_uv)
        open_uv(s, attributes, &c);
    if (indices != ABUT_NONE)
        open_indices(gltf, indices, mode, &c);
    if (!gltf->status && (c.count < 3 || (mode == 4 && c.count % 3)))
        abuti_gltf_fail(gltf, "%" PRIu32 " corners are not a whole number of triangles", c.count);
    if (abuti_gltf_spend(s->gltf, c.count))
        add_triangles(s, in, &c, mode);
}

/* ---- mesh instances ---- */

static void add_mesh(scene *s, instance *in) {
    abuti_gltf *gltf = s->gltf;
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_MESHES, in->mesh);
    uint32_t list = abuti_gltf_member(gltf, object, "primitives", ABUTI_JSON_LIST);
    if (!in->weights)
        in->weights = abuti_gltf_member(gltf, object, "weights", ABUTI_JSON_LIST);
    in->flipped = abuti_affine_flips(&in->placed);
    s->instance++;
    abuti_gltf_spend(s->gltf, 1);
    ABUTI_GLTF_EACH(gltf, i, list)
    add_primitive(s, in, i);
}

/* Computes the matrices of the joints of a skin: from the mesh to the joint, then to the scene. */
static void open_skin(scene *s, uint32_t skin, instance *in) {
    abuti_gltf *gltf = s->gltf;
    const abuti_json_value *values = gltf->json.values;
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_SKINS, skin);
    uint32_t joints = abuti_gltf_member(gltf, object, "joints", ABUTI_JSON_LIST);
    uint32_t bind = abuti_gltf_reference(gltf, object, "inverseBindMatrices", ABUTI_GLTF_ACCESSORS);
    uint32_t count = joints ? values[joints].is.count : 0;
    if (!gltf->status && !count)
        abuti_gltf_fail(gltf, "has no joints");
    if (!abuti_gltf_spend(s->gltf, count))
        return;
    abuti_gltf_accessor inverse = {0};
    if (bind != ABUT_NONE)
        inverse = abuti_gltf_accessor_filled(gltf, bind, "MAT4");
    if (!gltf->status && bind != ABUT_NONE && inverse.count < count)
        abuti_gltf_fail(gltf, "has %" PRIu32 " matrices for %" PRIu32 " joints", inverse.count,
                        count);
    abuti_gltf_at(gltf, ABUTI_GLTF_SKINS, skin);
    if (gltf->status)
        return;
    in->skinned = true;
    if (abuti_gltf_set_error(gltf,
                             ABUTI_ALLOCATE(s->reader->context, ABUTI_ARRAY(in->joints, count),
                                            ABUTI_ARRAY(in->bones, s->rig ? count : 0))))
        return;
    in->joint_count = count;
    for (uint32_t i = 0, value = joints + 1; i < count && !gltf->status; i++) {
        uint32_t node = abuti_gltf_reference_of(gltf, value, "joints", ABUTI_GLTF_NODES);
        value = values[value].next;
        if (node == ABUT_NONE)
            return;
        if (!s->reached[node])
            abuti_gltf_fail(gltf, "its joint nodes[%" PRIu32 "] is not in the scene", node);
        abuti_affine here = identity;
        double m[16];
        if (bind != ABUT_NONE) {
            abuti_gltf_get(&inverse, i, m);
            for (int row = 0; row < 3; row++)
                here.linear.row[row] = v3(m[row], m[row + 4], m[row + 8]);
            here.shift = v3(m[12], m[13], m[14]);
        }
        in->joints[i] =
            bind != ABUT_NONE ? abuti_affine_compose(&s->placed[node], &here) : s->placed[node];
        if (s->rig && !gltf->status)
            in->bones[i] = bind_bone(s, node, &here);
    }
}

static void add_node(scene *s, uint32_t node) {
    abuti_gltf *gltf = s->gltf;
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_NODES, node);
    instance in = {.mesh = abuti_gltf_reference(gltf, object, "mesh", ABUTI_GLTF_MESHES),
                   .node = node,
                   .placed = s->placed[node]};
    if (gltf->status || in.mesh == ABUT_NONE)
        return;
    uint32_t skin = abuti_gltf_reference(gltf, object, "skin", ABUTI_GLTF_SKINS);
    in.weights = abuti_gltf_member(gltf, object, "weights", ABUTI_JSON_LIST);
    if (skin != ABUT_NONE)
        open_skin(s, skin, &in);
    if (!gltf->status)
        add_mesh(s, &in);
    ABUTI_RELEASE(s->reader->context, in.joints, in.bones);
}

static void add_scene(scene *s) {
    abuti_gltf *gltf = s->gltf;
    place_nodes(s);
    if (s->rig) {
        add_bones(s);
        add_start(s);
    }
    for (uint32_t i = 0; i < s->count && !gltf->status; i++)
        add_node(s, s->order[i]);
    uint32_t meshes = gltf->lists[ABUTI_GLTF_MESHES].count;
    if (gltf->lists[ABUTI_GLTF_NODES].count || gltf->lists[ABUTI_GLTF_SCENES].count)
        meshes = 0;
    if (s->rig && !s->count)
        abuti_gltf_fail(gltf, "has no nodes, hence no bones");
    for (uint32_t i = 0; i < meshes && !gltf->status; i++) {
        instance in = {.mesh = i, .placed = identity};
        add_mesh(s, &in);
    }
    if (!gltf->status && s->skipped)
        abuti_log(s->reader->context, ABUT_LOG_WARNING,
                  "%s: %" PRIu64 " primitives are points or lines, or have no positions, and are "
                  "skipped",
                  s->reader->name, s->skipped);
    if (!gltf->status && s->rig)
        s->rig->finish(s->rig, gltf);
}

bool abuti_read_gltf(abuti_reader *reader, const char *path) {
    abut_context *context = reader->context;
    abuti_gltf gltf;
    reader->place = ABUTI_PLACE_NONE;
    reader->up = v3(0, 1, 0);
    bool device = path && !strncmp(path, "/dev/", 5); /* a folder without buffers */
    if (!abuti_gltf_open(&gltf, reader, device ? NULL : path)) {
        uint32_t nodes = gltf.lists[ABUTI_GLTF_NODES].count;
        uint32_t accessors = gltf.lists[ABUTI_GLTF_ACCESSORS].count;
        uint32_t *bone_of;
        scene s = {.gltf = &gltf, .reader = reader, .rig = reader->rig};
        gltf.status =
            ABUTI_ALLOCATE(context, ABUTI_ARRAY(s.placed, nodes), ABUTI_ZEROED(s.reached, nodes),
                           ABUTI_ARRAY(s.order, nodes), ABUTI_ARRAY(s.stack, nodes),
                           ABUTI_ARRAY(s.parents, nodes), ABUTI_ZEROED(s.owners, accessors),
                           ABUTI_ARRAY(s.bases, accessors),
                           ABUTI_ARRAY(bone_of, s.rig ? nodes : 0));
        if (s.rig)
            s.rig->bone_of = bone_of;
        if (!gltf.status)
            add_scene(&s);
        ABUTI_RELEASE(context, s.placed, s.reached, s.order, s.stack, s.parents, s.owners, s.bases,
                      bone_of);
    }
    abuti_gltf_close(&gltf);
    return abuti_read_check(reader, gltf.status);
}

#else

bool abuti_read_gltf(abuti_reader *reader, const char *path) {
    (void)path;
    return abuti_read_check(
        reader,
        abuti_fail(
            ABUT_ERROR_UNSUPPORTED,
            "%s: is glTF, which this build of abut cannot read because it does not include yajl",
            reader->name));
}

#endif
