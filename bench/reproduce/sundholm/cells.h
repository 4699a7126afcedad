/* Line segments against a distance field by cells, as in Sundholm (2010, section 5.3): the first
 * cell along the segment whose value is negative, without interpolation. abut_contact_ray() is the
 * successor. The traversal visits all cells in order (Amanatides and Woo 1987); unlike his
 * Bresenham line it skips no cell. A cell extends halfway to the neighbouring centres. */
#ifndef SUNDHOLM_CELLS_H
#define SUNDHOLM_CELLS_H

#include <abut/abut.h>

typedef struct sundholm_hit {
    double parameter; /* of the centre along the ray; infinity for a miss */
    abut_vec3 point;  /* centre of the cell */
    double depth;     /* of the cell */
} sundholm_hit;

/* `body` is a collider with a field; the ray ends at parameter `limit`. */
abut_status sundholm_ray(const abut_collider *body, const abut_ray *ray, double limit,
                         sundholm_hit *hit);

#endif
