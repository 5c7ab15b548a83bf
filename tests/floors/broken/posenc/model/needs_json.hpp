#include "posenc/model/hugging_face.hpp"
