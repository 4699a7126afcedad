/* Simulates a model with MuJoCo's contacts, then with those of abut, and prints the contacts and
 * the largest penetration at the end.
 *
 *     cc -std=c11 -I$MUJOCO/include -I../../include compare.c abut_mujoco.c -lmujoco -labut -lm
 *     ./a.out scene.xml 2.5 */
#include <mujoco/mujoco.h>

#include "abut_mujoco.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void simulate(const mjModel *model, double seconds, const char *name) {
    mjData *data = mj_makeData(model);
    double depth = 0;
    while (data->time < seconds)
        mj_step(model, data);
    for (int i = 0; i < data->ncon; i++)
        depth = fmax(depth, -data->contact[i].dist);
    printf("%s: %d contacts, penetration %.4f", name, (int)data->ncon, depth);
    for (int i = 1; i < model->nbody; i++) {
        const char *body = mj_id2name(model, mjOBJ_BODY, i);
        printf(", %s at height %.3f", body ? body : "a body", data->xipos[3 * i + 2]);
    }
    printf("\n");
    mj_deleteData(data);
}

int main(int argc, char **argv) {
    char error[500] = "";
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL.XML SECONDS\n", argv[0]);
        return 2;
    }
    mjModel *model = mj_loadXML(argv[1], NULL, error, sizeof error);
    if (!model) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    simulate(model, atof(argv[2]), "MuJoCo");
    if (abut_mujoco_install_model(model, NULL)) {
        fprintf(stderr, "%s\n", abut_last_error());
        return 1;
    }
    simulate(model, atof(argv[2]), "abut");
    abut_mujoco_uninstall(model);
    mj_deleteModel(model);
    return 0;
}
