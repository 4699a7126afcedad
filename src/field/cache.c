/* Fields that were built before, from disk.
 *
 * A field is found by what was asked for: the digest of the mesh names the file, and a digest of
 * all that changes values (the grid and the band as they were worked out, so that two ways to ask
 * for the same field find the same one) the field in it. It is then held against the question once
 * more. A cache only ever saves time: what cannot be found, read or believed is told and built, and
 * what cannot be kept is told and given to the caller all the same.
 */
#include "field/cache.h"

#include "base/system.h"

#include <errno.h>

bool abuti_cache_folder(const char *given, char *folder, size_t bytes) {
    if (given[0]) {
        int length = snprintf(folder, bytes, "%s", given);
        return length > 0 && (size_t)length < bytes;
    }
    if (!abuti_folder_own(folder, bytes))
        return false;
    size_t used = strlen(folder);
    int length = snprintf(folder + used, bytes - used, "/fields");
    return length > 0 && (size_t)length < bytes - used;
}

/* ---- where ---- */

static void key_of(const abut_mesh *mesh, const abut_field_options *o, const abut_grid *grid,
                   double band, unsigned char key[ABUTI_DIGEST_BYTES]) {
    const vec3 from = mesh->origin; /* values are rounded relative to it */
    const double lengths[] = {grid->origin.x, grid->origin.y, grid->origin.z, grid->cell,
                              band,           from.x,         from.y,         from.z};
    const uint32_t numbers[] = {grid->count[0], grid->count[1],    grid->count[2],
                                o->layout,      (uint32_t)o->type, (uint32_t)o->sign};
    abuti_digest sum;
    abuti_digest_begin(&sum);
    abuti_digest_text(&sum, abut_version()); /* another one may round in another way */
    abuti_digest_add(&sum, lengths, sizeof lengths);
    abuti_digest_add(&sum, numbers, sizeof numbers);
    abuti_digest_end(&sum, key);
}

void abuti_cache_file_path(abut_context *context, const char *folder, const unsigned char *digest,
                           const char *ending, char path[CACHE_PATH_BYTES]) {
    char name[ABUTI_HEX_BYTES];
    bool there = abuti_cache_folder(folder, path, CACHE_PATH_BYTES);
    if (there) {
        abuti_folder_name(digest, name);
        size_t used = strlen(path), room = CACHE_PATH_BYTES - used;
        int length = snprintf(path + used, room, "/%s%s", name, ending);
        if (length > 0 && (size_t)length < room) {
            if (!abuti_folder_is_usable(context, path))
                path[0] = 0;
            return;
        }
    }
    path[0] = 0;
    if (there || folder[0])
        abuti_log(context, ABUT_LOG_WARNING,
                  "the folder of the cache has too long a name; nothing is kept");
}

/* ---- in ---- */

/* Whether a field is the one that was asked for. The method of signs was chosen by the mesh where
 * it was left open. */
static bool is_wanted(const abut_field *field, const abut_field_options *o, const abut_grid *grid,
                      double band) {
    const abut_grid *g = &field->grid;
    return field->layout == o->layout && field->type == o->type &&
           (o->sign == ABUT_SIGN_AUTO || field->sign == o->sign) && field->band == band &&
           g->cell == grid->cell && g->origin.x == grid->origin.x &&
           g->origin.y == grid->origin.y && g->origin.z == grid->origin.z &&
           memcmp(g->count, grid->count, sizeof g->count) == 0;
}

static abut_status read_cached_field(const cache_place *place, abut_mesh *mesh,
                                     const abut_field_options *o, const abut_grid *grid,
                                     double band, abut_field **field) {
    cache_file file;
    abut_field *made = NULL;
    abut_status status = abuti_cache_file_open(&file, mesh->context, place->path);
    if (status)
        return status;
    const cache_item *item = abuti_cache_file_find(&file, place->key);
    if (memcmp(file.mesh, place->mesh, sizeof file.mesh) != 0)
        status = abuti_fail(ABUT_ERROR_FORMAT, "%s: is that of another mesh", place->path);
    else if (item)
        status = abuti_cache_file_load(&file, item, &made);
    if (!status && made && !is_wanted(made, o, grid, band))
        status = abuti_fail(ABUT_ERROR_FORMAT, "%s: has another field in the place of this one",
                            place->path);
    abuti_cache_file_close(&file);
    if (status)
        abut_field_destroy(made);
    else if (made) {
        made->mesh = abut_mesh_retain(mesh);
        *field = made;
    }
    return status;
}

abut_status abuti_cache_recall(abut_mesh *mesh, const abut_field_options *o, cache_place *place,
                               abut_field **field) {
    abut_grid grid;
    double band;
    abut_status status = abuti_field_plan(mesh, o, &grid, &band);
    if (status)
        return status;
    abuti_mesh_digest(mesh, place->mesh);
    key_of(mesh, o, &grid, band, place->key);
    abuti_cache_file_path(mesh->context, o->cache, place->mesh, CACHE_ENDING, place->path);
    if (!place->path[0] || (access(place->path, F_OK) != 0 && errno == ENOENT))
        return ABUT_OK;
    status = read_cached_field(place, mesh, o, &grid, band, field);
    if (status == ABUT_ERROR_MEMORY || status == ABUT_ERROR_CANCELLED)
        return status;
    if (status)
        abuti_log(mesh->context, ABUT_LOG_WARNING, "the field is built, since the cache is bad: %s",
                  abut_last_error());
    else
        abuti_system_touch(place->path); /* used now */
    return ABUT_OK;
}

/* ---- out ---- */

void abuti_cache_keep(const cache_place *place, const abut_field *field) {
    if (!place->path[0])
        return;
    if (abuti_cache_file_add(field->context, place->path, place->mesh, place->key, field))
        abuti_log(field->context, ABUT_LOG_WARNING, "the field is not kept in the cache: %s",
                  abut_last_error());
}
