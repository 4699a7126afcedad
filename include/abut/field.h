/* Signed distance fields: the distance to a mesh at every cell of a grid, negative inside.
 *
 * Each value is the distance that abut_sign_nearest() gives at the centre of the cell,
 * rounded once to a float: exact, not spread from neighbours. Around a border the sign may differ
 * where the winding number is within 0.01 of a half. Between centres values are interpolated. The
 * same mesh and options give the same values on every processor, device and number of threads; but
 * with more than 4,096 border edges a device may give such cells another sign than the CPU.
 *
 * A field may be on a device: it is built there, and if it is dense and of floats its values stay
 * there, for kernels of the caller and for worlds on the same device; see abut_field_values().
 * Whatever is asked of the field itself runs on the CPU all the same, which gets a copy of the
 * values when it is first asked.
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

/* Cubes in rows: cell (i, j, k) has its centre at origin + cell x (i, j, k). */
typedef struct abut_grid {
    abut_vec3 origin;
    double cell; /* length of an edge */
    uint32_t count[3];
} abut_grid;

typedef enum abut_field_layout {
    ABUT_FIELD_DENSE = 0, /* a value for every cell */
    ABUT_FIELD_SPARSE     /* bricks of 8 x 8 x 8 cells where the band is; one value for each corner
                           * of a brick elsewhere. All of them are exact distances */
} abut_field_layout;

typedef enum abut_field_type {
    ABUT_FIELD_FLOAT = 0, /* 4 bytes a value */
    ABUT_FIELD_INT16      /* 2 bytes: multiples of abut_field_info.step, rounded to the nearest */
} abut_field_type;

typedef struct abut_field_options {
    size_t size;
    uint32_t cells; /* along the longest side of the grid; 0 = 64, unless `cell` is given */
    double cell;    /* length of an edge; 0 = by `cells` */
    double margin;  /* between the box of the mesh and that of the grid; 0 = two cells, or the band
                     * and one cell if that is more */
    abut_grid grid; /* exactly this one, where its counts are not 0; the three above are then 0 */
    double band;    /* distances beyond are not looked for: a dense field has the band with its sign
                     * there. 0 = no limit for dense fields, three cells for sparse ones, which
                     * have bricks wherever a point is no farther from the mesh */
    abut_field_layout layout;
    abut_field_type type;
    abut_sign_method sign; /* refused by pseudo-normals: a mesh with a border */
    abut_device *device;   /* where it is built; null = the CPU. The values are the same */
    const char *cache; /* keeps fields in a folder of the user that nobody else can write; null =
                        * none, "" = the user's own */
} abut_field_options;

ABUT_DEFAULT(abut_field_options)

typedef struct abut_field abut_field;

/* Builds the field of a mesh, which it keeps. `options` may be null. Takes at most 1.5 times the
 * result meanwhile, and 8 MiB a thread or for each of four, beside the hierarchy of the mesh and
 * its features (some 260 bytes a triangle); on a device more where lists are long, see
 * docs/field.md. Fails with ABUT_ERROR_LIMIT where there would be too many cells, and names the
 * memory that they would take; with ABUT_ERROR_DEVICE on a device without doubles, and for a
 * surface with a border on one that does not round floats as the CPU does. Uses the context of the
 * mesh; reports progress as stage "field". Thread-safe. */
ABUT_API abut_status abut_field_create(abut_mesh *mesh, const abut_field_options *options,
                                       abut_field **field);
/* The same for a mesh whose hierarchy is there already. Without options->device the field is built
 * where the hierarchy is, if that device can: it keeps what it needs there for the next field.
 * Signs are prepared, if they are not, as abut_sign_prepare() does it; refused: a hierarchy that
 * was prepared for another method than options->sign. Thread-safe for a hierarchy on the CPU whose
 * signs are prepared, else for one user of the hierarchy at a time. */
ABUT_API abut_status abut_field_create_from(abut_bvh *bvh, const abut_field_options *options,
                                            abut_field **field);
/* A dense field of floats from values of the caller, x fastest, which are copied: distances from
 * elsewhere, or of what is no mesh. It has no limit of distance. Refused: fewer than 2 cells along
 * an axis, a value that is not finite. Thread-safe. */
ABUT_API abut_status abut_field_create_values(abut_context *context, const abut_grid *grid,
                                              const float *values, abut_field **field);
/* Follows a mesh that has moved: takes one with the same triangles (same indices) and new
 * positions, and keeps it instead. Grid, band and the like stay. Values are those of a new field on
 * this grid, bit for bit, but distances are found anew only in blocks of 8 x 8 x 8 cells that can
 * have changed: where a triangle that has moved is, or was, no farther than the largest value of
 * the block. `recomputed` (may be null) gets their number. Sparse fields, signs by pseudo-normals
 * and 16 bits with another step are computed as a whole, and so are values that are on a device,
 * where they are. On failure the field is as before; but if a device fails half-way, the field
 * answers no more until an update succeeds. Not thread-safe: no one may ask it meanwhile. */
ABUT_API abut_status abut_field_set_mesh(abut_field *field, abut_mesh *mesh, uint64_t *recomputed);
/* The same for a mesh whose hierarchy is there already, such as one that was refitted: as
 * abut_field_create_from(). Signs are those of the field. */
ABUT_API abut_status abut_field_update_from(abut_field *field, abut_bvh *bvh, uint64_t *recomputed);
/* Releases the caller's reference; worlds that use the field keep it alive. Null is allowed.
 * Thread-safe when no one else uses the caller's reference. */
ABUT_API void abut_field_destroy(abut_field *field);

typedef struct abut_field_info {
    size_t size; /* sizeof(abut_field_info), set by the default function */
    abut_grid grid;
    abut_field_layout layout;
    abut_field_type type;
    double band;            /* infinity where there is no limit */
    double step;            /* between neighbouring values of 16 bits; 0 for floats */
    double lowest, highest; /* of all values */
    bool closed;            /* the mesh has no border */
    abut_sign_method sign;
    uint64_t bytes;
    uint64_t bricks;              /* that are stored; 0 for dense fields */
    abut_reliability reliability; /* what the signs are worth: see abut_sign_info */
} abut_field_info;

ABUT_DEFAULT(abut_field_info)

/* Gets the grid, the layout and the range of a field. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_field_get_info(const abut_field *field, abut_field_info *info);

/* The values of a dense field of floats that was built on a device, a float a cell, x fastest: in
 * the memory of that device, until the field is updated or destroyed. The field owns them. Null
 * where values are on the CPU alone, and for null. Thread-safe. */
ABUT_API const abut_buffer *abut_field_values(const abut_field *field);

/* Copies the values of a box of cells, from `begin` on, `count` along each axis: x runs fastest.
 * `values` has room for all. Cells that a sparse field does not store get what interpolating
 * between the corners of their brick gives. Refused: cells beyond the grid. Thread-safe. */
ABUT_API abut_status abut_field_copy(const abut_field *field, const uint32_t begin[3],
                                     const uint32_t count[3], float *values);

/* ---- value and gradient ---- */

typedef struct abut_field_value {
    double distance;
    abut_vec3 gradient; /* of what is interpolated: about 1 long, pointing away from the mesh */
    bool within;        /* the point is between centres of cells */
} abut_field_value;

typedef enum abut_interpolation {
    ABUT_INTERPOLATION_LINEAR = 0, /* trilinear: continuous */
    ABUT_INTERPOLATION_CUBIC       /* tricubic (Catmull & Rom): the gradient is continuous too; for
                                    * dense fields, linear in others and in the outermost cells */
} abut_interpolation;

/* Interpolates at a point. Beyond the grid the distance is never more than the true one to the
 * mesh, as far as that is within the grid, and the gradient points away from it. Takes no memory
 * and about 40 ns. Thread-safe. */
ABUT_API abut_status abut_field_evaluate(const abut_field *field, abut_vec3 point,
                                         abut_interpolation interpolation, abut_field_value *value);
/* The same for many points on all threads. Refused before anything is written: a point that is not
 * legal. Thread-safe. */
ABUT_API abut_status abut_field_evaluate_batch(const abut_field *field, const abut_points *points,
                                               abut_interpolation interpolation,
                                               abut_field_value *values);

/* ---- fields back to meshes ---- */

/* Extracts the isosurface of all points at distance `level`: 0 gives the surface again, closed
 * where it was open, more than 0 an offset outwards, less one inwards. The isosurface is closed,
 * oriented and manifold, whatever the values. Edges and corners are rounded off by up to a cell.
 * Returns ABUT_ERROR_ARGUMENT, with the margin or band that the field needs, if the isosurface
 * would reach the boundary of the grid (a value there is below the level) or if the magnitude of
 * the level is not below the band; also if no value is on one side of the level.
 * abut_field_offset() chooses the margin itself. Uses the context of the field; reports progress as
 * stage "surface". Thread-safe.
 */
ABUT_API abut_status abut_field_isosurface(const abut_field *field, double level, abut_mesh **mesh);
/* Creates the offset surface of a mesh: builds its field with the margin that the isosurface at
 * `distance` needs, and extracts that. `options` may be null; its margin and grid must be 0, and a
 * band, if there is one, must be larger than the distance. Fails as abut_field_create() and
 * abut_field_isosurface() do. Uses the context of the mesh. Thread-safe. */
ABUT_API abut_status abut_field_offset(abut_mesh *mesh, double distance,
                                       const abut_field_options *options, abut_mesh **offset);

typedef enum abut_combination {
    ABUT_COMBINATION_UNION = 0,    /* in a or in b */
    ABUT_COMBINATION_INTERSECTION, /* in both */
    ABUT_COMBINATION_DIFFERENCE    /* in a, not in b */
} abut_combination;

/* Combines the solids of two fields of the very same grid, as a dense field of floats. The sign is
 * right everywhere; distances are exact outside a union and inside the others, and nowhere more
 * than exact. Refused: other grids. Thread-safe. */
ABUT_API abut_status abut_field_combine(const abut_field *a, const abut_field *b,
                                        abut_combination combination, abut_field **result);

/* ---- files ---- */

typedef enum abut_field_format {
    ABUT_FIELD_FORMAT_AUTO = 0, /* by the ending of the name */
    ABUT_FIELD_FORMAT_ABUT,     /* .abutf: all of a field, checked and compressed; docs/field.md */
    ABUT_FIELD_FORMAT_VTI,      /* .vti: image data of VTK, for ParaView and others */
    ABUT_FIELD_FORMAT_NPY,      /* .npy: an array [z, y, x] of floats for NumPy */
    ABUT_FIELD_FORMAT_RAW,      /* .raw: floats, x fastest, and the grid in NAME.json beside it */
    ABUT_FIELD_FORMAT_DCACHE    /* .dcache: the text of Sundholm (2010), without sampling points */
} abut_field_format;

typedef struct abut_field_write_options {
    size_t size;
    abut_field_format format;
    bool plain; /* .abutf: do not compress, so that it is read faster */
} abut_field_write_options;

ABUT_DEFAULT(abut_field_write_options)

/* Writes a field, all or nothing: an old file of that name stays until the new one is complete on
 * disk. `options` may be null. The others but .abutf hold the values of all cells as floats, so a
 * sparse field is written as if it were dense. Thread-safe. */
ABUT_API abut_status abut_field_write(const abut_field *field, const char *path,
                                      const abut_field_write_options *options);

typedef struct abut_field_read_options {
    size_t size;
    /* .dcache alone, which does not tell them: */
    abut_vec3 origin; /* the centre of the first cell */
    double cell;      /* length of an edge; 0 = 1 */
    uint32_t number;  /* which of the fields in the file; 0 = the first */
} abut_field_read_options;

ABUT_DEFAULT(abut_field_read_options)

/* Reads a field from an .abutf or .dcache file, whichever it is by its first bytes. `options` may
 * be null. A file that is cut off, damaged or of another kind is refused with ABUT_ERROR_FORMAT;
 * one that a newer version wrote, or that is compressed where this build has no zstd, with
 * ABUT_ERROR_UNSUPPORTED. The field keeps no mesh. Thread-safe. */
ABUT_API abut_status abut_field_read(abut_context *context, const char *path,
                                     const abut_field_read_options *options, abut_field **field);
/* The same from memory. `name` stands in for the path in messages; it may be null. Thread-safe. */
ABUT_API abut_status abut_field_read_memory(abut_context *context, const void *data, size_t bytes,
                                            const char *name,
                                            const abut_field_read_options *options,
                                            abut_field **field);

/* ---- one field by several processes ---- */

/* What a process of a team has of the others. Both functions are called by all of them equally
 * often, and false tells that it failed. Open MPI is behind them in docs/mpi.md. */
typedef struct abut_field_team {
    size_t size;
    uint32_t rank, count; /* which of how many this is, from 0 on */
    void *user;
    /* Puts what all processes have into `all`, that of the first process first: bytes[i] from
     * process i. `own` has bytes[rank]. */
    bool (*gather)(void *user, const void *own, const uint64_t *bytes, void *all);
    /* Writes to the file that all have open, at a place of its own; at most 64 MiB, or 0 bytes
     * where others have more to write. */
    bool (*write)(void *user, uint64_t offset, const void *data, size_t bytes);
} abut_field_team;

ABUT_DEFAULT(abut_field_team)

/* Builds a sparse field together with other processes that call it with the same mesh and options,
 * and writes it to one file: the very bytes that abut_field_write() would write, for any number of
 * processes. Each has the mesh, the index of bricks and a part of the values. `plain` as in
 * abut_field_write_options; `info` (may be null; else
 * its size must be set) gets the properties of the field. What fails in one process
 * fails in all, with the sentence of the first; but a process that has no memory for the team
 * itself, or is handed null, leaves the others waiting: end them. What the file has then is not
 * complete: write it aside. Refused: dense fields, a device, a cache. Uses the context of the mesh.
 * Thread-safe, one team a thread. */
ABUT_API abut_status abut_field_write_distributed(abut_mesh *mesh,
                                                  const abut_field_options *options, bool plain,
                                                  const abut_field_team *team,
                                                  abut_field_info *info);

/* Tells whether a field was built from this very mesh, also after it was written and loaded: by a
 * SHA-256 of positions and indices. False where the field came from no mesh. Thread-safe. */
ABUT_API abut_status abut_field_matches_mesh(const abut_field *field, const abut_mesh *mesh,
                                             bool *is);

/* ---- the cache ---- */

/* A field in a folder of abut_field_options.cache, or what is wrong with a file there. */
typedef struct abut_field_cache_entry {
    const char *path;      /* of the file: one for each mesh, with any number of fields */
    char mesh[65];         /* SHA-256 of the mesh, 64 hexadecimal digits */
    abut_field_info info;  /* its range only when it was verified; zeros where it is not known */
    uint64_t stored_bytes; /* on disk */
    double age;            /* seconds since a field of the file was last used */
    const char *problem;   /* a sentence; null = none was found */
} abut_field_cache_entry;

/* Gets one entry after the other, which is there until it returns; false ends the listing. */
typedef bool abut_field_cache_visit(void *user, const abut_field_cache_entry *entry);

/* Lists the fields that a folder keeps, by the names of their files; "" = the user's own folder.
 * One that is not there has none. Thread-safe. */
ABUT_API abut_status abut_field_cache_list(abut_context *context, const char *folder,
                                           abut_field_cache_visit *visit, void *user);
/* The same, and reads all of each field to tell damage. Nothing is changed: what is damaged is
 * replaced when it is next asked for. Thread-safe. */
ABUT_API abut_status abut_field_cache_verify(abut_context *context, const char *folder,
                                             abut_field_cache_visit *visit, void *user);
/* Removes the files of a folder of which no field was used for this many seconds (0 = all), and
 * tells how many they were and how large; either may be null. Other files stay. Thread-safe. */
ABUT_API abut_status abut_field_cache_clear(abut_context *context, const char *folder, double age,
                                            uint64_t *files, uint64_t *bytes);

/* ---- names ---- */

/* Names for people and programs, such as "sparse" or "int16"; null beyond the last. Thread-safe. */
ABUT_API const char *abut_field_layout_name(abut_field_layout layout);
ABUT_API const char *abut_field_type_name(abut_field_type type);
ABUT_API const char *abut_interpolation_name(abut_interpolation interpolation);
ABUT_API const char *abut_combination_name(abut_combination combination);
ABUT_API const char *abut_field_format_name(abut_field_format format);

#ifdef __cplusplus
}
#endif

#endif
