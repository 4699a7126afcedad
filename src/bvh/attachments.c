/* What higher floors keep with a hierarchy; see bvh.h. */
#include "bvh/bvh.h"

static void destroy_part(bvh_part *part) {
    part->kind->destroy(part);
    abuti_release(part->context, part);
}

abut_status abuti_bvh_part_make(abut_context *context, const bvh_part_kind *kind, void *owner,
                                bvh_part **part) {
    bvh_part *made = abuti_allocate_zeroed(context, 1, kind->bytes);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->kind = kind;
    made->context = context;
    abut_status status = kind->create(made, owner);
    if (status)
        destroy_part(made);
    else
        *part = made;
    return status;
}

/* Takes the part of a kind out of the list. */
static void remove_part(bvh_parts *parts, const bvh_part_kind *kind) {
    bvh_part *part = parts->first, *before = NULL;
    for (; part && part->kind != kind; part = part->next)
        before = part;
    if (!part)
        return;
    if (before)
        before->next = part->next;
    else
        parts->first = part->next;
    destroy_part(part);
}

void abuti_bvh_part_put(bvh_parts *parts, bvh_part *part) {
    remove_part(parts, part->kind);
    part->next = parts->first;
    parts->first = part;
}

abut_status abuti_bvh_part_get(abut_context *context, bvh_parts *parts, const bvh_part_kind *kind,
                               void *owner, bvh_part **part) {
    bvh_part *found = abuti_bvh_part(parts, kind);
    if (!found) {
        abut_status status = abuti_bvh_part_make(context, kind, owner, &found);
        if (status)
            return status;
        abuti_bvh_part_put(parts, found);
    }
    *part = found;
    return ABUT_OK;
}

abut_status abuti_bvh_part_share(const abut_bvh *bvh, const bvh_part_kind *kind, bvh_part **part) {
    bvh_parts *parts = &((abut_bvh *)(uintptr_t)bvh)->parts;
    bvh_part *found = abuti_bvh_part(parts, kind), *made;
    if (!found) {
        abut_status status = abuti_bvh_part_make(bvh->context, kind, (void *)(uintptr_t)bvh, &made);
        if (status)
            return status;
        made->next = parts->first;
        /* What others add meanwhile stands before what was there. */
        while (!found && !atomic_compare_exchange_weak(&parts->first, &made->next, made))
            found = abuti_bvh_part(parts, kind);
        if (found) /* another thread was faster */
            destroy_part(made);
        else
            found = made;
    }
    *part = found;
    return ABUT_OK;
}

bvh_part *abuti_bvh_part_earned(const abut_bvh *bvh, const bvh_part_kind *kind,
                                atomic_size_t *spent, size_t more, size_t enough) {
    bvh_part *part = abuti_bvh_part(&bvh->parts, kind);
    if (part || !more)
        return part;
    size_t before = atomic_fetch_add_explicit(spent, more, memory_order_relaxed);
    if (before < enough && before + more >= enough && abuti_bvh_part_share(bvh, kind, &part)) {
        atomic_store_explicit(spent, 0, memory_order_relaxed); /* tried again after as much */
        return NULL;
    }
    return part;
}

abut_status abuti_bvh_part_forget(bvh_part *part) {
    (void)part;
    return ABUT_OK;
}

abut_status abuti_bvh_parts_refit(bvh_parts *parts) {
    abut_status status = ABUT_OK;
    for (bvh_part *part = parts->first, *next; part; part = next) {
        abut_status here = part->kind->refit ? part->kind->refit(part) : ABUT_OK;
        next = part->next;
        if (here || part->kind->refit == abuti_bvh_part_forget)
            remove_part(parts, part->kind);
        status = status ? status : here;
    }
    return status;
}

void abuti_bvh_parts_destroy(bvh_parts *parts) {
    for (bvh_part *part = parts->first; part; part = parts->first)
        remove_part(parts, part->kind);
}
