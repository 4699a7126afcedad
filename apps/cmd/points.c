/* Reads points from files and generates random ones. */
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void points_add(tool_points *points, abut_vec3 point) {
    tool_grow(&points->list, points->count, &points->room, sizeof *points->list);
    points->list[points->count++] = point;
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

void lines_open(tool_run *tool, const char *path, tool_lines *lines) {
    const char *from = tool_input(tool, path);
    *lines = (tool_lines){.path = path};
    if (!from)
        tool_fail(tool, ABUT_ERROR_ARGUMENT);
    lines->file = strcmp(path, "-") == 0 ? stdin : fopen(from, "r");
    if (!lines->file)
        tool_fail_with(tool, "file error", "%s: cannot be opened: %s", path, strerror(errno));
}

void lines_close(tool_lines *lines) {
    if (lines->file && lines->file != stdin)
        fclose(lines->file);
}

/* Skips the rest of a comment. */
static void skip_line(tool_run *tool, const tool_lines *lines) {
    char rest[4096];
    while (fgets(rest, sizeof rest, lines->file) && !strchr(rest, '\n'))
        if (tool_cancelled())
            tool_fail(tool, ABUT_ERROR_CANCELLED);
}

void lines_next(tool_run *tool, tool_lines *lines, bool *more) {
    errno = 0;
    *more = fgets(lines->line, sizeof lines->line, lines->file) != NULL;
    lines->number++;
    if (tool_cancelled())
        tool_fail(tool, ABUT_ERROR_CANCELLED);
    if (!*more) {
        if (ferror(lines->file))
            tool_fail_with(tool, "file error", "%s: cannot be read: %s", lines->path,
                           strerror(errno ? errno : EIO));
        return;
    }
    if (strlen(lines->line) + 1 < sizeof lines->line)
        return;
    if (lines->line[strspn(lines->line, " \t")] == '#') {
        skip_line(tool, lines);
        return;
    }
    tool_fail_with(tool, "format error", "%s:%zu: the line is longer than %zu bytes", lines->path,
                   lines->number, sizeof lines->line - 2);
}

int lines_row(tool_run *tool, tool_lines *lines, double *numbers, int most) {
    for (bool more;;) {
        lines_next(tool, lines, &more);
        if (!more)
            return 0;
        const int count = row_read(lines->line, numbers, most);
        const bool names = count < 0 && !lines->has_rows;
        lines->has_rows = lines->has_rows || count != 0;
        if (count && !names)
            return count;
    }
}

void points_read(tool_run *tool, const char *path, uint32_t columns, tool_points *points) {
    tool_lines lines;
    double row[6];
    lines_open(tool, path, &lines);
    for (int count; (count = lines_row(tool, &lines, row, (int)columns));) {
        if (count < (int)columns)
            tool_fail_with(tool, "format error", "%s:%zu: %s; a line has %u numbers, %s", path,
                           lines.number, count < 0 ? "words" : "too few numbers", columns,
                           columns == 3 ? "x y z" : "x y z of the origin and the direction");
        for (uint32_t i = 0; i < columns; i += 3) {
            abut_vec3 p = vec_of(row + i);
            if (!(fabs(p.x) <= ABUT_COORDINATE_MAX && fabs(p.y) <= ABUT_COORDINATE_MAX &&
                  fabs(p.z) <= ABUT_COORDINATE_MAX))
                tool_fail_with(
                    tool, "format error",
                    "%s:%zu: (%g, %g, %g); coordinates must be finite and at most %g in magnitude",
                    path, lines.number, p.x, p.y, p.z, ABUT_COORDINATE_MAX);
            points_add(points, p);
        }
    }
    lines_close(&lines);
    if (!points->count)
        tool_fail_with(tool, "format error", "%s: no rows of numbers", path);
}

void points_load(tool_run *tool, const char *path, tool_points *points) {
    if (strcmp(path, "-") == 0 || word_in(path_ending(path), "csv|txt|xyz")) {
        points_read(tool, path, 3, points);
        return;
    }
    abut_mesh *mesh = mesh_read(tool, path);
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++)
        points_add(points, mesh_point(mesh, i));
    abut_mesh_destroy(mesh);
}

/* ---- at random ---- */

double random_uniform(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

double random_between(uint64_t *state, double lo, double hi) {
    return lo + (hi - lo) * random_uniform(state);
}

void points_random(const abut_mesh *mesh, size_t count, uint64_t seed, double near,
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
            for (int k = 0; k < 3; k++)
                p = vec_along(p, weight[k], abut_mesh_local_positions(mesh)[corner[k]]);
            p.x += random_between(&seed, -away, away);
            p.y += random_between(&seed, -away, away);
            p.z += random_between(&seed, -away, away);
        } else {
            p.x = random_between(&seed, box.lo.x - 0.1 * x, box.hi.x + 0.1 * x);
            p.y = random_between(&seed, box.lo.y - 0.1 * y, box.hi.y + 0.1 * y);
            p.z = random_between(&seed, box.lo.z - 0.1 * z, box.hi.z + 0.1 * z);
        }
        points_add(points, p);
    }
}

/* ---- options ---- */

void points_choose(tool_run *tool, const tool_arguments *arguments) {
    bool random = option_given(arguments, "random") != NULL;
    if (random == (arguments->operand_count == 2))
        tool_refuse(tool, random ? "--random cannot be combined with a file of points"
                                 : "the points are missing: name a file or use --random N");
    if (!random && option_any(arguments, "near|seed"))
        tool_refuse(tool, "--near and --seed require --random");
}

void points_get(tool_run *tool, const tool_arguments *arguments, const abut_mesh *mesh,
                tool_points *points) {
    const tool_given *random = option_given(arguments, "random");
    if (!random) {
        points_load(tool, arguments->operands[1], points);
        return;
    }
    points_random(mesh, random->counts[0], option_count(arguments, "seed", 1),
                  option_number(arguments, "near", 0), points);
}
