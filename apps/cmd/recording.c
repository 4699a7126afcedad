/* A recording as one mesh with several components: its meshes in their order. */
#include "tool.h"

#include <string.h>

void recording_open(tool_run *tool, const tool_arguments *arguments, tool_recording *r) {
    const tool_given *picture = option_given(arguments, "picture");
    const char *path = arguments->operands[0];
    if (frames_is_folder(path))
        tool_refuse(tool, "'%s' is a folder; make a recording of it: abut convert %s motion.abutm",
                    path, path);
    ensure(abut_frames_open(tool->context, tool_input(tool, path), &r->frames));
    r->info = get_frames_info(r->frames);
    tool->up = r->info.up;
    r->aims = r->info.aims && !option_given(arguments, "frames-only");
    r->first = picture ? picture->counts[0] : option_count(arguments, "from", 1);
    r->last = picture                         ? picture->counts[0]
              : option_given(arguments, "to") ? option_count(arguments, "to", 0)
                                              : r->info.frame_count - 1;
    if (r->info.frame_count < 2)
        tool_fail_with(tool, "file error", "%s: has only one frame; a step needs two", path);
    if (r->first > r->last || r->last >= r->info.frame_count)
        tool_refuse(tool, "frames must be from 1 to %llu, with --from at most --to",
                    (unsigned long long)r->info.frame_count - 1);
    if (r->info.vertex_count > UINT32_MAX || r->info.triangle_count > UINT32_MAX)
        tool_fail_with(tool, "too large", "%s: its meshes are too large to be merged", path);
    r->indices = tool_array((size_t)r->info.triangle_count, 3 * sizeof *r->indices);
    uint32_t *into = r->indices, base = 0;
    for (uint32_t k = 0; k < r->info.mesh_count; k++) {
        const abut_mesh *mesh = abut_frames_mesh(r->frames, k);
        const uint32_t *corner = abut_mesh_indices(mesh);
        for (size_t i = 0; i < 3 * (size_t)abut_mesh_triangle_count(mesh); i++)
            *into++ = base + corner[i];
        base += abut_mesh_vertex_count(mesh);
    }
    for (int k = 0; k < 3; k++)
        r->room[k] = tool_array((size_t)r->info.vertex_count, sizeof *r->room[k]);
}

void recording_read(tool_recording *r, uint64_t frame) {
    abut_vec3 *next = r->room[1], *aims = r->aims ? r->room[2] : NULL;
    if (r->read == frame && frame) { /* the step starts at the end of the previous one */
        next = r->room[0];
        r->room[0] = r->room[1];
        r->room[1] = next;
    } else {
        ensure(abut_frames_read(r->frames, frame - 1, r->room[0], NULL));
    }
    ensure(abut_frames_read(r->frames, frame, next, aims));
    r->read = frame + 1;
    r->start = r->room[0];
    r->end = aims ? aims : next;
}

void recording_mesh(tool_run *tool, const tool_recording *r, abut_mesh **mesh) {
    *mesh = mesh_new(tool, r->start, r->info.vertex_count, r->indices, r->info.triangle_count);
}

bool recording_is(const char *path) {
    return strcmp(path_ending(path), "abutm") == 0;
}

abut_status recording_print(tool_run *tool, const char *path) {
    tool_output *out = &tool->out;
    abut_frames *frames = NULL;
    const abut_status status = abut_frames_open(tool->context, path, &frames);
    if (status)
        return status;
    const abut_frames_info info = get_frames_info(frames);
    const double length = info.seconds * (double)(info.frame_count - 1);
    print_line_of(out, path, "recording of %llu frames, %.4g s",
                  (unsigned long long)info.frame_count, length);
    json_text(out, "format", "recording");
    json_count(out, "frames", info.frame_count);
    json_number(out, "seconds_a_frame", info.seconds);
    json_number(out, "seconds", length);
    json_boolean(out, "aims", info.aims);
    json_text(out, "positions", info.type == ABUT_SCALAR_FLOAT32 ? "float" : "double");
    if (info.up.x != 0 || info.up.y != 0 || info.up.z != 0)
        json_vector(out, "up", info.up);
    else
        json_null(out, "up");
    if (!tool->quiet) {
        print_fact(out, "frames", "%llu, every %.4g s", (unsigned long long)info.frame_count,
                   info.seconds);
        print_fact(out, "positions", "%s%s",
                   info.type == ABUT_SCALAR_FLOAT32 ? "floats" : "doubles",
                   info.aims ? ", with aims" : "");
        if (info.up.x != 0 || info.up.y != 0 || info.up.z != 0)
            print_fact(out, "up", "%g, %g, %g", info.up.x, info.up.y, info.up.z);
    }
    out_table(out, "meshes");
    for (uint32_t i = 0; i < info.mesh_count && (out->json || !tool->quiet); i++) {
        const char *name = abut_frames_name(frames, i);
        const abut_mesh *mesh = abut_frames_mesh(frames, i);
        out_object(out, NULL);
        if (name || !out->json)
            fact_text(out, "mesh", name ? name : "");
        else
            json_null(out, "mesh");
        fact_count(out, "vertices", abut_mesh_vertex_count(mesh));
        fact_count(out, "triangles", abut_mesh_triangle_count(mesh));
        out_end(out);
    }
    out_end(out);
    abut_frames_close(frames);
    return ABUT_OK;
}
