/* Colliders: names and validation of the values that callers pass. */
#include "collider/collider.h"

#include "base/base.h"

/* Items of worlds contain colliders, so their size must not change. */
_Static_assert(sizeof(abut_collider) == 160, "a collider has 160 bytes");

const char *abut_collider_kind_name(abut_collider_kind kind) {
    static const char *const names[] = {"body",     "plane", "sphere",    "capsule", "box",
                                        "cylinder", "hull",  "character", "mesh"};
    return ABUTI_NAME(names, kind);
}

abut_status abuti_collider_read(const char *function, const char *what,
                                const abut_collider *collider, abut_collider *ours) {
    if (!collider)
        return abuti_null(function, what);
    *ours = *collider;
    if ((uint32_t)ours->kind <= ABUT_COLLIDER_MESH)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s->kind is %u; it must be from 0 to %d (abut_collider_kind)", function,
                      what, (uint32_t)ours->kind, ABUT_COLLIDER_MESH);
}

abut_status abuti_collider_refuse(const char *function, const char *what,
                                  const abut_collider *collider, const char *accepted) {
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is a %s; it must be %s", function, what,
                      abut_collider_kind_name(collider->kind), accepted);
}
