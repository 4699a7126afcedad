/* Distance fields by brute force, as Sundholm (2010, section 6.2.5, appendix A) computes them:
 * every cell of a dense grid tests every triangle, and the angle-weighted pseudo-normal of the
 * closest feature gives the sign. abut_field is the successor, with equal distances up to rounding
 * of floats. */
#ifndef SUNDHOLM_BRUTE_H
#define SUNDHOLM_BRUTE_H

#include "brute_shared.h"
#include "device/kit.h"

#include <abut/abut.h>

/* A mesh with the normals of its faces, edges and vertices. */
typedef struct brute_mesh {
    abut_context *context;
    brute_triangle *triangles;
    uint32_t count;
} brute_mesh;

abut_status brute_mesh_create(abut_context *context, abut_mesh *mesh, brute_mesh *made);
void brute_mesh_clear(brute_mesh *mesh);

/* The cells of a grid; with `row_limit` only about as many rows, spread over the grid. 0 = all. */
brute_cells brute_cells_of(const abut_mesh *mesh, const abut_grid *grid, uint32_t row_limit);
/* The number of values: those of all cells of the rows. */
size_t brute_cell_count(const brute_cells *cells);

/* Computes the values on the threads of the context. */
void brute_compute(const brute_mesh *mesh, const brute_cells *cells, float *values);

typedef struct brute_device {
    abuti_queue queue;
    abuti_kit kit;
} brute_device;

/* On failure there is nothing to close. */
abut_status brute_device_open(abut_device *device, brute_device *made);
void brute_device_close(brute_device *device);
/* The same on a device: uploads the triangles, and downloads the values. */
abut_status brute_compute_on_device(brute_device *device, const brute_mesh *mesh,
                                    const brute_cells *cells, float *values);

#endif
