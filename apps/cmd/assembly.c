/* Assemblies: the bodies of a scene file, or one body for each mesh file, or for each solid of
 * one. */
#include "apps/get.h"
#include "interfere.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- recognising scenes ---- */

/* Skips to the end of a JSON string and copies its first characters to `word`. */
static void read_word(FILE *file, char word[8]) {
    size_t length = 0;
    int c;
    while ((c = getc(file)) != EOF && c != '"') {
        if (length < 7)
            word[length++] = (char)c;
        if (c == '\\')
            (void)getc(file);
    }
    word[length] = 0;
}

/* Returns whether a file is a JSON object with a member "bodies" that does not follow a member
 * "asset", which glTF requires. */
static bool holds_scene(FILE *file) {
    char word[8] = "";
    int depth = 0, c;
    do
        c = getc(file);
    while (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == 0xef || c == 0xbb ||
           c == 0xbf); /* white space and the UTF-8 byte order mark */
    if (c != '{')
        return false;
    for (; c != EOF; c = getc(file)) {
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (c == '"')
            read_word(file, word);
        else if (c == ':' && depth == 1 && word_in(word, "bodies|asset"))
            return word[0] == 'b';
    }
    return false;
}

static bool is_scene_file(const char *path) {
    struct stat about;
    /* input from a pipe cannot be read again */
    bool regular = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    FILE *file = regular ? fopen(path, "rb") : NULL;
    bool scene = file && holds_scene(file);
    if (file)
        fclose(file);
    return scene;
}

static bool is_scene_text(const tool_text *text) {
    FILE *file = text->used ? fmemopen(text->data, text->used, "rb") : NULL;
    bool scene = file && holds_scene(file);
    if (file)
        fclose(file);
    return scene;
}

static bool is_input(const tool_arguments *arguments) {
    return arguments->operand_count == 1 && strcmp(arguments->operands[0], "-") == 0;
}

bool assembly_is_scene(const tool_arguments *arguments) {
    const char *path = arguments->operands[0];
    return arguments->operand_count == 1 && !is_input(arguments) &&
           (strcmp(path_ending(path), "json") == 0 || is_scene_file(path));
}

/* ---- from files ---- */

static int fail_out_of_memory(tool_run *tool) {
    return tool_fail_with(tool, "out of memory", "not enough memory for the bodies");
}

bool assembly_add(tool_assembly *assembly, const char *name, abut_mesh *mesh, abut_pose pose) {
    size_t bytes = strlen(name) + 1;
    char *copy = malloc(bytes);
    if (!copy ||
        !tool_grow(&assembly->bodies, assembly->count, &assembly->room, sizeof *assembly->bodies)) {
        free(copy);
        return false;
    }
    memcpy(copy, name, bytes);
    assembly->bodies[assembly->count++] =
        (abut_scene_body){.size = sizeof(abut_scene_body),
                          .name = copy,
                          .collider = abut_collider_from_mesh(mesh, pose),
                          .mesh = abut_mesh_retain(mesh),
                          .group = 1,
                          .mask = UINT32_MAX};
    return true;
}

/* The file name without folders, or with them if two files have the same name. */
static const char *file_name(const tool_arguments *arguments, size_t which) {
    const char *path = arguments->operands[which], *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    for (size_t i = 0; i < arguments->operand_count; i++) {
        const char *other = arguments->operands[i], *at = strrchr(other, '/');
        if (i != which && strcmp(at && at[1] ? at + 1 : other, name) == 0)
            return path;
    }
    return name;
}

static int add_mesh(tool_run *tool, const tool_arguments *arguments, size_t which, bool parts,
                    abut_mesh *mesh, tool_assembly *assembly) {
    abut_mesh **list = NULL;
    uint32_t count = 0, twins = 0;
    tool_text name = {0};
    int code = parts ? mesh_parts(tool, mesh, &list, &count) : 0;
    for (size_t i = 0; i < which; i++)
        twins += strcmp(arguments->operands[i], arguments->operands[which]) == 0;
    for (uint32_t i = 0; i < (parts ? count : 1) && !code; i++) {
        text_clear(&name);
        text_add(&name, file_name(arguments, which));
        if (twins)
            text_print(&name, " (%u)", twins + 1);
        if (parts)
            text_print(&name, "#%u", i);
        if (name.failed ||
            !assembly_add(assembly, name.data, parts ? list[i] : mesh, abut_pose_identity()))
            code = fail_out_of_memory(tool);
    }
    for (uint32_t i = 0; i < count; i++)
        abut_mesh_destroy(list[i]);
    free(list);
    text_free(&name);
    return code;
}

static int add_file(tool_run *tool, const tool_arguments *arguments, size_t which, bool parts,
                    tool_assembly *assembly) {
    abut_mesh *mesh = NULL;
    abut_status status = tool_read(tool, arguments->operands[which], NULL, &mesh);
    int code =
        status ? tool_fail(tool, status) : add_mesh(tool, arguments, which, parts, mesh, assembly);
    abut_mesh_destroy(mesh);
    return code;
}

/* `text` is null if the scene is in a file. */
static int add_scene(tool_run *tool, const char *path, const tool_text *text, bool parts,
                     tool_assembly *assembly) {
    if (parts)
        return tool_refuse(tool, "--parts applies to mesh files only; a scene lists its bodies");
    progress_start(tool->progress, path);
    assembly->path = path;
    abut_status status =
        text ? abut_scene_read_memory(tool->context, text->data, text->used, path, &assembly->scene)
             : abut_scene_read(tool->context, path, &assembly->scene);
    if (status)
        return tool_fail(tool, status);
    abut_scene_arrays it = get_scene_arrays(assembly->scene);
    for (uint32_t i = 0; i < it.body_count; i++) {
        abut_scene_body body = get_scene_body(assembly->scene, i);
        if (!assembly_add(assembly, body.name, body.mesh, body.collider.pose))
            return fail_out_of_memory(tool);
        body.name = assembly->bodies[i].name;
        assembly->bodies[i] = body; /* the reference was retained */
    }
    return 0;
}

/* Reads standard input as the only operand: a scene or a mesh. */
static int add_input(tool_run *tool, const tool_arguments *arguments, bool parts,
                     tool_assembly *assembly) {
    tool_text text = {0};
    abut_mesh *mesh = NULL;
    progress_start(tool->progress, "-");
    int code = input_read(tool, &text);
    if (!code && is_scene_text(&text)) {
        code = add_scene(tool, "-", &text, parts, assembly);
    } else if (!code) {
        abut_status status =
            abut_mesh_read_memory(tool->context, text.data, text.used, "-", NULL, &mesh);
        if (!status)
            tool->up = abut_mesh_up(mesh);
        code =
            status ? tool_fail(tool, status) : add_mesh(tool, arguments, 0, parts, mesh, assembly);
    }
    abut_mesh_destroy(mesh);
    text_free(&text);
    return code;
}

int assembly_load(tool_run *tool, const tool_arguments *arguments, bool parts,
                  tool_assembly *assembly) {
    int code = 0;
    *assembly = (tool_assembly){0};
    if (assembly_is_scene(arguments))
        return add_scene(tool, arguments->operands[0], NULL, parts, assembly);
    if (is_input(arguments))
        return add_input(tool, arguments, parts, assembly);
    for (size_t i = 0; i < arguments->operand_count && !code; i++) {
        if (strcmp(path_ending(arguments->operands[i]), "json") == 0)
            return tool_refuse(tool, "%s: a scene cannot be combined with other files",
                               arguments->operands[i]);
        code = add_file(tool, arguments, i, parts, assembly);
    }
    return code;
}

void assembly_free(tool_assembly *assembly) {
    for (uint32_t i = 0; i < assembly->count; i++) {
        if (assembly->bvhs && assembly->owner && assembly->owner[i] == i)
            abut_bvh_destroy(assembly->bvhs[i]);
        free((char *)assembly->bodies[i].name);
        abut_mesh_destroy(assembly->bodies[i].mesh);
    }
    free(assembly->bodies);
    free(assembly->bvhs);
    free(assembly->owner);
    abut_scene_destroy(assembly->scene);
}

void assembly_name(const tool_assembly *assembly, uint32_t body, tool_text *to) {
    const abut_scene_body *it = &assembly->bodies[body];
    if (assembly->scene) {
        text_safe(to, assembly->path);
        text_print(to, ": bodies[%u] '", body);
    }
    text_safe(to, it->name);
    text_add(to, assembly->scene ? "'" : "");
    if (it->file) {
        text_add(to, " (");
        text_safe(to, it->file);
        text_add(to, ")");
    }
}

bool assembly_should_collide(const tool_assembly *assembly, uint32_t a, uint32_t b) {
    return assembly->scene ? abut_scene_should_collide(assembly->scene, a, b) : a != b;
}

/* ---- one BVH for each mesh ---- */

typedef struct mesh_of_body {
    const abut_mesh *mesh;
    uint32_t body;
} mesh_of_body;

static int by_mesh(const void *a, const void *b) {
    const mesh_of_body *p = a, *q = b;
    if (p->mesh != q->mesh)
        return (uintptr_t)p->mesh < (uintptr_t)q->mesh ? -1 : 1;
    return p->body < q->body ? -1 : p->body > q->body;
}

int assembly_bvhs(tool_run *tool, tool_assembly *assembly) {
    uint32_t count = assembly->count;
    if (assembly->bvhs)
        return 0;
    mesh_of_body *list = malloc(((size_t)count + 1) * sizeof *list);
    assembly->owner = malloc(((size_t)count + 1) * sizeof *assembly->owner);
    assembly->bvhs = calloc((size_t)count + 1, sizeof *assembly->bvhs);
    if (!list || !assembly->owner || !assembly->bvhs) {
        free(list);
        return fail_out_of_memory(tool);
    }
    for (uint32_t i = 0; i < count; i++)
        list[i] = (mesh_of_body){assembly->bodies[i].mesh, i};
    qsort(list, count, sizeof *list, by_mesh);
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < count; i++) {
        bool first = !i || list[i].mesh != list[i - 1].mesh;
        uint32_t body = list[i].body, owner = first ? body : assembly->owner[list[i - 1].body];
        if (first && !status)
            status = abut_bvh_create(assembly->bodies[body].mesh, NULL, &assembly->bvhs[body]);
        assembly->owner[body] = owner;
        assembly->bvhs[body] = assembly->bvhs[owner];
    }
    free(list);
    return status ? tool_fail(tool, status) : 0;
}

abut_collider assembly_posed(const tool_assembly *assembly, uint32_t body) {
    return abut_collider_from_bvh(assembly->bvhs[body], assembly->bodies[body].collider.pose);
}

int assembly_world(tool_run *tool, tool_assembly *assembly, const abut_world_options *options,
                   abut_world **world) {
    int code = assembly_bvhs(tool, assembly);
    if (code)
        return code;
    abut_scene_arrays it = get_scene_arrays(assembly->scene);
    abut_status status = abut_world_create(tool->context, options, world);
    for (uint32_t i = 0; i < assembly->count && !status; i++) {
        const abut_scene_body *body = &assembly->bodies[i];
        abut_world_item item = {.size = sizeof(abut_world_item),
                                .collider = assembly_posed(assembly, i),
                                .group = body->group,
                                .mask = body->mask};
        uint32_t id;
        status = abut_world_add(*world, &item, &id);
    }
    for (uint64_t i = 0; i < it.ignored_count && !status; i++)
        status = abut_world_ignore(*world, it.ignored[i].a, it.ignored[i].b, true);
    return status ? tool_fail(tool, status) : 0;
}

/* ---- for pictures ---- */

abut_status assembly_draw(abut_picture *picture, const tool_assembly *assembly, uint32_t body,
                          abut_colour colour) {
    abut_mesh_style style = abut_mesh_style_default();
    style.smooth = true;
    style.colour = colour;
    return abut_picture_add_mesh(picture, assembly->bodies[body].mesh,
                                 assembly->bodies[body].collider.pose, &style);
}
