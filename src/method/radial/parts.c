/* Splits the triangles of a bone into parts with an axis each, where one axis does not represent
 * them: fingers of a hand, a hat on a head, a chin behind gums.
 *
 * A point of the surface is represented by an axis if the surface faces away from the axis there,
 * and no other surface that faces away is nearer to the axis in the same direction. This is tested
 * at points of all triangles, in bins of angle and height, without regard to other bones.
 *
 * A part is split in one of three ways: into connected components; by a plane, into the connected
 * components on each side; or into the triangles that its axis represents and the others. The way
 * that represents the largest area is chosen if it represents enough of the missing area. Parts are
 * split again by the same rule. Finally each part gets adjacent triangles of its bone, so that
 * fields overlap.
 */
#include "radial/radial.h"

enum {
    PARTS_MAX = 16,            /* of a bone */
    PLANES = 12,               /* in each of three directions */
    BY_COMPONENT = 3 * PLANES, /* ways to split; lower ones are planes */
    BY_VISIBILITY,
    WAYS,
    RINGS = 2,      /* of adjacent triangles that parts share */
    POINTS_MAX = 8, /* along each side of a triangle */
    BINS_MAX = 256  /* along each side of the grid of bins */
};
#define REPRESENTED_ENOUGH 0.93 /* of the area: such a part is not split */
#define GAIN_MIN 0.3            /* of the missing area that a split has to represent */
#define PART_MIN 0.02           /* area of a part, relative to that of the bone */
#define BIN_CELLS 1.5           /* size of a bin */

/* Elements of lists are triangles of the bone, numbered from 0. */
typedef struct part {
    uint32_t *list;
    uint32_t count;
    radial_line line;
    double represented, area;
    bool is_final;
} part;

typedef struct split_work {
    const radial_source *source;
    uint32_t bone, count;
    const uint32_t *triangles; /* of the mesh */
    double cell, total;
    double *area;              /* of each triangle, by its weight */
    uint32_t *names;           /* of each vertex of the mesh: the lowest at the same position */
    uint32_t *roots, *numbers; /* of each vertex: its component */
    uint32_t *label, *chosen;  /* of each triangle: the part of a split, and of the best split */
    unsigned char *side;       /* of each triangle: of a plane */
    unsigned char *is_represented, *is_marked;
    uint32_t *list, *global;
    double *label_area;
    uint32_t *label_number;
    float *bins;
    part parts[PARTS_MAX];
    uint32_t part_count;
} split_work;

static const uint32_t *corners_of(const split_work *w, uint32_t i) {
    return w->source->rest->indices + 3 * (size_t)w->triangles[i];
}

static void get_triangle(const split_work *w, uint32_t i, vec3 p[3]) {
    for (int k = 0; k < 3; k++)
        p[k] = abuti_mesh_position(w->source->rest, corners_of(w, i)[k]);
}

/* ---- what an axis represents ---- */

typedef struct bin_grid {
    vec3 begin, u, v, along;
    double rows_per_length;
    uint32_t around, rows;
} bin_grid;

static bin_grid make_grid(const split_work *w, const radial_line *line) {
    const double length = v3_length(v3_sub(line->end, line->begin)), bin = BIN_CELLS * w->cell;
    bin_grid g = {.begin = line->begin, .along = v3_normalise(v3_sub(line->end, line->begin))};
    g.u = fabs(g.along.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0);
    g.u = v3_normalise(v3_along(g.u, -v3_dot(g.u, g.along), g.along));
    g.v = v3_cross(g.along, g.u);
    g.around = (uint32_t)fmin(fmax(6.3 * line->radius / bin, 8), BINS_MAX);
    g.rows = (uint32_t)fmin(fmax(length / bin, 1), BINS_MAX);
    g.rows_per_length = length > 0 ? g.rows / length : 0;
    return g;
}

/* Returns the bin of a point and its distance from the axis, or infinity if the surface faces the
 * axis. Columns are those of a square about the axis, which need no trigonometry. */
static double find_bin(const bin_grid *g, vec3 point, vec3 normal, size_t *bin) {
    const vec3 d = v3_sub(point, g->begin);
    const double x = v3_dot(d, g->u), y = v3_dot(d, g->v), z = v3_dot(d, g->along);
    const double sum = fabs(x) + fabs(y);
    if (!(v3_dot(normal, v3_along(d, -z, g->along)) > 0) || !(sum > 0))
        return HUGE_VAL;
    const double turn = (y >= 0 ? 1 - x / sum : 3 + x / sum) / 4; /* from 0 to 1 */
    const uint32_t column = (uint32_t)(turn * g->around) % g->around;
    const double row = fmin(fmax(z * g->rows_per_length, 0), g->rows - 1.0);
    *bin = (size_t)column * g->rows + (size_t)row;
    return sqrt(x * x + y * y);
}

/* Visits points of a triangle about a cell apart. Without `represented` stores the smallest
 * distances in bins, otherwise counts represented points. Returns the number of points. */
static uint32_t visit_points(const split_work *w, const bin_grid *g, uint32_t triangle,
                             uint32_t *represented) {
    vec3 p[3];
    get_triangle(w, triangle, p);
    const vec3 x = v3_sub(p[1], p[0]), y = v3_sub(p[2], p[0]), normal = v3_cross(x, y);
    const double longest_sq =
        fmax(fmax(v3_length_sq(x), v3_length_sq(y)), v3_length_sq(v3_sub(x, y)));
    const uint32_t n = (uint32_t)fmin(fmax(ceil(sqrt(longest_sq) / w->cell), 1), POINTS_MAX);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n - i; k++) {
            const vec3 at = v3_along(v3_along(p[0], (i + 1.0 / 3) / n, x), (k + 1.0 / 3) / n, y);
            size_t bin;
            const double radius = find_bin(g, at, normal, &bin);
            if (radius == HUGE_VAL)
                continue;
            if (represented)
                *represented += radius <= w->bins[bin] + 2 * BIN_CELLS * w->cell;
            else
                w->bins[bin] = fminf(w->bins[bin], (float)radius);
        }
    return n * (n + 1) / 2;
}

/* Returns the area of triangles that a line represents. */
static double measure_line(const split_work *w, const radial_line *line, const uint32_t *list,
                           uint32_t count) {
    const bin_grid g = make_grid(w, line);
    double area = 0;
    for (size_t i = 0; i < (size_t)g.around * g.rows; i++)
        w->bins[i] = INFINITY;
    for (uint32_t i = 0; i < count; i++)
        visit_points(w, &g, list[i], NULL);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t represented = 0;
        const uint32_t points = visit_points(w, &g, list[i], &represented);
        area += w->area[list[i]] * represented / points;
        w->is_represented[list[i]] = 2 * represented > points;
    }
    return area;
}

/* Finds the best of the principal axes. Returns the area that it represents. */
static double fit_principal_line(const split_work *w, const uint32_t *list, uint32_t count,
                                 radial_line *best) {
    radial_line lines[3];
    double most = -1;
    for (uint32_t i = 0; i < count; i++)
        w->global[i] = w->triangles[list[i]];
    abuti_radial_principal_lines(w->source, w->bone, w->global, count, w->cell, lines);
    for (int k = 0; k < 3; k++) {
        const double area = measure_line(w, &lines[k], list, count);
        if (area > most) {
            most = area;
            *best = lines[k];
        }
    }
    return most;
}

/* Sets the line of a part: that of abuti_radial_fit(), or a principal axis if that is better. */
static abut_status fit_part(const split_work *w, part *p) {
    radial_line principal;
    for (uint32_t i = 0; i < p->count; i++)
        w->global[i] = w->triangles[p->list[i]];
    abut_status status =
        abuti_radial_fit(w->source, w->bone, w->global, p->count, w->cell, &p->line);
    if (status)
        return status;
    p->represented = measure_line(w, &p->line, p->list, p->count);
    p->area = 0;
    for (uint32_t i = 0; i < p->count; i++)
        p->area += w->area[p->list[i]];
    if (p->represented >= REPRESENTED_ENOUGH * p->area)
        return ABUT_OK;
    const double area = fit_principal_line(w, p->list, p->count, &principal);
    if (area > p->represented) {
        p->represented = area;
        p->line = principal;
    }
    return ABUT_OK;
}

/* ---- ways to split ---- */

static uint32_t find_root(uint32_t *roots, uint32_t i) {
    while (roots[i] != i)
        i = roots[i] = roots[roots[i]];
    return i;
}

/* Labels the connected components on one side of a plane, from `count`. Returns the new count. */
static uint32_t label_components(const split_work *w, const part *p, unsigned char side,
                                 uint32_t count) {
    for (uint32_t i = 0; i < p->count; i++)
        for (int k = 0; k < 3; k++) {
            const uint32_t name = w->names[corners_of(w, p->list[i])[k]];
            w->roots[name] = name;
            w->numbers[name] = ABUT_NONE;
        }
    for (uint32_t i = 0; i < p->count; i++) {
        const uint32_t *corner = corners_of(w, p->list[i]);
        for (int k = 1; k < 3 && w->side[p->list[i]] == side; k++) {
            const uint32_t a = find_root(w->roots, w->names[corner[0]]),
                           b = find_root(w->roots, w->names[corner[k]]);
            w->roots[a < b ? b : a] = a < b ? a : b;
        }
    }
    for (uint32_t i = 0; i < p->count; i++) {
        if (w->side[p->list[i]] != side)
            continue;
        uint32_t *number = &w->numbers[find_root(w->roots, w->names[corners_of(w, p->list[i])[0]])];
        if (*number == ABUT_NONE)
            *number = count++;
        w->label[p->list[i]] = *number;
    }
    return count;
}

/* Joins labels of small areas to the largest one, and numbers the others from 0. Returns their
 * number. */
static uint32_t join_small_labels(const split_work *w, const part *p, uint32_t count) {
    uint32_t largest = 0, kept = 0;
    memset(w->label_area, 0, count * sizeof *w->label_area);
    for (uint32_t i = 0; i < p->count; i++)
        w->label_area[w->label[p->list[i]]] += w->area[p->list[i]];
    for (uint32_t i = 1; i < count; i++)
        if (w->label_area[i] > w->label_area[largest])
            largest = i;
    w->label_number[largest] = kept++;
    for (uint32_t i = 0; i < count; i++)
        if (i != largest)
            w->label_number[i] = w->label_area[i] < PART_MIN * w->total ? 0 : kept++;
    for (uint32_t i = 0; i < p->count; i++)
        w->label[p->list[i]] = w->label_number[w->label[p->list[i]]];
    return kept;
}

static void choose_sides(const split_work *w, const part *p, uint32_t plane) {
    const bin_grid g = make_grid(w, &p->line);
    const vec3 normal = plane / PLANES == 0 ? g.along : plane / PLANES == 1 ? g.u : g.v;
    double lo = HUGE_VAL, hi = -HUGE_VAL;
    for (int pass = 0; pass < 2; pass++) {
        const double cut = lo + (hi - lo) * (plane % PLANES + 1) / (PLANES + 1);
        for (uint32_t i = 0; i < p->count; i++) {
            vec3 corner[3];
            get_triangle(w, p->list[i], corner);
            const double height = v3_dot(v3_sub(v3_add(v3_add(corner[0], corner[1]), corner[2]),
                                                v3_scale(g.begin, 3)),
                                         normal) /
                                  3;
            if (pass) {
                w->side[p->list[i]] = height > cut;
            } else {
                lo = fmin(lo, height);
                hi = fmax(hi, height);
            }
        }
    }
}

/* Labels triangles of a part. Returns the number of labels. */
static uint32_t label_triangles(const split_work *w, const part *p, uint32_t way) {
    uint32_t count = 2;
    if (way == BY_VISIBILITY) {
        measure_line(w, &p->line, p->list, p->count);
        for (uint32_t i = 0; i < p->count; i++)
            w->label[p->list[i]] = !w->is_represented[p->list[i]];
    } else {
        memset(w->side, 0, w->count);
        if (way < BY_COMPONENT)
            choose_sides(w, p, way);
        count = label_components(w, p, 0, 0);
        count = label_components(w, p, 1, count);
    }
    return join_small_labels(w, p, count);
}

static uint32_t select_label(const part *p, const uint32_t *labels, uint32_t label,
                             uint32_t *list) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (labels[p->list[i]] == label)
            list[count++] = p->list[i];
    return count;
}

/* Finds the best way to split a part. Returns the number of its labels, which are in w->chosen; 1 =
 * none is good enough. */
static uint32_t choose_split(const split_work *w, const part *p) {
    double best = p->represented + GAIN_MIN * (p->area - p->represented);
    uint32_t best_count = 1;
    for (uint32_t way = 0; way < WAYS; way++) {
        const uint32_t count = label_triangles(w, p, way);
        if (count < 2 || w->part_count + count - 1 > PARTS_MAX)
            continue;
        double represented = 0;
        for (uint32_t label = 0; label < count; label++) {
            radial_line line;
            const uint32_t size = select_label(p, w->label, label, w->list);
            represented += fit_principal_line(w, w->list, size, &line);
        }
        if (represented > best) {
            best = represented;
            best_count = count;
            memcpy(w->chosen, w->label, w->count * sizeof *w->chosen);
        }
    }
    return best_count;
}

/* Replaces a part by those of the chosen split. */
static abut_status replace_part(split_work *w, uint32_t which, uint32_t count) {
    part whole = w->parts[which];
    abut_status status = ABUT_OK;
    w->parts[which] = w->parts[--w->part_count];
    for (uint32_t label = 0; label < count && !status; label++) {
        part *made = &w->parts[w->part_count];
        *made = (part){.list = abuti_allocate(w->source->context, w->count, sizeof *made->list)};
        if (!made->list) {
            status = ABUT_ERROR_MEMORY;
            break;
        }
        w->part_count++;
        made->count = select_label(&whole, w->chosen, label, made->list);
        status = fit_part(w, made);
    }
    abuti_release(w->source->context, whole.list);
    return status;
}

static abut_status split_parts(split_work *w) {
    for (uint32_t i = 0; i < w->part_count;) {
        part *p = &w->parts[i];
        const bool is_good =
            p->is_final || p->represented >= REPRESENTED_ENOUGH * p->area || p->count < 4;
        const uint32_t count = is_good ? 1 : choose_split(w, p);
        if (count == 1) {
            p->is_final = true;
            i++;
            continue;
        }
        abut_status status = replace_part(w, i, count);
        if (status)
            return status;
        i = 0;
    }
    return ABUT_OK;
}

/* ---- the result ---- */

/* Adds triangles of the bone that share a vertex with the part. */
static void add_rings(const split_work *w, part *p) {
    memset(w->is_marked, 0, w->source->rest->vertex_count);
    memset(w->side, 0, w->count);
    for (uint32_t i = 0; i < p->count; i++)
        w->side[p->list[i]] = 1;
    for (uint32_t ring = 0, begin = 0; ring < RINGS; ring++) {
        for (; begin < p->count; begin++)
            for (int k = 0; k < 3; k++)
                w->is_marked[w->names[corners_of(w, p->list[begin])[k]]] = 1;
        for (uint32_t t = 0; t < w->count; t++) {
            const uint32_t *corner = corners_of(w, t);
            if (!w->side[t] &&
                (w->is_marked[w->names[corner[0]]] || w->is_marked[w->names[corner[1]]] ||
                 w->is_marked[w->names[corner[2]]])) {
                w->side[t] = 1;
                p->list[p->count++] = t;
            }
        }
    }
}

/* Moves the parts to the vector, with triangles of the mesh. */
static abut_status append_parts(split_work *w, abuti_vector *parts) {
    abut_context *context = w->source->context;
    abut_status status =
        abuti_vector_reserve(context, parts, parts->count + w->part_count, sizeof(radial_part));
    for (uint32_t i = 0; i < w->part_count && !status; i++) {
        part *p = &w->parts[i];
        if (w->part_count > 1)
            add_rings(w, p);
        for (uint32_t k = 0; k < p->count; k++)
            p->list[k] = w->triangles[p->list[k]];
        ABUTI_AT(parts, radial_part, parts->count++) = (radial_part){.bone = w->bone,
                                                                     .count = p->count,
                                                                     .triangles = p->list,
                                                                     .line = p->line};
        p->list = NULL;
    }
    return status;
}

static abut_status start_split(split_work *w) {
    const abut_mesh *mesh = w->source->rest;
    const size_t vertices = mesh->vertex_count, triangles = w->count;
    part *whole = &w->parts[0];
    abut_status status =
        ABUTI_ALLOCATE(w->source->context, ABUTI_ARRAY(w->area, triangles),
                       ABUTI_ARRAY(w->names, vertices), ABUTI_ARRAY(w->roots, vertices),
                       ABUTI_ARRAY(w->numbers, vertices), ABUTI_ARRAY(w->label, triangles),
                       ABUTI_ARRAY(w->chosen, triangles), ABUTI_ARRAY(w->side, triangles),
                       ABUTI_ARRAY(w->is_represented, triangles),
                       ABUTI_ARRAY(w->is_marked, vertices), ABUTI_ARRAY(w->list, triangles),
                       ABUTI_ARRAY(w->global, triangles), ABUTI_ARRAY(w->label_area, triangles + 2),
                       ABUTI_ARRAY(w->label_number, triangles + 2),
                       ABUTI_ARRAY(w->bins, (size_t)BINS_MAX * BINS_MAX),
                       ABUTI_ARRAY(whole->list, triangles));
    if (!status)
        status = abuti_coincident_vertices(w->source->context, mesh->positions, mesh->vertex_count,
                                           w->names);
    for (uint32_t i = 0; i < w->count && !status; i++) {
        vec3 p[3];
        get_triangle(w, i, p);
        w->area[i] = 0.5 * v3_length(v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0]))) *
                     abuti_radial_weight(w->source, w->bone, w->triangles[i]);
        w->total += w->area[i];
        whole->list[i] = i;
    }
    whole->count = w->count;
    w->part_count = 1;
    return status ? status : fit_part(w, whole);
}

abut_status abuti_radial_split(const radial_source *source, uint32_t bone,
                               const uint32_t *triangles, size_t count, double cell,
                               abuti_vector *parts) {
    split_work w = {.source = source,
                    .bone = bone,
                    .count = (uint32_t)count,
                    .triangles = triangles,
                    .cell = cell};
    abut_status status = start_split(&w);
    if (!status)
        status = split_parts(&w);
    if (!status)
        status = append_parts(&w, parts);
    for (uint32_t i = 0; i < PARTS_MAX; i++)
        abuti_release(source->context, w.parts[i].list);
    ABUTI_RELEASE(source->context, w.area, w.names, w.roots, w.numbers, w.label, w.chosen, w.side,
                  w.is_represented, w.is_marked, w.list, w.global, w.label_area, w.label_number,
                  w.bins);
    return status;
}
