/* Assemblies: the bodies of a scene file, or one body for each mesh file, or for each solid of
 * one. */
#include "apps/get.h"
#include "interfere.h"

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

void assembly_add(tool_assembly *assembly, const char *name, abut_mesh *mesh, abut_pose pose) {
    tool_grow(&assembly->bodies, assembly->count, &assembly->room, sizeof *assembly->bodies);
    assembly->bodies[assembly->count++] =
        (abut_scene_body){.size = sizeof(abut_scene_body),
                          .name = tool_copy(name),
                          .collider = abut_collider_from_mesh(mesh, pose),
                          .mesh = abut_mesh_retain(mesh),
                          .group = 1,
                          .mask = UINT32_MAX};
}

/* The file name without folders, or with them if two files have the same name. */
static const char *file_name(const tool_arguments *arguments, size_t which) {
    const char *path = arguments->operands[which];
    for (size_t i = 0; i < arguments->operand_count; i++)
        if (i != which && strcmp(path_name(arguments->operands[i]), path_name(path)) == 0)
            return path;
    return path_name(path);
}

static void add_mesh(const tool_arguments *arguments, size_t which, bool parts, abut_mesh *mesh,
                     tool_assembly *assembly) {
    abut_mesh_list solids = {.list = &mesh, .count = 1};
    uint32_t twins = 0;
    tool_text name = {0};
    if (parts) {
        solids.capacity = abut_mesh_triangle_count(mesh);
        solids.list = tool_array(solids.capacity, sizeof *solids.list);
        ensure(abut_mesh_split(mesh, &solids));
    }
    for (size_t i = 0; i < which; i++)
        twins += strcmp(arguments->operands[i], arguments->operands[which]) == 0;
    for (uint32_t i = 0; i < solids.count; i++) {
        text_clear(&name);
        text_add(&name, file_name(arguments, which));
        if (twins)
            text_print(&name, " (%u)", twins + 1);
        if (parts)
            text_print(&name, "#%u", i);
        assembly_add(assembly, name.data, solids.list[i], abut_pose_identity());
    }
    for (uint32_t i = 0; parts && i < solids.count; i++)
        abut_mesh_destroy(solids.list[i]);
}

/* `text` is null if the scene is in a file. */
static void add_scene(tool_run *tool, const char *path, const tool_text *text, bool parts,
                      tool_assembly *assembly) {
    if (parts)
        tool_refuse(tool, "--parts applies to mesh files only; a scene lists its bodies");
    abut_scene_options options = abut_scene_options_default();
    options.create_character = abut_character_create_named;
    options.create_garment = abut_garment_create_named;
    progress_start(tool->progress, path);
    assembly->path = path;
    if (text)
        ensure(abut_scene_read_memory(tool->context, text->data, text->used, path, &options,
                                      &assembly->scene));
    else
        ensure(abut_scene_read(tool->context, path, &options, &assembly->scene));
    abut_scene_arrays it = get_scene_arrays(assembly->scene);
    tool->up = it.up;
    for (uint32_t i = 0; i < it.body_count; i++) {
        abut_scene_body body = get_scene_body(assembly->scene, i);
        assembly_add(assembly, body.name, body.mesh, body.collider.pose);
        body.name = assembly->bodies[i].name;
        assembly->bodies[i] = body; /* the reference was retained */
    }
}

/* Reads standard input as the only operand: a scene or a mesh. */
static void add_input(tool_run *tool, const tool_arguments *arguments, bool parts,
                      tool_assembly *assembly) {
    tool_text text = {0};
    abut_mesh *mesh = NULL;
    progress_start(tool->progress, "-");
    input_read(tool, &text);
    if (is_scene_text(&text)) {
        add_scene(tool, "-", &text, parts, assembly);
    } else {
        ensure(abut_mesh_read_memory(tool->context, text.data, text.used, "-", NULL, &mesh));
        tool->up = abut_mesh_up(mesh);
        add_mesh(arguments, 0, parts, mesh, assembly);
    }
    abut_mesh_destroy(mesh);
}

void assembly_load(tool_run *tool, const tool_arguments *arguments, bool parts,
                   tool_assembly *assembly) {
    *assembly = (tool_assembly){0};
    if (assembly_is_scene(arguments)) {
        add_scene(tool, arguments->operands[0], NULL, parts, assembly);
        return;
    }
    if (is_input(arguments)) {
        add_input(tool, arguments, parts, assembly);
        return;
    }
    for (size_t i = 0; i < arguments->operand_count; i++) {
        if (strcmp(path_ending(arguments->operands[i]), "json") == 0)
            tool_refuse(tool, "%s: a scene cannot be combined with other files",
                        arguments->operands[i]);
        abut_mesh *mesh = mesh_read(tool, arguments->operands[i]);
        add_mesh(arguments, i, parts, mesh, assembly);
        abut_mesh_destroy(mesh);
    }
}

void assembly_free(tool_assembly *assembly) {
    for (uint32_t i = 0; i < assembly->count; i++) {
        if (assembly->bvhs && assembly->owner && assembly->owner[i] == i)
            abut_bvh_destroy(assembly->bvhs[i]);
        abut_mesh_destroy(assembly->bodies[i].mesh);
    }
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

void assembly_bvhs(tool_assembly *assembly) {
    uint32_t count = assembly->count;
    if (assembly->bvhs)
        return;
    mesh_of_body *list = tool_array((size_t)count + 1, sizeof *list);
    assembly->owner = tool_array((size_t)count + 1, sizeof *assembly->owner);
    assembly->bvhs = tool_array((size_t)count + 1, sizeof *assembly->bvhs);
    for (uint32_t i = 0; i < count; i++)
        list[i] = (mesh_of_body){assembly->bodies[i].mesh, i};
    qsort(list, count, sizeof *list, by_mesh);
    for (uint32_t i = 0; i < count; i++) {
        bool first = !i || list[i].mesh != list[i - 1].mesh;
        uint32_t body = list[i].body, owner = first ? body : assembly->owner[list[i - 1].body];
        if (first)
            ensure(abut_bvh_create(assembly->bodies[body].mesh, NULL, &assembly->bvhs[body]));
        assembly->owner[body] = owner;
        assembly->bvhs[body] = assembly->bvhs[owner];
    }
}

abut_collider assembly_posed(const tool_assembly *assembly, uint32_t body) {
    return abut_collider_from_bvh(assembly->bvhs[body], assembly->bodies[body].collider.pose);
}

void assembly_world(tool_run *tool, tool_assembly *assembly, const abut_world_options *options,
                    abut_world **world) {
    assembly_bvhs(assembly);
    abut_scene_arrays it = get_scene_arrays(assembly->scene);
    ensure(abut_world_create(tool->context, options, world));
    for (uint32_t i = 0; i < assembly->count; i++) {
        const abut_scene_body *body = &assembly->bodies[i];
        abut_world_item item = {.size = sizeof(abut_world_item),
                                .collider = assembly_posed(assembly, i),
                                .group = body->group,
                                .mask = body->mask};
        uint32_t id;
        ensure(abut_world_add(*world, &item, &id));
    }
    for (uint64_t i = 0; i < it.ignored_count; i++)
        ensure(abut_world_ignore(*world, it.ignored[i].a, it.ignored[i].b, true));
}

/* ---- for pictures ---- */

void assembly_draw(abut_picture *picture, const tool_assembly *assembly, uint32_t body,
                   abut_colour colour) {
    const abut_scene_body *it = &assembly->bodies[body];
    picture_body(picture, it->mesh, it->collider.pose, colour, colour.a);
}
