#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face.hpp"
