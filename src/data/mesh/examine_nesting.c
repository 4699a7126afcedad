/* Determines which closed components are inside others.
 *
 * A cavity is a closed component inside another one. Whether a component should be oriented inwards
 * depends on how many others contain it: an odd number means that it bounds a cavity. The parity of
 * the crossings of a ray is the parity of that number.
 *
 * Each component gets a line along x through the centre of the triangle with the largest projection
 * along x. The first two crossings of the line with the component itself bound an interval inside
 * it; the ray starts in that interval, close behind the first crossing. So neither a neighbour that
 * touches the component from outside, even along a whole face, nor one inside it falsifies the
 * count. Crossings are decided side by side: whether the line passes below a side is one exact
 * predicate that both triangles of the side share, so no crossing is lost or counted twice if the
 * line intersects an edge or a vertex.
 *
 * The lines are sorted into a grid over the y-z plane, and every triangle is tested against the
 * lines in its bounding box. A summed-area table gives the amount of work in advance. A mesh of
 * tens of thousands of closed components whose projections all overlap would exceed any bound; then
 * no component counts as nested, and a warning is logged. Assumes that components do not intersect
 * each other.
 */
#include "geom/predicates_shared.h"
#include "mesh/mesh.h"

#define GRAIN 4096
#define TESTS_MAX ((uint64_t)1 << 28) /* about 1 s */
#define SIDE_CELLS_MAX 2048
#define START_OFFSET                                                                             \
    1e-10 /* relative to the size of the mesh: above the rounding error of a crossing, below the \
             thickness of any wall */

typedef struct line {
    double y, z;
    double x;              /* start of the ray */
    double crossing[2];    /* the two lowest with its own component */
    double projected_area; /* largest area of a triangle in the projection along x; 0 = no line */
} line;

typedef struct nesting {
    const abut_topology_arrays *view;
    const abut_mesh *mesh;
    const unsigned char *watertight;
    double factor; /* power of two that scales the mesh to unit size */
    line *lines;   /* per component */
    size_t side;   /* cells along y and along z */
    double y0, z0, cells_per_y, cells_per_z;
    uint32_t *cell_begin, *cell_lines; /* components by cell */
    uint64_t *summed; /* number of lines in the cells below and to the left of a corner */
    unsigned char *inside;
} nesting;

static void corners_of(const nesting *n, size_t triangle, vec3 *p) {
    const uint32_t *corner = n->mesh->indices + 3 * triangle;
    for (int k = 0; k < 3; k++)
        p[k] = v3_scale(n->mesh->positions[corner[k]], n->factor);
}

static bool is_tested(const nesting *n, size_t triangle) {
    return n->watertight[n->view->triangle_component[triangle]] &&
           !abuti_is_collapsed(n->mesh->indices + 3 * triangle);
}

/* ---- crossings ---- */

/* Whether (y, z) is below the side from a to b, with the side half open in y. */
static bool passes_below(vec3 a, vec3 b, double y, double z) {
    if ((a.y <= y) == (b.y <= y))
        return false;
    int turn = orient2d(a.y, a.z, b.y, b.z, y, z);
    return a.y < b.y ? turn < 0 : turn > 0;
}

static bool is_crossed(const vec3 *p, double y, double z) {
    return passes_below(p[0], p[1], y, z) ^ passes_below(p[1], p[2], y, z) ^
           passes_below(p[2], p[0], y, z);
}

static double projected_double_area(vec3 a, vec3 b, double y, double z) {
    return (a.y - y) * (b.z - z) - (a.z - z) * (b.y - y);
}

/* The x at which the line at (y, z) crosses a triangle; it must cross it. */
static double crossing_of(const vec3 *p, double y, double z) {
    double u = projected_double_area(p[1], p[2], y, z), v = projected_double_area(p[2], p[0], y, z);
    double w = projected_double_area(p[0], p[1], y, z), sum = u + v + w;
    double lo = real_min(p[0].x, real_min(p[1].x, p[2].x));
    double hi = real_max(p[0].x, real_max(p[1].x, p[2].x));
    return sum == 0 ? lo : real_clamp((u * p[0].x + v * p[1].x + w * p[2].x) / sum, lo, hi);
}

/* ---- starting points ---- */

static void choose_lines(nesting *n) {
    for (size_t t = 0; t < n->view->triangle_count; t++) {
        if (!is_tested(n, t))
            continue;
        line *own = &n->lines[n->view->triangle_component[t]];
        vec3 p[3];
        corners_of(n, t, p);
        double projected_area = fabs(projected_double_area(p[1], p[2], p[0].y, p[0].z));
        if (projected_area <= own->projected_area)
            continue;
        own->projected_area = projected_area;
        own->y = (p[0].y + p[1].y + p[2].y) / 3;
        own->z = (p[0].z + p[1].z + p[2].z) / 3;
    }
}

static void choose_starts(nesting *n) {
    for (size_t t = 0; t < n->view->triangle_count; t++) {
        if (!is_tested(n, t))
            continue;
        line *own = &n->lines[n->view->triangle_component[t]];
        vec3 p[3];
        corners_of(n, t, p);
        if (!(own->projected_area > 0) || !is_crossed(p, own->y, own->z))
            continue;
        double x = crossing_of(p, own->y, own->z);
        if (x < own->crossing[0]) {
            own->crossing[1] = own->crossing[0];
            own->crossing[0] = x;
        } else if (x < own->crossing[1]) {
            own->crossing[1] = x;
        }
    }
    for (size_t c = 0; c < n->view->component_count; c++) {
        line *own = &n->lines[c];
        if (own->crossing[1] < REAL_MAX)
            own->x = own->crossing[0] +
                     real_min(START_OFFSET, 0.5 * (own->crossing[1] - own->crossing[0]));
        else
            own->projected_area = 0;
    }
}

/* ---- grid ---- */

static size_t cell_along(double at, double start, double cells_per_unit, size_t side) {
    double cell = (at - start) * cells_per_unit;
    return cell > 0 ? cell < (double)side ? (size_t)cell : side - 1 : 0;
}

static size_t row_of(const nesting *n, double y) {
    return cell_along(y, n->y0, n->cells_per_y, n->side);
}
static size_t column_of(const nesting *n, double z) {
    return cell_along(z, n->z0, n->cells_per_z, n->side);
}

static void set_grid(nesting *n) {
    box3 box = box_empty();
    size_t side = n->side;
    for (size_t c = 0; c < n->view->component_count; c++)
        if (n->lines[c].projected_area > 0)
            box = box_grow(box, v3(0, n->lines[c].y, n->lines[c].z));
    double size_y = box.hi.y - box.lo.y, size_z = box.hi.z - box.lo.z;
    n->y0 = box.lo.y;
    n->z0 = box.lo.z;
    n->cells_per_y = size_y > 0 ? (double)side / size_y : 0;
    n->cells_per_z = size_z > 0 ? (double)side / size_z : 0;
}

static void sort_lines(nesting *n) {
    size_t side = n->side, cell_count = side * side;
    uint32_t component_count = n->view->component_count, sum = 0;
    for (uint32_t c = 0; c < component_count; c++)
        if (n->lines[c].projected_area > 0)
            n->cell_begin[row_of(n, n->lines[c].y) * side + column_of(n, n->lines[c].z)]++;
    for (size_t row = 0; row < side; row++)
        for (size_t column = 0; column < side; column++)
            n->summed[(row + 1) * (side + 1) + column + 1] =
                n->summed[row * (side + 1) + column + 1] +
                n->summed[(row + 1) * (side + 1) + column] - n->summed[row * (side + 1) + column] +
                n->cell_begin[row * side + column];
    for (size_t i = 0; i < cell_count; i++)
        n->cell_begin[i] = sum += n->cell_begin[i];
    n->cell_begin[cell_count] = sum;
    for (uint32_t c = component_count; c-- > 0;)
        if (n->lines[c].projected_area > 0)
            n->cell_lines[--n->cell_begin[row_of(n, n->lines[c].y) * side +
                                          column_of(n, n->lines[c].z)]] = c;
}

/* ---- rays ---- */

typedef struct cell_range {
    size_t row[2], column[2]; /* first and last */
} cell_range;

static cell_range cell_range_of(const nesting *n, const vec3 *p) {
    cell_range r;
    r.row[0] = row_of(n, real_min(p[0].y, real_min(p[1].y, p[2].y)));
    r.row[1] = row_of(n, real_max(p[0].y, real_max(p[1].y, p[2].y)));
    r.column[0] = column_of(n, real_min(p[0].z, real_min(p[1].z, p[2].z)));
    r.column[1] = column_of(n, real_max(p[0].z, real_max(p[1].z, p[2].z)));
    return r;
}

static uint64_t count_tests(const nesting *n) {
    uint64_t total = 0;
    size_t width = n->side + 1;
    for (size_t t = 0; t < n->view->triangle_count; t++) {
        if (!is_tested(n, t))
            continue;
        vec3 p[3];
        corners_of(n, t, p);
        cell_range r = cell_range_of(n, p);
        total += n->summed[(r.row[1] + 1) * width + r.column[1] + 1] -
                 n->summed[r.row[0] * width + r.column[1] + 1] -
                 n->summed[(r.row[1] + 1) * width + r.column[0]] +
                 n->summed[r.row[0] * width + r.column[0]];
    }
    return total;
}

static void test_line(nesting *n, uint32_t owner, const vec3 *p, uint32_t component) {
    const line *other = &n->lines[component];
    if (component != owner && is_crossed(p, other->y, other->z) &&
        crossing_of(p, other->y, other->z) > other->x)
        __atomic_fetch_xor(&n->inside[component], 1, __ATOMIC_RELAXED);
}

static void cast_rays(void *data, size_t chunk, size_t begin, size_t end) {
    nesting *n = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++) {
        if (!is_tested(n, t))
            continue;
        vec3 p[3];
        corners_of(n, t, p);
        cell_range r = cell_range_of(n, p);
        for (size_t row = r.row[0]; row <= r.row[1]; row++) {
            uint32_t from = n->cell_begin[row * n->side + r.column[0]];
            uint32_t to = n->cell_begin[row * n->side + r.column[1] + 1];
            for (uint32_t i = from; i < to; i++)
                test_line(n, n->view->triangle_component[t], p, n->cell_lines[i]);
        }
    }
}

static abut_status find_nesting(nesting *n, abut_context *context, size_t tested_count) {
    size_t component_count = n->view->component_count;
    n->side = 1;
    while (n->side < SIDE_CELLS_MAX && n->side * n->side < tested_count)
        n->side *= 2;
    if (ABUTI_ALLOCATE(context, ABUTI_ZEROED(n->lines, component_count),
                       ABUTI_ZEROED(n->cell_begin, n->side * n->side + 1),
                       ABUTI_ARRAY(n->cell_lines, component_count),
                       ABUTI_ZEROED(n->summed, (n->side + 1) * (n->side + 1))))
        return ABUT_ERROR_MEMORY;
    for (size_t c = 0; c < component_count; c++)
        n->lines[c].crossing[0] = n->lines[c].crossing[1] = REAL_MAX;
    choose_lines(n);
    choose_starts(n);
    set_grid(n);
    sort_lines(n);
    if (count_tests(n) > TESTS_MAX)
        abuti_log(
            context, ABUT_LOG_WARNING,
            "%zu closed components overlap too much to determine which are inside others; none "
            "counts as a cavity",
            tested_count);
    else
        return abuti_parallel_try(context, "health", n->view->triangle_count, GRAIN, cast_rays, n);
    return ABUT_OK;
}

void abuti_find_watertight_components(const abut_topology_arrays *view, unsigned char *watertight) {
    for (size_t c = 0; c < view->component_count; c++)
        watertight[c] = 1;
    for (size_t e = 0; e < view->edge_count; e++)
        if ((view->edge_face_begin[e + 1] - view->edge_face_begin[e]) % 2)
            watertight[view->triangle_component[view->edge_faces[view->edge_face_begin[e]]]] = 0;
}

abut_status abuti_component_nesting(const abut_topology *topology, const unsigned char *watertight,
                                    unsigned char *inside) {
    abut_context *context = topology->mesh->context;
    nesting n = {.view = &topology->view,
                 .mesh = topology->mesh,
                 .watertight = watertight,
                 .factor = abuti_unit_frame_of(topology->mesh).factor,
                 .inside = inside};
    size_t tested_count = 0;
    for (size_t c = 0; c < topology->view.component_count; c++) {
        inside[c] = 0;
        tested_count += watertight[c];
    }
    if (tested_count < 2)
        return ABUT_OK;
    abut_status status = find_nesting(&n, context, tested_count);
    ABUTI_RELEASE(context, n.lines, n.cell_begin, n.cell_lines, n.summed);
    return status;
}
