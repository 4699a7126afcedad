/* The lifetime of a BVH: create, refit, info; and the validation that all queries share. */
#include "bvh/bvh.h"

#include "base/simd.h"

#include <assert.h>
#include <math.h>

/* ---- from two children to four ---- */

/* Determines which binary nodes become four-wide nodes, with the lowest total cost: the cost of a
 * node is its area, since that is proportional to its visits, plus a little for its memory.
 * min_cost[k - 1] is the cost of all nodes below and including this one if it may fill up to k
 * slots of the node above: 1 = it is a node itself, more = its children are in these slots (the
 * dynamic programme of Ylitie and others 2017, "Efficient incoherent ray traversal on GPUs through
 * compressed wide BVHs", section 3). */
typedef struct slot_plan {
    float min_cost[BVH_WIDTH];
    uint8_t left[BVH_WIDTH]; /* slots for the left child; 0 = one slot fewer has the same cost */
} slot_plan;

/* The best distribution of `count` slots between two children. */
static void share_slots(const slot_plan *left, const slot_plan *right, uint32_t count,
                        float *min_cost, uint8_t *left_slots) {
    *min_cost = INFINITY;
    for (uint32_t k = 1; k < count; k++) {
        float sum = left->min_cost[k - 1] + right->min_cost[count - k - 1];
        if (sum < *min_cost) {
            *min_cost = sum;
            *left_slots = (uint8_t)k;
        }
    }
}

static void plan_nodes(const bvh_split *splits, slot_plan *plan, size_t count, float area_cost,
                       float node_cost) {
    for (size_t i = count; i-- > 0;) { /* children have higher indices than their parents */
        slot_plan *here = &plan[i];
        memset(here, 0, sizeof *here); /* a leaf has no cost of its own */
        if (!splits[i].right)
            continue;
        const slot_plan *left = &plan[i + 1], *right = &plan[splits[i].right];
        float inside;
        share_slots(left, right, BVH_WIDTH, &inside, &here->left[0]);
        here->min_cost[0] = splits[i].area * area_cost + node_cost + inside;
        for (uint32_t k = 2; k <= BVH_WIDTH; k++) {
            share_slots(left, right, k, &here->min_cost[k - 1], &here->left[k - 1]);
            if (!(here->min_cost[k - 1] < here->min_cost[k - 2])) {
                here->min_cost[k - 1] = here->min_cost[k - 2];
                here->left[k - 1] = 0;
            }
        }
    }
}

/* Collects the children of a four-wide node. */
static uint32_t collect_children(const bvh_split *splits, const slot_plan *plan, uint32_t root,
                                 uint32_t children[BVH_WIDTH]) {
    struct {
        uint32_t split, slot_plan;
    } stack[BVH_WIDTH];
    uint32_t used = 0, count = 0;
    if (!splits[root].right) {
        children[0] = root; /* the whole tree is a leaf */
        return 1;
    }
    uint32_t left = plan[root].left[0];
    stack[used].split = splits[root].right;
    stack[used++].slot_plan = BVH_WIDTH - left;
    stack[used].split = root + 1;
    stack[used++].slot_plan = left;
    while (used) {
        uint32_t at = stack[--used].split, room = stack[used].slot_plan;
        while (room > 1 && !plan[at].left[room - 1])
            room--;
        if (room == 1 || !splits[at].right) {
            children[count++] = at;
            continue;
        }
        left = plan[at].left[room - 1];
        stack[used].split = splits[at].right;
        stack[used++].slot_plan = room - left;
        stack[used].split = at + 1;
        stack[used++].slot_plan = left;
    }
    return count;
}

/* Traverses the four-wide tree. Writes its nodes unless `nodes` is null; otherwise only counts
 * them. Parents come first. */
static void write_wide_nodes(abut_bvh *bvh, const bvh_split *splits, const slot_plan *plan,
                             bvh_node *nodes) {
    struct {
        uint32_t split, parent, slot, depth;
    } stack[BVH_STACK];
    uint32_t used = 0, count = 0;
    stack[used].split = 0;
    stack[used].parent = ABUT_NONE;
    stack[used].slot = 0;
    stack[used++].depth = 1;
    bvh->depth = 0;
    while (used) {
        uint32_t children[BVH_WIDTH], here = count++, depth;
        used--;
        depth = stack[used].depth;
        bvh->depth = depth > bvh->depth ? depth : bvh->depth;
        if (nodes && stack[used].parent != ABUT_NONE)
            nodes[stack[used].parent].child[stack[used].slot] = here;
        uint32_t filled = collect_children(splits, plan, stack[used].split, children);
        for (uint32_t i = BVH_WIDTH; i-- > 0;) {
            bool leaf = i < filled && !splits[children[i]].right;
            if (nodes) {
                for (int axis = 0; axis < 3; axis++) {
                    nodes[here].lo[axis][i] = INFINITY;
                    nodes[here].hi[axis][i] = -INFINITY;
                }
                nodes[here].child[i] = leaf ? BVH_LEAF | splits[children[i]].leaf : ABUT_NONE;
            }
            if (i < filled && !leaf) {
                assert(used < BVH_STACK);
                stack[used].split = children[i];
                stack[used].parent = here;
                stack[used].slot = i;
                stack[used++].depth = depth + 1;
            }
        }
    }
    assert(bvh->depth <= BVH_DEPTH);
    bvh->node_count = count;
}

/* ---- lifetime ---- */

double abuti_bvh_scale(const abut_mesh *mesh) {
    vec3 lo = v3_sub(mesh->bounds.lo, mesh->origin), hi = v3_sub(mesh->bounds.hi, mesh->origin);
    double largest = real_max(v3_max_abs(lo), v3_max_abs(hi));
    int exponent;
    if (!(largest > 0))
        return 1;
    frexp(largest, &exponent);
    exponent = 1 - exponent;
    return ldexp(1, exponent > 1022 ? 1022 : exponent); /* its inverse is a normal number */
}

void abuti_bvh_fit(abut_bvh *bvh, const abut_mesh *mesh) {
    ABUTI_BY_LANES(abuti_bvh_fit)(bvh, mesh);
}

static abut_status build_tree(abut_bvh *bvh, const abut_mesh *mesh) {
    abut_context *context = bvh->context;
    size_t padded = (size_t)bvh->leaf_count * BVH_WIDTH;
    bvh->order = abuti_allocate(context, padded, sizeof *bvh->order);
    bvh->blocks = abuti_allocate(context, bvh->leaf_count, sizeof *bvh->blocks);
    size_t split_count = 2 * (size_t)bvh->leaf_count - 1;
    bvh_split *splits = abuti_allocate(context, split_count, sizeof *splits);
    slot_plan *plan = abuti_allocate(context, split_count, sizeof *plan);
    abut_status status = ABUT_ERROR_MEMORY;
    if (bvh->order && bvh->blocks && splits && plan)
        status = ABUTI_BY_LANES(abuti_bvh_split)(context, mesh, abuti_bvh_scale(mesh), bvh->order,
                                                 splits);
    if (!status) {
        for (size_t i = bvh->triangle_count; i < padded; i++)
            bvh->order[i] = bvh->order[bvh->triangle_count - 1];
        float node_cost = splits[0].area / (8 * (float)bvh->leaf_count) + 1e-20f;
        plan_nodes(splits, plan, split_count, 1, node_cost);
        write_wide_nodes(bvh, splits, plan, NULL);
        if (bvh->node_count > bvh->leaf_count / 2 + 1) {
            /* Adversarial input: use the fewest nodes. Two leaves per node are always possible;
             * they cost 112 / 8 bytes per triangle in addition to 22 for leaves. */
            plan_nodes(splits, plan, split_count, 0, 1);
            write_wide_nodes(bvh, splits, plan, NULL);
        }
        bvh->nodes = abuti_allocate(context, bvh->node_count, sizeof *bvh->nodes);
        status = bvh->nodes ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    if (!status) {
        write_wide_nodes(bvh, splits, plan, bvh->nodes);
        status = abuti_progress(context, "bvh", 0.95);
    }
    ABUTI_RELEASE(context, splits, plan);
    if (!status) {
        abuti_bvh_fit(bvh, mesh);
        bvh->built_cost = bvh->cost;
    }
    return status;
}

abut_bvh *abuti_bvh_allocate(abut_context *context, abut_mesh *mesh) {
    abut_bvh *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return NULL;
    made->context = abuti_context_retain(context);
    atomic_init(&made->holds, 1);
    made->mesh = abut_mesh_retain(mesh);
    made->triangle_count = mesh->triangle_count;
    made->leaf_count = (mesh->triangle_count + BVH_WIDTH - 1) / BVH_WIDTH;
    return made;
}

abut_status abut_bvh_create(abut_mesh *mesh, const abut_bvh_options *options, abut_bvh **bvh) {
    abut_bvh_options ours = abut_bvh_options_default();
    if (!mesh || !bvh)
        return abuti_null(__func__, mesh ? "bvh" : "mesh");
    abut_status status = abuti_options_read(&ours, sizeof ours, options, "abut_bvh_create");
    if (status)
        return status;
    abut_bvh *made = abuti_bvh_allocate(mesh->context, mesh);
    if (!made)
        return ABUT_ERROR_MEMORY;
    status = ours.device ? abuti_bvh_build_on_device(made, ours.device) : build_tree(made, mesh);
    if (status)
        abut_bvh_destroy(made);
    else
        *bvh = made;
    return status;
}

abut_status abut_bvh_create_from_arrays(abut_context *context, const abut_mesh_input *input,
                                        abut_bvh **bvh) {
    abut_mesh *mesh = NULL;
    if (!bvh)
        return abuti_null(__func__, "bvh");
    abut_status status = abut_mesh_create(context, input, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, bvh);
    abut_mesh_destroy(mesh); /* the BVH keeps it */
    return status;
}

abut_status abut_bvh_read(abut_context *context, const char *path, abut_bvh **bvh) {
    abut_mesh *mesh = NULL;
    if (!bvh)
        return abuti_null(__func__, "bvh");
    abut_status status = abut_mesh_read(context, path, NULL, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, bvh);
    abut_mesh_destroy(mesh); /* the BVH keeps it */
    return status;
}

abut_bvh *abuti_bvh_retain(const abut_bvh *bvh) {
    abut_bvh *shared = (abut_bvh *)(uintptr_t)bvh;
    if (shared)
        atomic_fetch_add_explicit(&shared->holds, 1, memory_order_relaxed);
    return shared;
}

void abut_bvh_destroy(abut_bvh *bvh) {
    if (!bvh || atomic_fetch_sub_explicit(&bvh->holds, 1, memory_order_acq_rel) != 1)
        return;
    abut_context *context = bvh->context;
    abuti_bvh_destroy_on_device(bvh->there);
    if (!bvh->base) {
        ABUTI_RELEASE(context, bvh->nodes, bvh->blocks, bvh->order);
    }
    abuti_bvh_destroy_attachments(&bvh->parts);
    abuti_bvh_solid_destroy(bvh);
    abut_mesh_destroy(bvh->mesh);
    abuti_release(context, bvh);
    abut_context_destroy(context);
}

abut_status abuti_bvh_check_refit(const char *function, const abut_mesh *old,
                                  const abut_mesh *mesh) {
    if (mesh->triangle_count != old->triangle_count)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: the mesh has %u triangles, but the BVH has %u; only vertex positions may change",
            function, mesh->triangle_count, old->triangle_count);
    size_t count = 3 * (size_t)old->triangle_count;
    if (mesh->indices == old->indices ||
        !memcmp(mesh->indices, old->indices, count * sizeof *mesh->indices))
        return ABUT_OK;
    for (size_t i = 0; i < count; i++)
        if (mesh->indices[i] != old->indices[i])
            return abuti_fail(
                ABUT_ERROR_ARGUMENT,
                "%s: triangle %zu has vertex %u instead of %u; only vertices may move", function,
                i / 3, mesh->indices[i], old->indices[i]);
    return ABUT_OK;
}

abut_status abut_bvh_set_mesh(abut_bvh *bvh, abut_mesh *mesh) {
    if (!bvh || !mesh)
        return abuti_null(__func__, bvh ? "mesh" : "bvh");
    abut_status status = abuti_bvh_check_refit(__func__, bvh->mesh, mesh);
    if (status)
        return status;
    if (bvh->there)
        status = abuti_bvh_refit_on_device(bvh, mesh);
    else
        abuti_bvh_fit(bvh, mesh);
    if (status)
        return status;
    abut_mesh_retain(mesh);
    abut_mesh_destroy(bvh->mesh);
    bvh->mesh = mesh;
    abuti_bvh_solid_fit(bvh);
    atomic_store_explicit(&bvh->query_count, 0, memory_order_relaxed);
    atomic_store_explicit(&bvh->pair_steps, 0, memory_order_relaxed);
    return abuti_bvh_refit_attachments(&bvh->parts);
}

abut_status abut_bvh_get_info(const abut_bvh *bvh, abut_bvh_info *info) {
    if (!bvh || !info)
        return abuti_null(__func__, bvh ? "info" : "bvh");
    abut_bvh_info made = abut_bvh_info_default();
    abuti_bvh_ensure_host(bvh);
    made.triangle_count = bvh->triangle_count;
    made.node_count = bvh->node_count;
    made.depth = bvh->depth;
    made.bytes = sizeof *bvh + (uint64_t)bvh->node_count * sizeof *bvh->nodes +
                 (uint64_t)bvh->leaf_count * (sizeof *bvh->blocks + BVH_WIDTH * sizeof *bvh->order);
    made.cost = bvh->cost;
    made.built_cost = bvh->built_cost;
    made.should_rebuild = bvh->cost > 1.5 * bvh->built_cost;
    return abuti_info_write(info, &made, sizeof made, __func__);
}

abut_mesh *abut_bvh_mesh(const abut_bvh *bvh) {
    return bvh ? bvh->mesh : NULL;
}

/* ---- validation ---- */

abut_status abuti_bvh_check(const char *function, const abut_bvh *bvh, const void *out,
                            const char *out_name) {
    if (!bvh || !out)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null; pass its address", function,
                          bvh ? out_name : "bvh");
    return abuti_bvh_ensure_host(bvh);
}

abut_status abuti_bvh_check_batch(const char *function, const abut_bvh *bvh, const void *out,
                                  const char *out_name) {
    return bvh && out && bvh->there ? abuti_bvh_check_on_device(function, bvh)
                                    : abuti_bvh_check(function, bvh, out, out_name);
}

abut_status abuti_bvh_check_point(const char *function, const char *what, abut_vec3 p) {
    if (fabs(p.x) <= ABUT_COORDINATE_MAX && fabs(p.y) <= ABUT_COORDINATE_MAX &&
        fabs(p.z) <= ABUT_COORDINATE_MAX)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s is (%g, %g, %g); coordinates must be finite and at most %g in "
                      "magnitude",
                      function, what, p.x, p.y, p.z, ABUT_COORDINATE_MAX);
}

abut_status abuti_bvh_check_limit(const char *function, const char *what, double limit) {
    if (limit >= 0)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s is %g; it must be 0 or more; pass HUGE_VAL for no limit", function,
                      what, limit);
}
