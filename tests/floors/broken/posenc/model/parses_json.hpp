#include "posenc/core/target.hpp"
#include <nlohmann/json.hpp>
