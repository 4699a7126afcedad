/* The CPU's tree of a mesh whose hierarchy a device has built.
 *
 * A device builds another tree than the CPU. Most answers do not depend on the tree, but some do:
 * which of several intersecting pairs of triangles is reported as the witness, and in which order
 * the contours of contacts are added up. So that these are the same bits with and without a device,
 * such a hierarchy keeps the CPU's tree as well, from the first question that needs it on.
 */
#include "bvh/bvh.h"

typedef struct cpu_tree {
    bvh_part part;
    const abut_bvh *owner;
    abut_bvh *bvh; /* on the CPU */
} cpu_tree;

static abut_status create(bvh_part *part, void *owner) {
    cpu_tree *tree = (cpu_tree *)(void *)part;
    tree->owner = owner;
    return abut_bvh_create(tree->owner->mesh, NULL, &tree->bvh);
}

static abut_status refit(bvh_part *part) {
    cpu_tree *tree = (cpu_tree *)(void *)part;
    return abut_bvh_set_mesh(tree->bvh, tree->owner->mesh);
}

static void destroy(bvh_part *part) {
    abut_bvh_destroy(((cpu_tree *)(void *)part)->bvh);
}

static const bvh_part_kind tree_kind = {sizeof(cpu_tree), create, refit, destroy};

abut_status abuti_bvh_cpu_tree(const abut_bvh *bvh, const abut_bvh **tree) {
    bvh_part *part;
    *tree = bvh;
    if (!bvh->there || bvh->base) /* its tree is the CPU's */
        return ABUT_OK;
    abut_status status = abuti_bvh_part_share(bvh, &tree_kind, &part);
    if (!status)
        *tree = ((cpu_tree *)(void *)part)->bvh;
    return status;
}
