/* Reads points from files and generates random ones. */
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool points_add(tool_points *points, abut_vec3 point) {
    if (!tool_grow(&points->list, points->count, &points->room, sizeof *points->list))
        return false;
    points->list[points->count++] = point;
    return true;
}

void points_free(tool_points *points) {
    free(points->list);
    memset(points, 0, sizeof *points);
}

static int fail_out_of_memory(tool_run *tool, const char *path) {
    return tool_fail_with(tool, "out of memory", "%s: out of memory", path);
}

/* ---- files of numbers ---- */

int row_read(const char *line, double *numbers, int most) {
    int count = 0;
    for (;;) {
        line += strspn(line, " \t,;\r\n");
        if (!*line || *line == '#')
            return count;
        char *end;
        double value = strtod(line, &end);
        if (end == line || !strchr(" \t,;\r\n#", *end))
            return -1;
        if (count < most)
            numbers[count] = value;
        count++;
        line = end;
    }
}

int lines_open(tool_run *tool, const char *path, tool_lines *lines) {
    const char *from = tool_input(tool, path);
    *lines = (tool_lines){.path = path};
    if (!from)
        return tool_fail(tool, ABUT_ERROR_ARGUMENT);
    lines->file = strcmp(path, "-") == 0 ? stdin : fopen(from, "r");
    return lines->file ? 0
                       : tool_fail_with(tool, "file error", "%s: cannot be opened: %s", path,
                                        strerror(errno));
}

void lines_close(tool_lines *lines) {
    if (lines->file && lines->file != stdin)
        fclose(lines->file);
}

/* Skips the rest of a comment. */
static int skip_line(tool_run *tool, const tool_lines *lines) {
    char rest[4096];
    while (fgets(rest, sizeof rest, lines->file) && !strchr(rest, '\n'))
        if (tool_cancelled())
            return tool_fail(tool, ABUT_ERROR_CANCELLED);
    return 0;
}

int lines_next(tool_run *tool, tool_lines *lines, bool *more) {
    errno = 0;
    *more = fgets(lines->line, sizeof lines->line, lines->file) != NULL;
    lines->number++;
    if (tool_cancelled())
        return tool_fail(tool, ABUT_ERROR_CANCELLED);
    if (!*more)
        return !ferror(lines->file) ? 0
                                    : tool_fail_with(tool, "file error", "%s: cannot be read: %s",
                                                     lines->path, strerror(errno ? errno : EIO));
    if (strlen(lines->line) + 1 < sizeof lines->line)
        return 0;
    if (lines->line[strspn(lines->line, " \t")] == '#')
        return skip_line(tool, lines);
    return tool_fail_with(tool, "format error", "%s:%zu: the line is longer than %zu bytes",
                          lines->path, lines->number, sizeof lines->line - 2);
}

static int read_rows(tool_run *tool, tool_lines *lines, uint32_t columns, tool_points *points) {
    const char *path = lines->path;
    int code = 0;
    bool head = true, more = true;
    while (!(code = code ? code : lines_next(tool, lines, &more)) && more) {
        double row[6];
        int count = row_read(lines->line, row, (int)columns);
        size_t number = lines->number;
        if (count == 0 || (count < 0 && head))
            head = head && count == 0; /* the first line may have column names */
        else if (count < (int)columns)
            code = tool_fail_with(tool, "format error", "%s:%zu: %s; a line has %u numbers, %s",
                                  path, number, count < 0 ? "words" : "too few numbers", columns,
                                  columns == 3 ? "x y z" : "x y z of the origin and the direction");
        else
            head = false;
        for (uint32_t i = 0; !code && count >= (int)columns && i < columns; i += 3) {
            abut_vec3 p = {row[i], row[i + 1], row[i + 2]};
            if (!(fabs(p.x) <= ABUT_COORDINATE_MAX && fabs(p.y) <= ABUT_COORDINATE_MAX &&
                  fabs(p.z) <= ABUT_COORDINATE_MAX))
                code = tool_fail_with(tool, "format error",
                                      "%s:%zu: (%g, %g, %g); coordinates must be finite and at "
                                      "most %g in magnitude",
                                      path, number, p.x, p.y, p.z, ABUT_COORDINATE_MAX);
            else if (!points_add(points, p))
                code = fail_out_of_memory(tool, path);
        }
    }
    return code;
}

int points_read(tool_run *tool, const char *path, uint32_t columns, tool_points *points) {
    tool_lines lines;
    int code = lines_open(tool, path, &lines);
    code = code ? code : read_rows(tool, &lines, columns, points);
    lines_close(&lines);
    if (!code && !points->count)
        code = tool_fail_with(tool, "format error", "%s: no rows of numbers", path);
    return code;
}

int points_load(tool_run *tool, const char *path, tool_points *points) {
    if (strcmp(path, "-") == 0 || word_in(path_ending(path), "csv|txt|xyz"))
        return points_read(tool, path, 3, points);
    abut_mesh *mesh;
    abut_status status = tool_read(tool, path, NULL, &mesh);
    if (status)
        return tool_fail(tool, status);
    abut_vec3 o = abut_mesh_local_origin(mesh);
    int code = 0;
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh) && !code; i++) {
        abut_vec3 p = abut_mesh_local_positions(mesh)[i];
        abut_vec3 absolute = {o.x + p.x, o.y + p.y, o.z + p.z};
        if (!points_add(points, absolute))
            code = fail_out_of_memory(tool, path);
    }
    abut_mesh_destroy(mesh);
    return code;
}

/* ---- at random ---- */

/* Uniform from 0 to 1 (splitmix64). */
static double random_uniform(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double random_between(uint64_t *state, double lo, double hi) {
    return lo + (hi - lo) * random_uniform(state);
}

bool points_random(const abut_mesh *mesh, size_t count, uint64_t seed, double near,
                   tool_points *points) {
    abut_box box = abut_mesh_bounds(mesh);
    abut_vec3 o = abut_mesh_local_origin(mesh);
    double x = box.hi.x - box.lo.x, y = box.hi.y - box.lo.y, z = box.hi.z - box.lo.z;
    double away = near * hypot(hypot(x, y), z) / sqrt(3);
    for (size_t i = 0; i < count; i++) {
        abut_vec3 p;
        if (near > 0) {
            const uint32_t *corner =
                abut_mesh_indices(mesh) +
                3 * (size_t)(random_uniform(&seed) * abut_mesh_triangle_count(mesh));
            double s = random_uniform(&seed), r = (1 - s) * random_uniform(&seed);
            const double weight[3] = {1 - s - r, s, r};
            p = o;
            for (int k = 0; k < 3; k++) {
                abut_vec3 v = abut_mesh_local_positions(mesh)[corner[k]];
                p.x += weight[k] * v.x;
                p.y += weight[k] * v.y;
                p.z += weight[k] * v.z;
            }
            p.x += random_between(&seed, -away, away);
            p.y += random_between(&seed, -away, away);
            p.z += random_between(&seed, -away, away);
        } else {
            p.x = random_between(&seed, box.lo.x - 0.1 * x, box.hi.x + 0.1 * x);
            p.y = random_between(&seed, box.lo.y - 0.1 * y, box.hi.y + 0.1 * y);
            p.z = random_between(&seed, box.lo.z - 0.1 * z, box.hi.z + 0.1 * z);
        }
        if (!points_add(points, p))
            return false;
    }
    return true;
}

/* ---- options ---- */

int points_choose(tool_run *tool, const tool_arguments *arguments) {
    bool random = option_given(arguments, "random") != NULL;
    if (random == (arguments->operand_count == 2))
        return tool_refuse(tool, random ? "--random cannot be combined with a file of points"
                                        : "the points are missing: name a file or use --random N");
    if (!random && (option_given(arguments, "near") || option_given(arguments, "seed")))
        return tool_refuse(tool, "--near and --seed require --random");
    return 0;
}

int points_get(tool_run *tool, const tool_arguments *arguments, const abut_mesh *mesh,
               tool_points *points) {
    const tool_given *random = option_given(arguments, "random");
    const tool_given *seed = option_given(arguments, "seed"),
                     *near = option_given(arguments, "near");
    if (!random)
        return points_load(tool, arguments->operands[1], points);
    if (!points_random(mesh, random->counts[0], seed ? seed->counts[0] : 1,
                       near ? near->numbers[0] : 0, points))
        return tool_fail_with(tool, "out of memory", "not enough memory for %u points",
                              random->counts[0]);
    return 0;
}
