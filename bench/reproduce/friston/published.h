/* Radial fields as published by Friston and Steed (2019): the parts that <abut/radial.h> computes
 * otherwise. In plain doubles, on one thread. */
#ifndef FRISTON_PUBLISHED_H
#define FRISTON_PUBLISHED_H

#include <abut/abut.h>

/* Computes the samples of a field at `view` (section 5.2): a triangle is straight in angle and
 * height, and the radius at a sample is the distance of its plane along the ray, clamped to the
 * distances of its corners. Triangles around the axis, those that face inwards and those nearly
 * perpendicular to the axis are culled (section 5.2.2). `radii` has view->around x view->along
 * elements; infinity = empty. */
void friston_samples(const abut_radial_view *view, const abut_vec3 *positions,
                     const uint32_t *indices, uint32_t triangle_count, double *radii);

/* Tests a particle that moves relative to resting fields at `steps` + 1 points of its path (section
 * 6.2). Returns the first point that is inside as a fraction of the path, or infinity. It misses
 * what is thinner than a step. */
abut_status friston_time(abut_radial *radial, abut_vec3 from, abut_vec3 to, uint32_t steps,
                         double *time);

#endif
