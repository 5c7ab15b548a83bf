#define POSENC_TEST_INSTANCES
#include "attention/instances.hpp"

POSENC_INSTANCES()
