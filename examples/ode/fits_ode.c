/* Tight fits in the Open Dynamics Engine, by exact contacts of abut or by its own colliders of
 * triangle meshes.
 *
 * Usage: abut-ode-fits [--own | --compare] [--seconds S] [--png FILE] [SCENE]...: see fits.h */
#include "fits.h"
#include "stand.h"

static abut_status run_in_ode(fit_scene *scene, bool is_own) {
    const stand_options options = {.scene = scene,
                                   .own = is_own,
                                   .seconds = scene->seconds,
                                   .quick = scene->is_iterative};
    stand_result result;
    return stand_run(NULL, &options, &result);
}

int main(int argc, char **argv) {
    return fits_main(argc, argv, "ODE", run_in_ode);
}
