/* Data of other modules that a BVH owns; see bvh.h. */
#include "bvh/bvh.h"

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
        created->next = attachments->first;
        /* Attachments that other threads add meanwhile precede the old ones. */
        while (!found &&
               !atomic_compare_exchange_weak(&attachments->first, &created->next, created))
            found = abuti_bvh_find_attachment(attachments, kind);
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
    (void)attachment;
    return ABUT_OK;
}

abut_status abuti_bvh_refit_attachments(bvh_attachments *attachments) {
    abut_status status = ABUT_OK;
    for (bvh_attachment *attachment = attachments->first, *next; attachment; attachment = next) {
        abut_status here = attachment->kind->refit ? attachment->kind->refit(attachment) : ABUT_OK;
        next = attachment->next;
        if (here || attachment->kind->refit == abuti_bvh_discard_attachment)
            remove_attachment(attachments, attachment->kind);
        status = status ? status : here;
    }
    return status;
}

void abuti_bvh_destroy_attachments(bvh_attachments *attachments) {
    for (bvh_attachment *attachment = attachments->first; attachment;
         attachment = attachments->first)
        remove_attachment(attachments, attachment->kind);
}
