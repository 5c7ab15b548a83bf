#include "posenc/core/target.hpp"
#include <Eigen/Core>
