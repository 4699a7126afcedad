// abut-vdb FIELD OUT.vdb: a distance field as a level set of OpenVDB.
//
// A program of its own, so that no C++ comes near the library. It reads what abut_field_read()
// reads and writes one grid of floats called "distance". Values at the band or beyond are inactive
// and equal to the background with their sign, as OpenVDB has it; without a band all are active.
#include "../get.h"

#include <abut/abut.h>

#include <openvdb/openvdb.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

static int fail(const std::string &sentence) {
    std::fprintf(stderr, "abut-vdb: %s\n", sentence.c_str());
    return 1;
}

static openvdb::FloatGrid::Ptr gridOf(const abut_field *field, const abut_field_info &info) {
    bool banded = std::isfinite(info.band);
    float background =
        static_cast<float>(banded ? info.band : std::fmax(info.highest, -info.lowest));
    openvdb::FloatGrid::Ptr grid = openvdb::FloatGrid::create(background);
    openvdb::math::Transform::Ptr place =
        openvdb::math::Transform::createLinearTransform(info.grid.cell);
    place->postTranslate(
        openvdb::Vec3d(info.grid.origin.x, info.grid.origin.y, info.grid.origin.z));
    grid->setTransform(place);
    grid->setGridClass(openvdb::GRID_LEVEL_SET);
    grid->setName("distance");
    const std::uint32_t *n = info.grid.count, count[3] = {n[0], n[1], 1};
    std::vector<float> layer(static_cast<std::size_t>(n[0]) * n[1]);
    openvdb::FloatGrid::Accessor to = grid->getAccessor();
    for (std::uint32_t k = 0; k < n[2]; k++) {
        const std::uint32_t begin[3] = {0, 0, k};
        if (abut_field_copy(field, begin, count, layer.data()))
            return nullptr;
        for (std::uint32_t j = 0; j < n[1]; j++)
            for (std::uint32_t i = 0; i < n[0]; i++) {
                float value = layer[i + static_cast<std::size_t>(n[0]) * j];
                openvdb::Coord at(static_cast<int>(i), static_cast<int>(j), static_cast<int>(k));
                if (!banded || std::fabs(value) < background)
                    to.setValueOn(at, value);
                else if (value < 0)
                    to.setValueOff(at, -background);
            }
    }
    grid->pruneGrid();
    return grid;
}

int main(int count, char **words) {
    if (count != 3 || std::strcmp(words[1], "--help") == 0) {
        std::fprintf(stderr, "usage: abut-vdb FIELD OUT.vdb\n"
                             "writes a field of 'abut field' (.abutf) for OpenVDB\n");
        return count == 2 && std::strcmp(words[1], "--help") == 0 ? 0 : 2;
    }
    abut_field *field = nullptr;
    if (abut_field_read(nullptr, words[1], &field))
        return fail(abut_last_error());
    std::string aside = std::string(words[2]) + ".part";
    int code = 0;
    try {
        openvdb::initialize();
        openvdb::FloatGrid::Ptr grid = gridOf(field, get_field_info(field));
        if (!grid)
            throw std::runtime_error(abut_last_error());
        openvdb::io::File file(aside);
        file.write({grid});
        file.close();
        if (std::rename(aside.c_str(), words[2]) != 0)
            throw std::runtime_error(std::string(words[2]) + ": could not be written");
        std::printf("%s: %llu active values of %u x %u x %u\n", words[2],
                    static_cast<unsigned long long>(grid->activeVoxelCount()),
                    get_field_info(field).grid.count[0], get_field_info(field).grid.count[1],
                    get_field_info(field).grid.count[2]);
    } catch (const std::exception &problem) {
        unlink(aside.c_str());
        code = fail(problem.what());
    }
    abut_field_destroy(field);
    return code;
}
