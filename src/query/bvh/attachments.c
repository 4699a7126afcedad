/* Data of other modules that a BVH owns (see bvh.h), and two kinds of it: the wide tree, and the
 * tree of the CPU. */
#include "bvh/wide.h"

#include "base/simd.h"

static void destroy_attachment(bvh_attachment *attachment) {
    attachment->kind->destroy(attachment);
    abuti_release(attachment->context, attachment);
}

abut_status abuti_bvh_create_attachment(abut_context *context, const bvh_attachment_kind *kind,
                                        void *owner, bvh_attachment **attachment) {
    bvh_attachment *created = abuti_allocate_zeroed(context, 1, kind->bytes);
    if (!created)
        return ABUT_ERROR_MEMORY;
    created->kind = kind;
    created->context = context;
    abut_status status = kind->create(created, owner);
    if (status)
        destroy_attachment(created);
    else
        *attachment = created;
    return status;
}

/* Removes the attachment of a kind from the list. */
static void remove_attachment(bvh_attachments *attachments, const bvh_attachment_kind *kind) {
    bvh_attachment *attachment = attachments->first, *before = NULL;
    for (; attachment && attachment->kind != kind; attachment = attachment->next)
        before = attachment;
    if (!attachment)
        return;
    if (before)
        before->next = attachment->next;
    else
        attachments->first = attachment->next;
    destroy_attachment(attachment);
}

void abuti_bvh_replace_attachment(bvh_attachments *attachments, bvh_attachment *attachment) {
    remove_attachment(attachments, attachment->kind);
    attachment->next = attachments->first;
    attachments->first = attachment;
}

abut_status abuti_bvh_get_attachment(abut_context *context, bvh_attachments *attachments,
                                     const bvh_attachment_kind *kind, void *owner,
                                     bvh_attachment **attachment) {
    bvh_attachment *found = abuti_bvh_find_attachment(attachments, kind);
    if (!found) {
        abut_status status = abuti_bvh_create_attachment(context, kind, owner, &found);
        if (status)
            return status;
        abuti_bvh_replace_attachment(attachments, found);
    }
    *attachment = found;
    return ABUT_OK;
}

abut_status abuti_bvh_share_attachment(const abut_bvh *bvh, const bvh_attachment_kind *kind,
                                       bvh_attachment **attachment) {
    bvh_attachments *attachments = &((abut_bvh *)(uintptr_t)bvh)->parts;
    bvh_attachment *found = abuti_bvh_find_attachment(attachments, kind), *created;
    if (!found) {
        abut_status status =
            abuti_bvh_create_attachment(bvh->context, kind, (void *)(uintptr_t)bvh, &created);
        if (status)
            return status;
        do { /* other threads may add attachments meanwhile, also this one */
            created->next = attachments->first;
            found = abuti_bvh_find_attachment(attachments, kind);
        } while (!found &&
                 !atomic_compare_exchange_weak(&attachments->first, &created->next, created));
        if (found) /* another thread was faster */
            destroy_attachment(created);
        else
            found = created;
    }
    *attachment = found;
    return ABUT_OK;
}

bvh_attachment *abuti_bvh_earn_attachment(const abut_bvh *bvh, const bvh_attachment_kind *kind,
                                          atomic_size_t *counter, size_t cost, size_t threshold) {
    bvh_attachment *attachment = abuti_bvh_find_attachment(&bvh->parts, kind);
    if (attachment || !cost)
        return attachment;
    size_t before = atomic_fetch_add_explicit(counter, cost, memory_order_relaxed);
    if (before < threshold && before + cost >= threshold &&
        abuti_bvh_share_attachment(bvh, kind, &attachment)) {
        atomic_store_explicit(counter, 0,
                              memory_order_relaxed); /* tried again after the same cost */
        return NULL;
    }
    return attachment;
}

abut_status abuti_bvh_discard_attachment(bvh_attachment *attachment) {
    attachment->is_unwanted = true;
    return ABUT_OK;
}

abut_status abuti_bvh_refit_attachments(bvh_attachments *attachments) {
    abut_status status = ABUT_OK;
    for (bvh_attachment *attachment = attachments->first, *next; attachment; attachment = next) {
        abut_status here = attachment->kind->refit ? attachment->kind->refit(attachment) : ABUT_OK;
        next = attachment->next;
        if (here || attachment->is_unwanted)
            remove_attachment(attachments, attachment->kind);
        if (!status)
            status = here;
    }
    return status;
}

void abuti_bvh_destroy_attachments(bvh_attachments *attachments) {
    for (bvh_attachment *attachment = attachments->first; attachment;
         attachment = attachments->first)
        remove_attachment(attachments, attachment->kind);
}

/* ---- the wide tree ---- */

enum {
    /* The wide tree is built after so many queries in total, and one query per so many triangles.
     */
    WIDE_QUERIES_MIN = 64,
    WIDE_TRIANGLES_PER_QUERY = 16
};

/* Notes that the wide tree is used. */
static bvh_wide *use(bvh_attachment *attachment) {
    bvh_wide *tree = (bvh_wide *)attachment;
    if (tree && !atomic_load_explicit(&tree->is_used, memory_order_relaxed))
        atomic_store_explicit(&tree->is_used, true, memory_order_relaxed);
    return tree;
}

const bvh_wide *abuti_bvh_find_wide(const abut_bvh *bvh) {
    return use(abuti_bvh_find_attachment(&bvh->parts, ABUTI_BY_LANES(abuti_bvh_wide)));
}

static size_t wide_threshold(const abut_bvh *bvh) {
    const size_t threshold = bvh->triangle_count / WIDE_TRIANGLES_PER_QUERY;
    return threshold > WIDE_QUERIES_MIN ? threshold : WIDE_QUERIES_MIN;
}

const bvh_wide *abuti_bvh_earn_wide(const abut_bvh *bvh, size_t queries) {
    return use(abuti_bvh_earn_attachment(bvh, ABUTI_BY_LANES(abuti_bvh_wide),
                                         &((abut_bvh *)(uintptr_t)bvh)->query_count, queries,
                                         wide_threshold(bvh)));
}

abut_status abuti_bvh_prepare_wide(const abut_bvh *bvh, size_t queries) {
    bvh_attachment *part;
    atomic_size_t *counter = &((abut_bvh *)(uintptr_t)bvh)->query_count;
    const size_t threshold = wide_threshold(bvh);
    queries = queries < threshold ? queries : threshold;
    if (!abuti_bvh_find_wide(bvh) &&
        atomic_fetch_add_explicit(counter, queries, memory_order_relaxed) + queries < threshold)
        return ABUT_OK;
    return abuti_bvh_share_attachment(bvh, ABUTI_BY_LANES(abuti_bvh_wide), &part);
}

/* ---- the CPU tree ----
 *
 * The CPU tree of a mesh whose BVH was built by a device.
 *
 * A device builds another tree than the CPU. Most results do not depend on the tree, but some do:
 * which of several intersecting pairs of triangles is reported, and in which order the contours of
 * contacts are summed. To get the same bits with and without a device, such a BVH also has the CPU
 * tree, from the first query that needs it.
 */

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
