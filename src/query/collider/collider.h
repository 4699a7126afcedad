/* Private functions of the collider module. */
#ifndef ABUTI_COLLIDER_H
#define ABUTI_COLLIDER_H

#include "base/math_shared.h"

#include <abut/collider.h>
#include <stdint.h>

/* Copies a collider. Fails, with a message that begins with `function`, if it is null or its kind
 * is unknown. `what` names the argument. */
abut_status abuti_collider_read(const char *function, const char *what,
                                const abut_collider *collider, abut_collider *ours);
/* Fails for a kind that a function does not accept; `accepted` lists those that it does. */
abut_status abuti_collider_refuse(const char *function, const char *what,
                                  const abut_collider *collider, const char *accepted);

/* Validates the numbers of a primitive other than a hull. */
abut_status abuti_collider_check_primitive(const char *function, const char *what,
                                           const abut_collider *solid);
/* Finds the mesh of a mesh, a hull or a body with a BVH. Fails for other kinds. `what` names the
 * collider; `index` is appended as "[index]", unless it is SIZE_MAX. */
abut_status abuti_collider_read_mesh(const char *function, const char *what, size_t index,
                                     const abut_collider *collider, const abut_mesh **mesh);
/* The bounding box of a primitive in local coordinates; a point for a plane. */
box3 abuti_collider_bounds(const abut_collider *collider);

static inline bool collider_is_primitive(const abut_collider *c) {
    return c->kind >= ABUT_COLLIDER_PLANE && c->kind <= ABUT_COLLIDER_HULL;
}

#endif
