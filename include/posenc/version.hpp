// The version of posenc. CMake, the packages and .github/CHANGELOG.md, whose head says what its
// numbers mean, agree with it.
#pragma once

#define POSENC_VERSION_MAJOR 0
#define POSENC_VERSION_MINOR 1
#define POSENC_VERSION_PATCH 0
