/* Cloth: sheets of triangles that never pass through bodies, through each other or through
 * themselves.
 *
 * A system has sheets (garments, flags, layers) and bodies: triangle meshes that the caller moves,
 * rigid or deforming. Edges of sheets resist stretch and shear, and pairs of triangles resist
 * bending, under gravity, wind and pressure.
 *
 * Method: extended position-based dynamics (Macklin, Mueller, Chentanez 2016) with many short
 * substeps plans the end of a step. Continuous collision detection (<abut/sweep.h>) then tests the
 * paths of all vertices to that end. Each impact becomes a plane between two features, and the ends
 * are moved until no impact remains. docs/cloth.md describes it.
 *
 * Guarantee: a step that begins without intersections ends without intersections, exactly, for
 * sheets with bodies, with each other and with themselves. Bodies may intersect each other and
 * themselves. A start with intersections is an error. If nothing else separates two features, the
 * whole system moves by only a fraction of the step, which the report contains.
 * abut_cloth_report.guarantee states the exceptions: radial fields, and ignore_self.
 *
 * Positions at the end of a step are floats. They have the same bits on any number of threads and
 * on devices. Lengths are in metres, masses in kilograms.
 */
#ifndef ABUT_CLOTH_H
#define ABUT_CLOTH_H

#include <abut/base.h>
#include <abut/device.h>
#include <abut/geom.h>
#include <abut/mesh.h>
#include <abut/radial.h>
#include <abut/self.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sheets and bodies, and their current state. One thread at a time may use a cloth; computations
 * run on all threads of its context. */
typedef struct abut_cloth abut_cloth;

/* The largest magnitude of a coordinate of sheets and bodies. */
#define ABUT_CLOTH_COORDINATE_MAX 1e15
#define ABUT_CLOTH_SUBSTEPS_MAX 1000

typedef struct abut_cloth_options {
    size_t size;
    abut_vec3 gravity;   /* m/s^2 */
    abut_vec3 wind;      /* velocity of the air, m/s */
    double drag;         /* of the air: N per square metre for each m/s of relative motion */
    uint32_t substeps;   /* per step; 0 = 10, at most ABUT_CLOTH_SUBSTEPS_MAX. Finer sheets need
                          * more */
    bool ignore_self;    /* sheets may pass through themselves and each other, which is faster */
    bool body_may_lag;   /* vertices of bodies that would crush cloth stay behind, so that
                          * everything else can continue; see abut_cloth_step() */
    abut_device *device; /* computes the motion; null = the CPU */
} abut_cloth_options;

ABUT_DEFAULT(abut_cloth_options)

/* Creates a system without sheets and bodies. `options` may be null. Returns ABUT_ERROR_ARGUMENT
 * for options that are not finite or out of range. Returns ABUT_ERROR_DEVICE if the device has no
 * doubles or rounds differently from the CPU. Thread-safe. */
ABUT_API abut_status abut_cloth_create(abut_context *context, const abut_cloth_options *options,
                                       abut_cloth **cloth);
/* Destroys a system. Null is allowed. One thread at a time for each cloth. */
ABUT_API void abut_cloth_destroy(abut_cloth *cloth);

/* ---- sheets and bodies ----
 *
 * They can be added and removed at any time, also between steps. All others keep their state. The
 * first step after an addition tests for intersections again. The first function that uses the
 * state after a change builds the arrays of the system again. */

/* A value of 0 has no effect unless stated otherwise. */
typedef struct abut_cloth_material {
    size_t size;
    double stretch, shear; /* stiffness in N/m; 0 = 200, and shear as stretch. Shear applies to
                            * edges that are the longest of both their triangles: the diagonals of
                            * a grid */
    double bend;           /* bending stiffness, in N m */
    double density;        /* kg per square metre; 0 = 0.2 */
    double damping;        /* of all motion, 1/s */
    double pressure;       /* of a closed sheet at its initial volume, above the outside pressure,
                            * in N/m^2; it increases as the volume decreases */
    double thickness;      /* distance that contacts keep; 0 = a fifth of the mean length of edges.
                            * Two sheets keep the mean of both. Surfaces that start closer
                            * are pushed apart and gain velocity */
    double friction;       /* coefficient. A contact has the mean of both sides */
} abut_cloth_material;

ABUT_DEFAULT(abut_cloth_material)

/* Adds a sheet at rest with the shape of a mesh, which is its rest shape. Keeps a reference to the
 * mesh. `material` may be null. `sheet` receives its index: the one that was freed last, otherwise
 * the next new one: 0, 1 and so on.
 *
 * Returns ABUT_ERROR_ARGUMENT if a value of the material is not finite or out of range, or if all
 * vertices are at one point, or one is beyond ABUT_CLOTH_COORDINATE_MAX. Returns ABUT_ERROR_LIMIT
 * if there are too many vertices. One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_add_sheet(abut_cloth *cloth, abut_mesh *mesh,
                                          const abut_cloth_material *material, uint32_t *sheet);

typedef struct abut_cloth_body_options {
    size_t size;
    abut_pose pose;  /* initial, applied to the mesh */
    double friction; /* coefficient; 0 = that of the sheet */
} abut_cloth_body_options;

ABUT_DEFAULT(abut_cloth_body_options)

/* Adds a body as an obstacle. The mesh may be open, and may intersect itself and other bodies.
 * Keeps a reference to the mesh. `options` may be null. Otherwise as abut_cloth_add_sheet(). One
 * thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_add_body(abut_cloth *cloth, abut_mesh *mesh,
                                         const abut_cloth_body_options *options, uint32_t *body);

/* Remove a sheet or body, and the attachments and seams of the sheet, or the attachments to the
 * body. The indices of others stay valid. The freed index can be reused. Return ABUT_ERROR_ARGUMENT
 * if there is no such sheet or body. One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_remove_sheet(abut_cloth *cloth, uint32_t sheet);
ABUT_API abut_status abut_cloth_remove_body(abut_cloth *cloth, uint32_t body);

/* Uses the radial fields of a character as the obstacle: fast, for visual purposes, and
 * approximate. Only vertices of sheets are kept outside, and only of what the fields cover. Nothing
 * is swept, also not sheets with each other, and bodies are no obstacles; vertices may be attached
 * to them. The caller updates the fields before each step. They must outlive the cloth, and be on
 * the device of the cloth if it has one. Returns ABUT_ERROR_ARGUMENT if there are fields already.
 * One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_add_radial(abut_cloth *cloth, abut_radial *radial);

typedef struct abut_cloth_info {
    size_t size;                      /* sizeof(abut_cloth_info), set by the default function */
    uint32_t sheet_count, body_count; /* that exist. Indices are below the largest number of
                                       * sheets or bodies that existed at one time */
    uint32_t vertex_count, triangle_count; /* of all sheets */
    uint32_t body_vertex_count, body_triangle_count;
    uint32_t attachment_count;
    abut_reliability guarantee; /* as in abut_cloth_report */
    uint32_t seam_count;
} abut_cloth_info;

ABUT_DEFAULT(abut_cloth_info)

/* Stores the properties of a system. `info->size` must be set. One thread at a time for each cloth.
 */
ABUT_API abut_status abut_cloth_get_info(const abut_cloth *cloth, abut_cloth_info *info);

/* Stores the material of a sheet, with defaults applied. `material->size` must be set. One thread
 * at a time for each cloth. */
ABUT_API abut_status abut_cloth_get_material(const abut_cloth *cloth, uint32_t sheet,
                                             abut_cloth_material *material);

/* ---- attachments ---- */

/* A vertex of a sheet that is attached to a point that the caller moves, or to a body. */
typedef struct abut_cloth_attachment {
    uint32_t vertex;
    uint32_t body;     /* ABUT_NONE = a point, initially where the vertex is; see
                        * abut_cloth_set_targets() */
    uint32_t triangle; /* of the body. This and the next two members are ignored for points */
    double weights[3]; /* barycentric weights of its corners; their sum is 1 */
    double offset;     /* from that point along the normal of the triangle */
    double stiffness;  /* of a spring, in N/m; 0 = pinned: exactly at its target, unless impacts
                        * prevent it */
} abut_cloth_attachment;

/* Computes attachments of vertices to the closest triangles of a body, or to points if `body` is
 * ABUT_NONE. Vertices keep their current offset, except that one far beside its triangle, compared
 * with the size of the triangle, keeps only its height above the closest point. Attachments have no
 * effect before abut_cloth_attach(). One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_bind(abut_cloth *cloth, uint32_t sheet, uint32_t body,
                                     const uint32_t *vertices, uint32_t count, double stiffness,
                                     abut_cloth_attachment *attachments);
/* Attaches vertices of a sheet. An attachment replaces an earlier one of the same vertex. Returns
 * ABUT_ERROR_ARGUMENT for a vertex, body or triangle that does not exist, numbers that are not
 * finite, weights whose sum is not 1, and a vertex that is listed twice. On failure nothing
 * changes. One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_attach(abut_cloth *cloth, uint32_t sheet,
                                       const abut_cloth_attachment *attachments, uint32_t count);
/* Removes the attachments of vertices; those without one are ignored. One thread at a time for each
 * cloth. */
ABUT_API abut_status abut_cloth_detach(abut_cloth *cloth, uint32_t sheet, const uint32_t *vertices,
                                       uint32_t count);
/* Sets the points of attached vertices at the end of the next step: absolute, one abut_vec3 for
 * each vertex, on the host. Returns ABUT_ERROR_ARGUMENT if a vertex is not attached to a point, or
 * if a target is not finite or beyond ABUT_CLOTH_COORDINATE_MAX. On failure nothing changes. One
 * thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_set_targets(abut_cloth *cloth, uint32_t sheet,
                                            const uint32_t *vertices, abut_array targets,
                                            uint32_t count);

/* ---- seams ---- */

/* Two vertices that are sewn together: of one sheet, or of two. */
typedef struct abut_cloth_seam {
    uint32_t sheet_a, vertex_a, sheet_b, vertex_b;
    double length;    /* distance at rest, in m; 0 = half of the mean thickness of both sheets */
    double stiffness; /* of a spring, in N/m; 0 = rigid */
    double speed;     /* at which a seam contracts to its length, in m/s; 0 = 0.5 */
} abut_cloth_seam;

/* Sews vertices together, so that flat panels become a garment. A seam replaces an earlier one of
 * the same two vertices. Vertices may be sewn to several others. Seams that start longer than their
 * length contract gradually. Sewn vertices never coincide, and contacts between faces that are
 * adjacent across a seam are ignored. Seams do not resist bending.
 *
 * Returns ABUT_ERROR_ARGUMENT for a sheet or vertex that does not exist, a vertex that is sewn to
 * itself, two vertices that are listed twice, and numbers that are negative or not finite. On
 * failure nothing changes. One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_sew(abut_cloth *cloth, const abut_cloth_seam *seams,
                                    uint32_t count);
/* Removes the seams between these vertices; length, stiffness and speed are ignored, and so are two
 * vertices without a seam. Otherwise as abut_cloth_sew(). One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_unsew(abut_cloth *cloth, const abut_cloth_seam *seams,
                                      uint32_t count);

/* ---- a step ---- */

/* Sets where the vertices of a body are at the end of the next step: absolute, one abut_vec3 for
 * each vertex of its mesh. The array may be in a buffer on the device of the cloth. Against radial
 * fields it then stays on the device, otherwise it is downloaded. It is copied. A body without new
 * positions stays where it is, or goes on to where it should be. Returns ABUT_ERROR_ARGUMENT for a
 * position that is not finite or beyond ABUT_CLOTH_COORDINATE_MAX. On failure nothing changes. One
 * thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_set_body_positions(abut_cloth *cloth, uint32_t body,
                                                   abut_array positions);
/* The same for a rigid body: its mesh in a pose. Vertices move there along straight lines. One
 * thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_set_body_pose(abut_cloth *cloth, uint32_t body, abut_pose pose);
/* Sets the velocity of the air. Returns ABUT_ERROR_ARGUMENT if it is not finite. One thread at a
 * time for each cloth. */
ABUT_API abut_status abut_cloth_set_wind(abut_cloth *cloth, abut_vec3 wind);

typedef struct abut_cloth_report {
    size_t size;       /* sizeof(abut_cloth_report), set by the default function */
    uint32_t contacts; /* of vertices with bodies and with faces of sheets */
    uint32_t impacts;  /* found by the first sweep; with radial fields, vertices that were moved */
    uint32_t sweeps;   /* until no impact remained */
    uint32_t halvings; /* how often the motion of a vertex was shortened */
    uint32_t lagging;  /* vertices of bodies that are not where they should be */
    double lag;        /* largest distance of one of them */
    double depth;      /* with radial fields: largest depth at which a vertex remains inside */
    double gap;        /* smallest distance of a vertex from a surface at the start of the step,
                        * rounded to a float; the range of contacts if nothing is as near */
    double fraction;   /* of the step that was applied: below 1 only if nothing else separates */
    abut_self_scheme self_scheme;   /* how the last search for impacts of sheets with each other and
                                     * themselves was done: POINT, LINE or COMPLETE; AUTO if there
                                     * was none */
    abut_self_fallback self_reason; /* for COMPLETE */
    double contact_seconds, motion_seconds, impact_seconds;
    abut_reliability guarantee; /* guaranteed: no intersection, exactly. Otherwise the reason */
    double seam_gap; /* largest distance of sewn vertices beyond the length of their seam at the
                      * start of the step, rounded to a float; 0 if there is none */
} abut_cloth_report;

ABUT_DEFAULT(abut_cloth_report)

/* Advances the system by a time, while bodies and attachments move to where they should be. Without
 * a sheet, bodies move there. `report` may be null, otherwise its size must be set.
 *
 * If the whole step would cause an intersection, and nothing else helps, everything moves by a
 * fraction of it. Cloth between two parts of a body that pass through each other would then stop
 * the system. With `body_may_lag`, vertices of bodies that are in the way stay behind, and catch up
 * later. Cloth and bodies never intersect where they are.
 *
 * Returns ABUT_ERROR_ARGUMENT if the time is not positive. Also returns it if the system has an
 * intersection before the first step, or before the first one after an addition; the message names
 * the first triangles. The step succeeds after the sheet or body was removed. The
 * same holds for two vertices of sheets at the same position, also of sewn ones; abut_mesh_weld()
 * merges those of one sheet. Far from the origin, different positions may be equal after rounding
 * to floats. Returns ABUT_ERROR_LIMIT if forces tear a sheet apart, and on a device for a vertex
 * with some hundred neighbours. On the CPU, the progress callback of the context can cancel a step
 * within some hundredths of a second; on a device, not while it computes the motion. On failure the
 * state does not change. One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_step(abut_cloth *cloth, double seconds, abut_cloth_report *report);

/* Stores the impulse of all sheets on a body in the last successful step, in N s, and its angular
 * impulse about a point, in N m s: from contacts with friction, impacts and attachments. It is the
 * momentum that the body has taken from the sheets. Each part acts where its vertex is at the end
 * of the step. Zero before the first step, and with radial fields. What a step removes because it
 * is applied only in part (`fraction` below 1) is not contained. The body itself does not react:
 * the caller moves it. Returns ABUT_ERROR_ARGUMENT if there is no such body. One thread at a time
 * for each cloth. */
ABUT_API abut_status abut_cloth_get_body_impulse(const abut_cloth *cloth, uint32_t body,
                                                 abut_vec3 point, abut_vec3 *linear,
                                                 abut_vec3 *angular);

/* With radial fields: moves vertices that are at most `depth` inside a body to just outside its
 * surface along the shortest path, decided exactly, for surfaces that fields do not cover. Writes
 * the number of moved vertices and the largest depth. Pinned vertices stay. If a body overlaps
 * itself, some vertices may stay inside. Self-collision is ignored. On failure nothing changes. One
 * thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_push_out(abut_cloth *cloth, double depth, uint32_t *moved,
                                         double *deepest);

/* ---- state ---- */

/* Copy the state of all vertices of a sheet or body to an array of abut_vec3, on the host or in a
 * buffer on the device of the cloth: absolute positions, velocities, and aims, which are the
 * positions that the last step planned before it searched for impacts, even if it failed. One
 * thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_get_positions(abut_cloth *cloth, uint32_t sheet,
                                              abut_array positions);
ABUT_API abut_status abut_cloth_get_velocities(abut_cloth *cloth, uint32_t sheet,
                                               abut_array velocities);
ABUT_API abut_status abut_cloth_get_aims(abut_cloth *cloth, uint32_t sheet, abut_array aims);
ABUT_API abut_status abut_cloth_get_body_positions(abut_cloth *cloth, uint32_t body,
                                                   abut_array positions);
/* Create a mesh of a sheet or body at its current positions. One thread at a time for each cloth.
 */
ABUT_API abut_status abut_cloth_create_mesh(abut_cloth *cloth, uint32_t sheet, abut_mesh **mesh);
ABUT_API abut_status abut_cloth_create_body_mesh(abut_cloth *cloth, uint32_t body,
                                                 abut_mesh **mesh);

/* Two triangles that intersect: one of a sheet, and one of a sheet or of a body. */
typedef struct abut_cloth_intersection {
    uint32_t sheet, triangle;
    uint32_t other_sheet, other_body; /* one of them is ABUT_NONE */
    uint32_t other_triangle;
} abut_cloth_intersection;

ABUT_LIST(abut_cloth_intersection)

/* Finds all intersections of the current positions, exactly: first those of sheets with each other
 * and with themselves, then those with bodies. Triangles with common vertices count as in
 * abut_pair_self_intersections(). One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_find_intersections(abut_cloth *cloth,
                                                   abut_cloth_intersection_list *intersections);
/* Tests whether there is no intersection. One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_is_free(abut_cloth *cloth, bool *is_free);

/* ---- cloth that starts crossed ---- */

typedef struct abut_cloth_untangle_options {
    size_t size;
    uint32_t iterations; /* at most; 0 = 400 */
    bool separate;       /* a cloth without intersections is changed, too, if surfaces are closer
                          * than the thickness: they are pushed apart without gaining velocity */
} abut_cloth_untangle_options;

ABUT_DEFAULT(abut_cloth_untangle_options)

typedef struct abut_cloth_untangle_report {
    size_t size;         /* sizeof(abut_cloth_untangle_report), set by the default function */
    bool is_free;        /* no intersection remains, exactly, and the next step accepts the start */
    uint32_t iterations; /* that were computed; 0 if nothing had to move */
    uint64_t pairs_before; /* of intersecting triangles */
    uint64_t pairs;        /* that remain; abut_cloth_find_intersections() lists them */
    abut_box bounds;       /* of the triangles of sheets in these; zero if there are none */
    uint32_t moved;        /* vertices that have moved */
    double distance;       /* the largest distance that a vertex has moved */
    double gap; /* as in abut_cloth_report, before the last step that separates surfaces; 0 if
                 * there was none */
    double seconds;
} abut_cloth_untangle_report;

ABUT_DEFAULT(abut_cloth_untangle_report)

/* Moves vertices of sheets until no triangles intersect, for a start that abut_cloth_step()
 * refuses: sheets through each other, through themselves, or in bodies. Bodies and pinned vertices
 * do not move. Afterwards it separates surfaces that are closer than the thickness, by steps
 * without forces and velocities, as far as at most 30 of them can. Velocities
 * stay as they are, and aims are the new positions. Positions are rounded to floats. A cloth
 * without intersections does not change, unless `options->separate` is set.
 *
 * Success is not guaranteed. If the iterations do not suffice, the call succeeds, `report->is_free`
 * is false, and positions are those with the fewest intersecting pairs that were found. The next
 * step then fails. Inside and outside of closed bodies are known; between sheets the smaller part
 * moves to the other side. docs/cloth.md has success rates. `options` and `report` may be null.
 *
 * Returns ABUT_ERROR_ARGUMENT for radial fields, which have no such guarantee, and if two vertices
 * of one sheet, or two pinned ones, remain at one position, as abut_cloth_step(). The progress
 * callback of the context can cancel it, with stage "untangle". It computes contours on the CPU. On
 * failure the state does not change. One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_untangle(abut_cloth *cloth,
                                         const abut_cloth_untangle_options *options,
                                         abut_cloth_untangle_report *report);

/* Energy in joules, without that of pressure. */
typedef struct abut_cloth_energy {
    size_t size; /* sizeof(abut_cloth_energy), set by the default function */
    double kinetic, gravity, elastic;
} abut_cloth_energy;

ABUT_DEFAULT(abut_cloth_energy)

/* Computes the energy of all sheets. `energy->size` must be set. One thread at a time for each
 * cloth. */
ABUT_API abut_status abut_cloth_get_energy(abut_cloth *cloth, abut_cloth_energy *energy);

/* ---- save and restore ---- */

/* Writes the state of all sheets and bodies, on which the next steps depend: positions, velocities,
 * where bodies should be, attachments, seams and wind. The caller stores the meshes, materials and
 * options. The size is 112 bytes, plus 8 for each index of a sheet or body, 36 for each vertex, 12
 * more for each vertex of bodies that may lag, 96 for each attachment, and 32 for each seam. One
 * thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_save(abut_cloth *cloth, abut_byte_list *bytes);
/* Restores a saved state. Sheets with their meshes and materials, the triangles and friction of
 * bodies, and options must be those of the saved cloth, with the same indices. Bodies that are
 * moved by poses need the same mesh, too. The device may differ, and the wind is restored.
 * Afterwards equal calls give the same positions and velocities as in the saved cloth, bit for bit;
 * with radial fields, if the caller also restores these. Impulses on bodies are 0 and aims are the
 * positions until the next step. That step tests again that the start has no intersections, so that
 * no saved bytes can break the guarantee.
 *
 * Returns ABUT_ERROR_FORMAT if the bytes are damaged or not a state, and ABUT_ERROR_UNSUPPORTED for
 * another version or byte order of the format. Returns ABUT_ERROR_ARGUMENT for a state of another
 * cloth. On failure nothing changes. One thread at a time for each cloth. */
ABUT_API abut_status abut_cloth_restore(abut_cloth *cloth, const void *state, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
