/* Picture files: PNG by libpng, PPM without a library. */
#include "base/system.h"
#include "picture/picture.h"

#include <string.h>

#ifdef ABUT_HAS_PNG
#include <png.h>
#include <setjmp.h>
#endif

static bool ends_with(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcasecmp(path + length - tail, ending) == 0;
}

/* The content of a file: RGBA with A = 255, rows from the top. */
typedef struct image {
    abut_context *context;
    const uint8_t *pixels;
    uint32_t width, height;
} image;

/* One row without the fourth byte, which is always 255. */
static void pack_row(const uint8_t *rgba, size_t width, uint8_t *rgb) {
    for (size_t x = 0; x < width; x++)
        memcpy(rgb + 3 * x, rgba + 4 * x, 3);
}

static abut_status report_progress(const image *of, size_t row) {
    return row % 64 ? ABUT_OK
                    : abuti_progress(of->context, "writing", (double)row / (double)of->height);
}

/* ---- PPM ---- */

static abut_status write_ppm(abuti_sink *sink, const image *of, uint8_t *row) {
    size_t width = of->width;
    abuti_sink_print(sink, "P6\n%u %u\n255\n", of->width, of->height);
    abut_status status = ABUT_OK;
    for (size_t y = 0; y < of->height && !status; y++) {
        pack_row(of->pixels + 4 * y * width, width, row);
        abuti_sink_write(sink, row, 3 * width);
        status = report_progress(of, y);
    }
    return status;
}

/* ---- PNG ---- */

#ifdef ABUT_HAS_PNG

/* libpng reports errors by longjmp. State that must survive it is here, not in local variables. */
typedef struct png_job {
    abuti_sink *sink;
    const image *of;
    uint8_t *row;
    png_structp png;
    png_infop info;
    bool out_of_memory, cancelled;
    char message[128];
    jmp_buf escape;
} png_job;

static void on_error(png_structp png, png_const_charp message) {
    png_job *job = png_get_error_ptr(png);
    snprintf(job->message, sizeof job->message, "%s", message);
    longjmp(job->escape, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void on_write(png_structp png, png_bytep data, png_size_t bytes) {
    png_job *job = png_get_io_ptr(png);
    abuti_sink_write(job->sink, data, bytes);
}

static void on_flush(png_structp png) {
    (void)png;
}

static png_voidp on_allocate(png_structp png, png_alloc_size_t bytes) {
    png_job *job = png_get_mem_ptr(png);
    void *memory = abuti_allocate(job->of->context, bytes, 1);
    if (!memory)
        job->out_of_memory = true;
    return memory;
}

static void on_release(png_structp png, png_voidp memory) {
    png_job *job = png_get_mem_ptr(png);
    abuti_release(job->of->context, memory);
}

static void write_rows(png_job *job) {
    size_t width = job->of->width, height = job->of->height;
    png_set_write_fn(job->png, job, on_write, on_flush);
    png_set_compression_level(job->png, 5);
    png_set_IHDR(job->png, job->info, (png_uint_32)width, (png_uint_32)height, 8,
                 PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(job->png, job->info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(job->png, job->info);
    for (size_t y = 0; y < height; y++) {
        pack_row(job->of->pixels + 4 * y * width, width, job->row);
        png_write_row(job->png, job->row);
        if (report_progress(job->of, y)) {
            job->cancelled = true;
            longjmp(job->escape, 1);
        }
    }
    png_write_end(job->png, NULL);
}

static abut_status write_png(abuti_sink *sink, const image *of, uint8_t *row) {
    png_job job = {.sink = sink, .of = of, .row = row};
    png_job *volatile keep = &job;
    int failed = setjmp(job.escape);
    if (!failed) {
        job.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning, &job,
                                            on_allocate, on_release);
        if (job.png && (job.info = png_create_info_struct(job.png)))
            write_rows(&job);
        else
            failed = 1;
    }
    png_destroy_write_struct(&keep->png, &keep->info);
    if (!failed)
        return ABUT_OK;
    if (keep->cancelled)
        return ABUT_ERROR_CANCELLED; /* the message is already set */
    if (keep->out_of_memory)
        return abuti_fail(ABUT_ERROR_MEMORY, "out of memory while writing a PNG file");
    return abuti_fail(ABUT_ERROR_FILE, "%s: libpng reports: %s", sink->path, keep->message);
}

#else

static abut_status write_png(abuti_sink *sink, const image *of, uint8_t *row) {
    (void)of;
    (void)row;
    return abuti_fail(ABUT_ERROR_UNSUPPORTED, "%s: this build cannot write PNG files", sink->path);
}

#endif

/* ---- both formats ---- */

static bool has_png(void) {
#ifdef ABUT_HAS_PNG
    return true;
#else
    return false;
#endif
}

static abut_status check_name(const char *path, bool *png) {
    bool standard = strcmp(path, ABUTI_STANDARD_OUTPUT) == 0;
    *png = ends_with(path, ".png") || (standard && has_png());
    if (!*png && !standard && !ends_with(path, ".ppm"))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the name of a picture must end in .png or .ppm",
                          path);
    if (*png && !has_png())
        return abuti_fail(
            ABUT_ERROR_UNSUPPORTED,
            "%s: this build cannot write PNG files; choose a name that ends in .ppm, or "
            "build with libpng",
            path);
    return ABUT_OK;
}

/* Commits or discards the sink. */
static abut_status write_image(abuti_sink *sink, const image *of, uint8_t *row, bool png) {
    abut_status status = (png ? write_png : write_ppm)(sink, of, row);
    if (!status)
        return abuti_sink_commit(sink);
    abuti_sink_discard(sink);
    return status;
}

abut_status abut_picture_write(abut_picture *picture, const char *path) {
    bool png;
    if (!picture || !path)
        return abuti_null(__func__, picture ? "path" : "picture");
    abut_status status = check_name(path, &png);
    if (status)
        return status;
    abut_context *context = picture->context;
    uint8_t *pixels = NULL;
    uint8_t *row = abuti_allocate(context, picture->options.width, 3);
    abuti_sink sink;
    /* open the file first, so that an unwritable path fails before drawing */
    status = row ? abuti_sink_open(&sink, context, path) : ABUT_ERROR_MEMORY;
    if (!status) {
        status = abuti_picture_draw(picture, &pixels);
        const image of = {context, pixels, picture->options.width, picture->options.height};
        if (status)
            abuti_sink_discard(&sink);
        else
            status = write_image(&sink, &of, row, png);
    }
    ABUTI_RELEASE(context, pixels, row);
    return status;
}

bool abut_picture_has_png(void) {
#ifdef ABUT_HAS_PNG
    return true;
#else
    return false;
#endif
}

abut_status abut_picture_write_pixels(abut_context *context, const char *path,
                                      const uint8_t *pixels, uint32_t width, uint32_t height) {
    bool png;
    if (!path || !pixels)
        return abuti_null(__func__, path ? "pixels" : "path");
    if (!width || !height || width > 16384 || height > 16384)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_picture_write_pixels: the image has %u x %u pixels; each side must "
                          "be from 1 to 16384",
                          width, height);
    abut_status status = check_name(path, &png);
    if (status)
        return status;
    const image of = {abuti_context_of(context), pixels, width, height};
    uint8_t *row = abuti_allocate(of.context, width, 3);
    abuti_sink sink;
    status = row ? abuti_sink_open(&sink, of.context, path) : ABUT_ERROR_MEMORY;
    if (!status)
        status = write_image(&sink, &of, row, png);
    abuti_release(of.context, row);
    return status;
}
