/* Private types and functions of the picture module.
 *
 * A render has these stages: gather all items into one scene in camera space (scene.c, camera.c,
 * normals.c); sort them into square tiles (bins.c); compute the depth in the centre of each pixel
 * (cover.c), ambient occlusion from it (occlusion.c) and the shadow on the floor (ground.c); then
 * draw tile by tile with 16 samples per pixel (render.c, with cover.c, marks.c, glass.c, shade.c).
 * Tiles are independent, so that any number of threads gives the same bytes.
 */
#ifndef ABUTI_PICTURE_H
#define ABUTI_PICTURE_H

#include "base/base.h"
#include "base/math_shared.h"
#include "mesh/mesh.h"
#include "raster/raster.h"

#include <abut/picture.h>

#include <stdatomic.h>

/* ---- float vectors, for everything after the camera transformation ---- */

typedef struct f3 {
    float x, y, z;
} f3;

static inline f3 f3_make(float x, float y, float z) {
    return (f3){x, y, z};
}
static inline f3 f3_of(vec3 v) {
    return (f3){(float)v.x, (float)v.y, (float)v.z};
}
static inline f3 f3_add(f3 a, f3 b) {
    return (f3){a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline f3 f3_sub(f3 a, f3 b) {
    return (f3){a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline f3 f3_scale(f3 a, float s) {
    return (f3){a.x * s, a.y * s, a.z * s};
}
static inline f3 f3_mix(f3 a, f3 b, float t) {
    return (f3){a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z)};
}
static inline float f3_dot(f3 a, f3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline f3 f3_cross(f3 a, f3 b) {
    return (f3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
/* Zero for zero. Only for vectors of ordinary size. */
static inline f3 f3_normalise(f3 a) {
    float length = sqrtf(f3_dot(a, a));
    return length > 0 ? f3_scale(a, 1 / length) : a;
}
/* fminf and fmaxf are library calls, because they must handle NaN. */
static inline float float_min(float a, float b) {
    return b < a ? b : a;
}
static inline float float_max(float a, float b) {
    return a < b ? b : a;
}
static inline float float_clamp(float x, float lo, float hi) {
    return x < lo ? lo : hi < x ? hi : x;
}
static inline float smooth_step(float lo, float hi, float x) {
    float t = float_clamp((x - lo) / (hi - lo), 0, 1);
    return t * t * (3 - 2 * t);
}

/* ---- the object ---- */

/* A colour in linear light, with its opacity. */
typedef struct paint {
    f3 colour;
    float alpha;
} paint;

typedef struct picture_item {
    abut_mesh *mesh; /* reference */
    mat3 rotation;
    vec3 translation;
    paint paint;
    paint *triangle_paint; /* one per triangle, or null */
    bool edges, smooth, two_sided;
    abut_pose pose;               /* this and the following members as passed by the caller */
    abut_colour colour;           /* from the palette if the caller passed none */
    abut_colour *triangle_colour; /* one per triangle, or null */
} picture_item;

/* A line, or a point if both ends are equal. */
typedef struct picture_mark {
    vec3 from, to;
    float width;
    bool is_point;
    paint paint;
    abut_colour colour; /* as passed by the caller, or ink */
} picture_mark;

struct abut_picture {
    abut_context *context; /* reference */
    abut_picture_options options;
    picture_item *items;
    picture_mark *marks;
    size_t item_count, item_room, mark_count, mark_room;
    size_t palette_next;
    uint64_t triangle_count, vertex_count; /* of all items */
};

paint abuti_paint_of(abut_colour colour);
/* The colour of back faces: warm for cool colours and vice versa. Blue and orange are the pair that
 * is distinguishable with all kinds of colour vision. */
f3 abuti_back_colour(f3 front);

/* Draws into newly allocated memory of width x height x 4 bytes. */
abut_status abuti_picture_draw(abut_picture *picture, uint8_t **pixels);

/* ---- camera ---- */

/* Scene coordinates: (absolute coordinates - centre) x scale, so that everything lies within a ball
 * of about radius 1. Camera coordinates: scene coordinates along `axes` (right, up, towards the
 * camera). Screen coordinates: x right and y down in pixels, and the nearness
 *     q = d z / (d - z)   with d the distance of the eye from the centre.
 * q is affine in 1 / (d - z), and therefore linear over the screen. For a distant eye it tends to
 * z, so that floats suffice. The orthographic camera has d = infinity and q = z. */
typedef struct picture_camera {
    vec3 centre;
    double scale;
    mat3 axes;
    double eye_x, eye_y, distance;  /* distance is 0 for orthographic */
    double focal;                   /* pixels per unit, at unit distance if perspective */
    double half_width, half_height; /* image position of the optical axis, pixels */
    vec3 world_up;                  /* from the options, unit */
    double floor;                   /* smallest scene coordinate along world_up */
    bool ground;                    /* requested, and seen from above */
} picture_camera;

abut_status abuti_camera_check(const abut_picture_options *options);
/* Computes the camera that frames everything. */
abut_status abuti_camera_frame(const abut_picture *picture, picture_camera *out);
/* The map from positions of an item's mesh to camera coordinates. */
void abuti_camera_item(const picture_camera *camera, const picture_item *item, mat3 *to_camera,
                       vec3 *offset);
vec3 abuti_camera_point(const picture_camera *camera, vec3 absolute);

static inline f3 camera_project(const picture_camera *camera, vec3 p) {
    double x = p.x - camera->eye_x, y = p.y - camera->eye_y, q = p.z;
    if (camera->distance > 0) {
        double w = camera->distance - p.z;
        x /= w;
        y /= w;
        q = camera->distance * p.z / w;
    }
    return f3_make((float)(camera->half_width + camera->focal * x),
                   (float)(camera->half_height - camera->focal * y), (float)q);
}
/* The inverse projection, from the screen to camera coordinates. */
typedef struct unprojection {
    float half_width, half_height, eye_x, eye_y;
    float distance; /* 0 = orthographic */
    float pixel;    /* size of a pixel at the centre of the scene */
} unprojection;
unprojection abuti_camera_back(const picture_camera *camera);
static inline f3 unproject(const unprojection *u, float x, float y, float q) {
    float shrink = u->distance > 0 ? u->distance / (q + u->distance) : 1; /* w / distance */
    return f3_make(u->eye_x + (x - u->half_width) * u->pixel * shrink,
                   u->eye_y - (y - u->half_height) * u->pixel * shrink, q * shrink);
}
/* Unit vector from a point (camera coordinates) to the eye. */
static inline f3 view_vector(const unprojection *u, f3 p) {
    if (!(u->distance > 0))
        return f3_make(0, 0, 1);
    return f3_normalise(f3_make(u->eye_x - p.x, u->eye_y - p.y, u->distance - p.z));
}

/* ---- the scene of one render ---- */

#define NO_TRIANGLE UINT32_MAX
#define EMPTY_DEPTH (-FLT_MAX)

typedef struct scene_item {
    paint paint;
    f3 back; /* colour of back faces */
    const paint *triangle_paint;
    uint32_t first_triangle;
    const f3 *corner_normals; /* 3 per triangle, camera coordinates; null = flat */
    bool edges, two_sided;
} scene_item;

typedef struct scene_mark {
    f3 from, to; /* screen */
    float radius;
    bool is_point;
    paint paint;
} scene_mark;

typedef struct picture_scene {
    abut_context *context;
    const abut_picture_options *options;
    uint32_t width, height;
    raster_lens lens; /* for triangles whose corners are in screen coordinates */
    picture_camera camera;
    unprojection back;
    scene_item *items;
    size_t item_count;
    f3 *screen;        /* one per vertex */
    uint32_t *corners; /* 3 per triangle, indices into `screen` */
    uint32_t *triangle_item;
    f3 *face_normals; /* camera coordinates, zero if degenerate */
    f3 *corner_normals;
    uint8_t *creases; /* 3 per triangle, for the edge opposite to each corner */
    size_t vertex_count, triangle_count;
    uint32_t *opaque, *glass; /* triangle indices; glass from far to near */
    size_t opaque_count, glass_count;
    scene_mark *marks;
    size_t mark_count;
    float *depth;          /* nearness in the centre of each pixel */
    uint8_t *enclosure;    /* ambient occlusion in the centre of each pixel; 0 = open, 255 = fully
                              enclosed */
    struct shadow *shadow; /* null without floor */
} picture_scene;

abut_status abuti_scene_create(const abut_picture *picture, picture_scene *out);
void abuti_scene_destroy(picture_scene *scene);

static inline paint triangle_paint_of(const picture_scene *scene, uint32_t triangle) {
    const scene_item *item = &scene->items[scene->triangle_item[triangle]];
    if (item->triangle_paint)
        return item->triangle_paint[triangle - item->first_triangle];
    return item->paint;
}

/* Finds creases and boundary edges, 3 flags per triangle, each for the edge opposite to a corner.
 * If `corners` is not null, also computes corner normals: angle-weighted over the faces around the
 * vertex that are connected without a crease. Vertices at equal positions count as one. `faces` are
 * unit normals, or zero. */
abut_status abuti_corner_normals(abut_context *context, const abut_mesh *mesh, const f3 *faces,
                                 uint8_t *creases, f3 *corners);

/* Bits that compare as unsigned integers like the float. */
static inline uint32_t ordered_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* ---- bins ---- */

#define TILE 32 /* pixels; the samples of a tile fit the second-level cache */
#define TILE_PIXELS (TILE * TILE)

/* Lists of the elements that overlap each tile, in ascending order. Elements that overlap more than
 * WIDE_TILES tiles are listed once for all tiles, so that memory is linear. */
#define WIDE_TILES 16
typedef struct bins {
    size_t columns, rows;
    size_t *begin; /* elements of tile i: [begin[i], begin[i + 1]) */
    uint32_t *members, *wide;
    size_t wide_count;
} bins;
/* Screen bounding box of an element in pixels: x0, y0, x1, y1. */
typedef void (*bins_box)(const picture_scene *scene, uint32_t thing, float box[4]);
/* Element i is things[i], or i if `things` is null; the lists contain i. */
abut_status abuti_bins_create(const picture_scene *scene, size_t count, const uint32_t *things,
                              bins_box box_of, bins *out);
void abuti_bins_destroy(abut_context *context, bins *bins);

/* Iterates over the elements of a tile in ascending order, by merging both lists:
 *     for (bin_iterator it = abuti_bins_begin(bins, tile); bin_has_next(&it);) ... bin_next(&it) */
typedef struct bin_iterator {
    const uint32_t *member, *member_end, *wide, *wide_end;
} bin_iterator;
bin_iterator abuti_bins_begin(const bins *bins, size_t tile);
static inline bool bin_has_next(const bin_iterator *walk) {
    return walk->member < walk->member_end || walk->wide < walk->wide_end;
}
static inline uint32_t bin_next(bin_iterator *walk) {
    if (walk->wide < walk->wide_end &&
        (walk->member == walk->member_end || *walk->wide < *walk->member))
        return *walk->wide++;
    return *walk->member++;
}

/* ---- coverage ---- */

#define SAMPLES 16
#define COVER_BITS 24 /* precision of corners */

/* Sample positions within a pixel: Hammersley points, one in each row, each column and each square
 * of a 4 x 4 grid. */
#define SAMPLE_ROW(i) (((i)&1) << 3 | ((i)&2) << 1 | ((i)&4) >> 1 | ((i)&8) >> 3)
#define SAMPLE_X(i) (((float)(i) + 0.5f) / SAMPLES)
#define SAMPLE_Y(i) (((float)SAMPLE_ROW(i) + 0.5f) / SAMPLES)

/* A triangle prepared for rasterisation in a part of an image, in pixels of that part. */
typedef struct cover_setup {
    raster_side side[3]; /* in units in which steps between samples are integers */
    int64 most[3];       /* largest increase of the edge function from the centre to a sample */
    double q, qx, qy;    /* nearness in the centre of pixel x, y: q + qx x + qy y, */
    float q_lo, q_hi;    /* clamped to the range of the corners */
    int x0, y0, x1, y1;  /* bounding box in pixels, inclusive */
} cover_setup;

void abuti_triangle_box(const picture_scene *scene, uint32_t triangle, float box[4]);
/* Returns false if the triangle covers nothing in the rectangle `in`. Corners are in pixels, and
 * not beyond lens->guard: those of a scene are in the image, see camera.c. */
bool abuti_cover_setup(const raster_lens *lens, f3 a, f3 b, f3 c, raster_rect in,
                       cover_setup *setup);
/* The same for the tile that starts at this pixel. */
bool abuti_cover_triangle(const picture_scene *scene, uint32_t triangle, int tile_x, int tile_y,
                          cover_setup *setup);

/* The nearest triangle of every sample of a tile. */
typedef struct visibility {
    float depth[TILE_PIXELS][SAMPLES];
    uint32_t triangle[TILE_PIXELS][SAMPLES];
} visibility;
void abuti_cover_visible(const cover_setup *setup, uint32_t triangle, visibility *out);
/* One sample per pixel, in its centre. */
void abuti_cover_middle(const cover_setup *setup, float depth[TILE_PIXELS]);
/* Bits of the samples of pixel (x, y) that are inside the triangle and nearer than `depth`. */
unsigned abuti_cover_mask(const cover_setup *setup, int x, int y, const float depth[SAMPLES]);
/* Nearness in the centre of a pixel. */
static inline float cover_depth(const cover_setup *setup, int x, int y) {
    return float_clamp((float)(setup->q + setup->qx * x + setup->qy * y), setup->q_lo, setup->q_hi);
}
/* Change of nearness per pixel on the surface, for lines that lie on it. */
float abuti_cover_slope(const picture_scene *scene, uint32_t triangle);

/* ---- shading ---- */

extern const f3 abuti_ink; /* colour of edges, and of lines without a colour */

/* Data for shading points of one triangle. */
typedef struct shade_setup {
    const picture_scene *scene;
    f3 origin; /* first corner on the screen */
    float bx[2],
        by[2]; /* gradients of the barycentric coordinates of corners 1 and 2 over the screen */
    float q[3], perspective[3];
    f3 normal[3];
    f3 colour;
    float alpha;
    bool flat, back;
    bool lined;                       /* some edge is drawn */
    float height[3], ink[3], half[3]; /* of the edge opposite to corner k: distance of the corner in
                                         pixels, strength, half the line width */
} shade_setup;
void abuti_shade_setup(const picture_scene *scene, uint32_t triangle, shade_setup *setup);
/* The colour of the surface in the mean position of the samples in `mask`, without edges. */
f3 abuti_shade_middle(const shade_setup *setup, unsigned mask, float x, float y);
/* Coverage of a point by the ink of edges, 0 to 1. */
float abuti_shade_edges(const shade_setup *setup, float x, float y);
/* The background, including the shadow on the floor. */
f3 abuti_background(const picture_scene *scene, float x, float y);
/* Unit vector towards the key light, camera coordinates. */
f3 abuti_key_light(void);

/* ---- occlusion and shadow ---- */

/* Computes scene->enclosure from scene->depth. */
abut_status abuti_occlusion(picture_scene *scene);
/* Computes scene->shadow. */
abut_status abuti_shadow_create(picture_scene *scene);
void abuti_shadow_destroy(abut_context *context, struct shadow *shadow);
/* 0 = lit, 1 = dark, at a point of the floor in camera coordinates. */
float abuti_shadow_at(const struct shadow *shadow, f3 place);
/* Nearness of the floor at a screen position; EMPTY_DEPTH if the ray does not reach it. */
float abuti_floor_depth(const picture_scene *scene, float x, float y);

/* ---- one tile ---- */

typedef f3 sample_colours[TILE_PIXELS][SAMPLES];

/* The nearest line or point of each sample in front of the surfaces, and the nearest one behind
 * them. */
typedef struct mark_layer {
    float depth[TILE_PIXELS][SAMPLES], hidden_depth[TILE_PIXELS][SAMPLES];
    uint32_t mark[TILE_PIXELS][SAMPLES], hidden[TILE_PIXELS][SAMPLES]; /* or NO_TRIANGLE */
} mark_layer;
void abuti_marks_box(const picture_scene *scene, uint32_t mark, float box[4]);
void abuti_marks_find(const picture_scene *scene, const bins *marks, size_t tile, int tile_x,
                      int tile_y, const visibility *surfaces, mark_layer *layer);
/* Draws those in front of the surfaces, or faintly those behind. */
void abuti_marks_draw(const picture_scene *scene, const mark_layer *layer, int tile_x, int tile_y,
                      bool hidden, sample_colours colours);

/* Draws transparent triangles over the existing colours. `room` is scratch memory. */
#define GLASS_FRAGMENTS 65536
typedef struct glass_room {
    sort_key keys[GLASS_FRAGMENTS], spare[GLASS_FRAGMENTS];
    uint32_t triangles[GLASS_FRAGMENTS];
    uint16_t masks[GLASS_FRAGMENTS];
} glass_room;
void abuti_glass_draw(const picture_scene *scene, const bins *glass, size_t tile, int tile_x,
                      int tile_y, const float depth[TILE_PIXELS][SAMPLES], glass_room *room,
                      sample_colours colours);

#endif
