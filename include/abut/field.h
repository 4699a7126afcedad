/* Signed distance fields (SDF): the signed distance to a mesh at every cell of a grid, negative
 * inside.
 *
 * Method: lists of the features that can be nearest to a block of cells, refined down to sixteen
 * cells. Signs come from crossings along rows of cells and, on open meshes, from winding numbers.
 * docs/field.md describes both.
 *
 * Guarantee: each stored value is the distance of abut_sign_nearest() at the cell centre, rounded
 * once to a float. Values between cell centres are interpolated. If the mesh has boundary edges,
 * the sign may differ from that of abut_sign_nearest() at cells whose winding number is within 0.01
 * of one half; it is correct up to 1e-12. The same mesh and options give the same values on every
 * processor, device and number of threads.
 *
 * Devices: options.device builds a field on a device. The values of a dense field of floats stay
 * there, for kernels of the caller and for worlds on the same device; see abut_field_values().
 * Queries of a field always run on the CPU. The first query downloads the values once.
 */
#ifndef ABUT_FIELD_H
#define ABUT_FIELD_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/device.h>
#include <abut/mesh.h>
#include <abut/nearest.h>
#include <abut/sign.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A grid of cubic cells. Cell (i, j, k) has its centre at origin + cell x (i, j, k). */
typedef struct abut_grid {
    abut_vec3 origin;
    double cell; /* edge length of a cell */
    uint32_t count[3];
} abut_grid;

typedef enum abut_field_layout {
    ABUT_FIELD_DENSE = 0, /* one value for each cell */
    ABUT_FIELD_SPARSE     /* bricks of 8 x 8 x 8 cells in the narrow band, and one value for each
                           * brick corner elsewhere. All stored values are exact distances */
} abut_field_layout;

typedef enum abut_field_type {
    ABUT_FIELD_FLOAT = 0, /* 4 bytes for each value */
    ABUT_FIELD_INT16      /* 2 bytes for each value: a multiple of abut_field_info.step, rounded to
                           * the nearest */
} abut_field_type;

typedef struct abut_field_options {
    size_t size;
    uint32_t cells; /* number of cells along the longest side of the grid; 0 = 64, unless `cell` is
                     * given */
    double cell;    /* edge length of a cell; 0 = derived from `cells` */
    double margin;  /* distance between the bounding boxes of mesh and grid; 0 = two cells, or band
                     * + one cell if that is larger */
    abut_grid grid; /* use exactly this grid if its counts are not 0; `cells`, `cell` and `margin`
                     * must then be 0 */
    double band;    /* width of the narrow band. A dense field stores the band, with its sign, at
                     * cells beyond it. A sparse field stores bricks within it. 0 = no limit for
                     * dense fields, three cells for sparse fields */
    abut_field_layout layout;
    abut_field_type type;
    abut_sign_method sign; /* pseudo-normals require a closed, oriented mesh */
    abut_device *device;   /* builds the field; null = the CPU. The values are the same */
    const char *cache;     /* folder in which fields are cached; null = no cache, "" = the default
                            * folder of the user. No other user may be able to write to it */
} abut_field_options;

ABUT_DEFAULT(abut_field_options)

typedef struct abut_field abut_field;

/* Builds the field of a mesh and keeps a reference to the mesh. `options` may be null.
 *
 * Temporary memory: the BVH, about 260 bytes for each triangle, 8 MiB for each thread (at least 32
 * MiB), and at most half the size of the result. A device needs more if feature lists are long; see
 * docs/field.md.
 *
 * Returns ABUT_ERROR_ARGUMENT if an option is invalid, or if the mesh is a single point and no grid
 * is given. Returns ABUT_ERROR_LIMIT if the grid has too many cells; the message contains their
 * size in GiB. Returns ABUT_ERROR_DEVICE if the device lacks doubles, or if the mesh has boundary
 * edges and the device rounds floats differently from the CPU.
 *
 * Uses the context of the mesh and reports progress as stage "field". Thread-safe. */
ABUT_API abut_status abut_field_create(abut_mesh *mesh, const abut_field_options *options,
                                       abut_field **field);
/* Builds a field as abut_field_create() does, with an existing BVH. If options->device is null, the
 * field is built on the device of the BVH, if that device is suitable. The BVH keeps intermediate
 * data on the device for the next field.
 *
 * Prepares signs with abut_sign_prepare() if they are not prepared. Returns ABUT_ERROR_ARGUMENT if
 * the BVH is prepared for another method than options->sign.
 *
 * Thread-safe if the BVH is on the CPU and its signs are prepared. Otherwise the caller must not
 * use the BVH in other threads during the call. */
ABUT_API abut_status abut_field_create_from(abut_bvh *bvh, const abut_field_options *options,
                                            abut_field **field);
/* Creates a dense field of floats from values of the caller, with x fastest; the values are copied.
 * The values may be distances from any source. The band of the field is infinite. Returns
 * ABUT_ERROR_ARGUMENT if an axis has fewer than 2 cells or a value is not finite. Thread-safe. */
ABUT_API abut_status abut_field_create_values(abut_context *context, const abut_grid *grid,
                                              const float *values, abut_field **field);
/* Updates a field to a deformed mesh, which must have the same triangles (equal indices). The field
 * keeps a reference to the new mesh instead of the old one. Grid, band, layout and type stay.
 *
 * The result equals a new field on the same grid, bit for bit. Distances are recomputed only in
 * blocks of 8 x 8 x 8 cells that can have changed. These are blocks to which a moved triangle is,
 * or was, no farther than the largest distance in the block. `recomputed` (may be null) receives
 * the number of these blocks. Sparse fields, fields on a device, signs by pseudo-normals, and
 * 16-bit values whose step changes are recomputed completely.
 *
 * Returns ABUT_ERROR_ARGUMENT if the triangles differ or the field has no mesh. On failure the
 * field keeps its values. If a device fails during the update, all queries of the field return
 * ABUT_ERROR_DEVICE until an update succeeds. Not thread-safe: no other thread may use the field
 * during the call. */
ABUT_API abut_status abut_field_set_mesh(abut_field *field, abut_mesh *mesh, uint64_t *recomputed);
/* Updates a field as abut_field_set_mesh() does, with an existing BVH, for example a refitted one.
 * The requirements on the BVH are those of abut_field_create_from(); the sign method is that of the
 * field. Not thread-safe: no other thread may use the field or the BVH during the call. */
ABUT_API abut_status abut_field_update_from(abut_field *field, abut_bvh *bvh, uint64_t *recomputed);
/* Releases the caller's reference. Worlds that use the field keep it alive. Null is allowed.
 * Thread-safe if no other thread uses the same reference. */
ABUT_API void abut_field_destroy(abut_field *field);

typedef struct abut_field_info {
    size_t size; /* sizeof(abut_field_info), set by the default function */
    abut_grid grid;
    abut_field_layout layout;
    abut_field_type type;
    double band;            /* width of the narrow band; infinity without a limit */
    double step;            /* quantisation step of 16-bit values; 0 for floats */
    double lowest, highest; /* smallest and largest value */
    bool closed;            /* the mesh has no boundary edges */
    abut_sign_method sign;
    uint64_t bytes;
    uint64_t bricks;              /* number of stored bricks; 0 for dense fields */
    abut_reliability reliability; /* reliability of the signs, as in abut_sign_info */
} abut_field_info;

ABUT_DEFAULT(abut_field_info)

/* Stores the properties of a field. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_field_get_info(const abut_field *field, abut_field_info *info);

/* Returns the device buffer with the values of a dense field of floats that was built on a device:
 * one float for each cell, with x fastest. The field owns the buffer, which is valid until the
 * field is updated or destroyed. Returns null if the values are only on the CPU or if `field` is
 * null. Thread-safe. */
ABUT_API const abut_buffer *abut_field_values(const abut_field *field);

/* Copies the values of a block of cells to `values`, with x fastest. The block starts at cell
 * `begin` and has `count` cells along each axis; `values` has space for all of them. For cells that
 * a sparse field does not store, the result is interpolated between the brick corners. Returns
 * ABUT_ERROR_ARGUMENT if the block exceeds the grid. Thread-safe. */
ABUT_API abut_status abut_field_copy(const abut_field *field, const uint32_t begin[3],
                                     const uint32_t count[3], float *values);

/* ---- interpolation ---- */

typedef struct abut_field_value {
    double distance;
    abut_vec3 gradient; /* of the interpolated function: length about 1, away from the mesh */
    bool within;        /* the point is within the box of the cell centres */
} abut_field_value;

typedef enum abut_interpolation {
    ABUT_INTERPOLATION_LINEAR = 0, /* trilinear: the value is continuous */
    ABUT_INTERPOLATION_CUBIC       /* tricubic (Catmull-Rom): value and gradient are continuous.
                                    * Dense fields only; sparse fields and the outermost cells use
                                    * linear interpolation */
} abut_interpolation;

/* Interpolates distance and gradient at a point. Outside the grid the distance is a lower bound of
 * the distance to the part of the mesh that is inside the grid. The gradient points away from the
 * mesh. Does not allocate memory. One call takes about 40 ns. Returns ABUT_ERROR_ARGUMENT if a
 * coordinate is not finite or exceeds ABUT_COORDINATE_MAX in magnitude. Thread-safe. */
ABUT_API abut_status abut_field_evaluate(const abut_field *field, abut_vec3 point,
                                         abut_interpolation interpolation, abut_field_value *value);
/* Interpolates at many points (abut_vec3) on the host, in parallel: values[i] belongs to point i.
 * Validates all points before it writes a value. Errors are those of abut_field_evaluate().
 * Thread-safe. */
ABUT_API abut_status abut_field_evaluate_batch(const abut_field *field, abut_array points,
                                               size_t count, abut_interpolation interpolation,
                                               abut_field_value *values);

/* ---- isosurfaces and Boolean combinations ---- */

/* Extracts the isosurface at distance `level`. Level 0 reconstructs the surface and closes holes. A
 * positive level gives an outward offset, a negative level an inward one. The isosurface is closed,
 * oriented and manifold for any values. Sharp edges and corners are rounded by up to one cell.
 *
 * Returns ABUT_ERROR_ARGUMENT if the isosurface would reach the boundary of the grid, where a value
 * is below the level. Also returns it if the magnitude of the level is not below the band. The
 * message contains the required margin or band. Returns ABUT_ERROR_ARGUMENT as well if no value is
 * on one side of the level. abut_field_offset() chooses the margin itself.
 *
 * Uses the context of the field and reports progress as stage "surface". Thread-safe. */
ABUT_API abut_status abut_field_isosurface(const abut_field *field, double level, abut_mesh **mesh);
/* Creates the offset surface of a mesh: builds a field with the margin that `distance` requires and
 * extracts the isosurface. `options` may be null. Its margin and grid must be 0, and its band must
 * be 0 or larger than the magnitude of the distance. Errors are those of abut_field_create() and
 * abut_field_isosurface(). Uses the context of the mesh. Thread-safe. */
ABUT_API abut_status abut_field_offset(abut_mesh *mesh, double distance,
                                       const abut_field_options *options, abut_mesh **offset);

typedef enum abut_combination {
    ABUT_COMBINATION_UNION = 0,    /* in a or in b */
    ABUT_COMBINATION_INTERSECTION, /* in both */
    ABUT_COMBINATION_DIFFERENCE    /* in a, not in b */
} abut_combination;

/* Computes the union, intersection or difference of two solids whose fields have the same grid, as
 * a dense field of floats. The sign is correct everywhere. Distances are exact outside a union and
 * inside the other two. Elsewhere their magnitude is a lower bound. Returns ABUT_ERROR_ARGUMENT if
 * the grids differ. Reports progress as stage "field". Thread-safe. */
ABUT_API abut_status abut_field_combine(const abut_field *a, const abut_field *b,
                                        abut_combination combination, abut_field **result);

/* ---- files ---- */

typedef enum abut_field_format {
    ABUT_FIELD_FORMAT_AUTO = 0, /* by the file name extension */
    ABUT_FIELD_FORMAT_ABUT,     /* .abutf: the complete field, with checksums, compressed;
                                 * docs/field.md */
    ABUT_FIELD_FORMAT_VTI,      /* .vti: VTK image data, for ParaView and others */
    ABUT_FIELD_FORMAT_NPY,      /* .npy: an array [z, y, x] of floats for NumPy */
    ABUT_FIELD_FORMAT_RAW       /* .raw: floats, x fastest; the grid is in NAME.json next to it */
} abut_field_format;

typedef struct abut_field_write_options {
    size_t size;
    abut_field_format format;
    bool plain; /* .abutf only: do not compress; such a file loads faster */
} abut_field_write_options;

ABUT_DEFAULT(abut_field_write_options)

/* Writes a field to a file. The write is atomic: an existing file is replaced when the new one is
 * complete on disk. `options` may be null. All formats except .abutf contain every cell as a float,
 * so a sparse field is expanded. Returns ABUT_ERROR_ARGUMENT if the extension is unknown and
 * options->format is AUTO. Returns ABUT_ERROR_FILE if the file cannot be written. Thread-safe. */
ABUT_API abut_status abut_field_write(const abut_field *field, const char *path,
                                      const abut_field_write_options *options);

/* Reads a field from an .abutf file. The field has no mesh.
 *
 * Returns ABUT_ERROR_FORMAT if the file is truncated, damaged or of another format. Returns
 * ABUT_ERROR_UNSUPPORTED if a newer version wrote the file, or if it is compressed and this build
 * lacks zstd. Returns ABUT_ERROR_FILE if the file cannot be read. Thread-safe. */
ABUT_API abut_status abut_field_read(abut_context *context, const char *path, abut_field **field);
/* Reads a field as abut_field_read() does, from memory. `name` replaces the path in messages and
 * may be null. Thread-safe. */
ABUT_API abut_status abut_field_read_memory(abut_context *context, const void *data, size_t bytes,
                                            const char *name, abut_field **field);

/* ---- distributed construction ---- */

/* Communication between the processes that build one field. All processes call both functions
 * equally often. Both return false on failure. docs/mpi.md has an implementation with Open MPI. */
typedef struct abut_field_team {
    size_t size;
    uint32_t rank, count; /* rank of this process, from 0, and number of processes */
    void *user;
    /* All-gather: concatenates the data of all processes in `all`, in the order of ranks. Process i
     * contributes bytes[i]; `own` has bytes[rank]. */
    bool (*gather)(void *user, const void *own, const uint64_t *bytes, void *all);
    /* Writes at an offset of the file that all processes have open, at most 64 MiB. `bytes` is 0 if
     * only other processes have data to write. */
    bool (*write)(void *user, uint64_t offset, const void *data, size_t bytes);
} abut_field_team;

ABUT_DEFAULT(abut_field_team)

/* Builds a sparse field together with other processes and writes it to one file. All processes pass
 * the same mesh and options. The file has the same bytes as that of abut_field_write(), for any
 * number of processes. Each process holds the mesh, the index of bricks and a part of the values.
 * `plain` is that of abut_field_write_options. `info` (may be null) receives the properties of the
 * field.
 *
 * An error in one process is returned by all, with the message of the first. After an error the
 * file is incomplete, so write to a temporary name. A process that passes null, or has no memory
 * for the first exchange, leaves the others waiting; the caller must end them. Returns
 * ABUT_ERROR_UNSUPPORTED for dense fields, and if a device or a cache is given. Uses the context of
 * the mesh. Thread-safe with a separate team for each thread. */
ABUT_API abut_status abut_field_write_distributed(abut_mesh *mesh,
                                                  const abut_field_options *options, bool plain,
                                                  const abut_field_team *team,
                                                  abut_field_info *info);

/* Stores in `is` whether a field was built from this mesh, also after it was written and read.
 * Compares the SHA-256 of positions and indices. The result is false if the field has no mesh
 * digest. Thread-safe. */
ABUT_API abut_status abut_field_matches_mesh(const abut_field *field, const abut_mesh *mesh,
                                             bool *is);

/* ---- cache ---- */

/* A field in a cache folder (abut_field_options.cache), or a file there with a problem. */
typedef struct abut_field_cache_entry {
    size_t size;      /* size of this structure in the library */
    const char *path; /* path of the file: one for each field */
    char mesh[65];    /* SHA-256 of the mesh, 64 hexadecimal digits; empty if it is unknown */
    const abut_field_info *info; /* properties; the range of values only after verification; zeros
                                  * if unknown */
    uint64_t stored_bytes;       /* size on disk */
    double age;                  /* seconds since the field was last used */
    const char *problem;         /* description of the problem; null = none was found */
} abut_field_cache_entry;

/* Receives one entry, which is valid during the call. Return false to end the listing. */
typedef bool abut_field_cache_visit(void *user, const abut_field_cache_entry *entry);

/* Lists the fields of a cache folder, least recently used first; "" = the default folder of the
 * user. A folder that does not exist has no entries. Thread-safe. */
ABUT_API abut_status abut_field_cache_list(abut_context *context, const char *folder,
                                           abut_field_cache_visit *visit, void *user);
/* Lists the fields as abut_field_cache_list() does, and reads each one completely to detect damage.
 * Changes no file: abut_field_create() replaces a damaged entry when it next needs it. Thread-safe.
 */
ABUT_API abut_status abut_field_cache_verify(abut_context *context, const char *folder,
                                             abut_field_cache_visit *visit, void *user);
/* Removes the files of a cache folder that were not used for `age` seconds; 0 removes all. `files`
 * and `bytes` (each may be null) receive their number and total size. Files that do not belong to
 * the cache stay. Returns ABUT_ERROR_FILE if a file cannot be removed. Thread-safe. */
ABUT_API abut_status abut_field_cache_clear(abut_context *context, const char *folder, double age,
                                            uint64_t *files, uint64_t *bytes);

/* ---- names ---- */

/* Return the name of a value, such as "sparse" or "int16", or null if the enum lacks it.
 * Thread-safe. */
ABUT_API const char *abut_field_layout_name(abut_field_layout layout);
ABUT_API const char *abut_field_type_name(abut_field_type type);
ABUT_API const char *abut_interpolation_name(abut_interpolation interpolation);
ABUT_API const char *abut_combination_name(abut_combination combination);
ABUT_API const char *abut_field_format_name(abut_field_format format);

#ifdef __cplusplus
}
#endif

#endif
