/* Scenes that stress cloth: a twisted cylinder, a knot, a pile, a funnel. Models and motion of
 * their solids; see cloth_scene.h. */
#ifndef ABUT_CLOTH_STRESS_H
#define ABUT_CLOTH_STRESS_H

#include "cloth_scene.h"

/* The largest number of sheets of a scene. */
enum { STRESS_SHEETS_MAX = 20 };

/* Creates the sheets, of about as many triangles together, and the solid. */
abut_status stress_make(abut_context *context, const scene_options *options, abut_mesh **sheets,
                        uint32_t *count, abut_mesh **solid);
/* Changes the defaults of material and options. */
void stress_choose(scene_kind kind, abut_cloth_material *material, abut_cloth_options *options);
/* Returns whether a vertex of the sheet at p is pinned to the solid. */
bool stress_is_pinned(scene_kind kind, abut_vec3 p);
/* The position of a vertex of the solid, which is at p at time 0. */
abut_vec3 stress_solid_at(scene_kind kind, abut_vec3 p, double time);
/* The time at which the solid stops. */
double stress_rest_time(scene_kind kind);
abut_box stress_view(scene_kind kind);
abut_vec3 stress_eye(scene_kind kind);

#endif
