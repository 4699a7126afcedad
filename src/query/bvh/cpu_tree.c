/* The CPU tree of a mesh whose BVH was built by a device.
 *
 * A device builds another tree than the CPU. Most results do not depend on the tree, but some do:
 * which of several intersecting pairs of triangles is reported, and in which order the contours of
 * contacts are summed. To get the same bits with and without a device, such a BVH also has the CPU
 * tree, from the first query that needs it.
 */
#include "bvh/bvh.h"

typedef struct cpu_tree {
    bvh_attachment attachment;
    const abut_bvh *owner;
    abut_bvh *bvh; /* on the CPU */
} cpu_tree;

static abut_status create_cpu_tree(bvh_attachment *attachment, void *owner) {
    cpu_tree *tree = (cpu_tree *)(void *)attachment;
    tree->owner = owner;
    return abut_bvh_create(tree->owner->mesh, NULL, &tree->bvh);
}

static abut_status refit_cpu_tree(bvh_attachment *attachment) {
    cpu_tree *tree = (cpu_tree *)(void *)attachment;
    return abut_bvh_set_mesh(tree->bvh, tree->owner->mesh);
}

static void destroy_cpu_tree(bvh_attachment *attachment) {
    abut_bvh_destroy(((cpu_tree *)(void *)attachment)->bvh);
}

static const bvh_attachment_kind cpu_tree_kind = {sizeof(cpu_tree), create_cpu_tree, refit_cpu_tree,
                                                  destroy_cpu_tree};

abut_status abuti_bvh_cpu_tree(const abut_bvh *bvh, const abut_bvh **tree) {
    bvh_attachment *attachment;
    *tree = bvh;
    if (!bvh->there || bvh->base) /* it has the CPU tree */
        return ABUT_OK;
    abut_status status = abuti_bvh_share_attachment(bvh, &cpu_tree_kind, &attachment);
    if (!status)
        *tree = ((cpu_tree *)(void *)attachment)->bvh;
    return status;
}
