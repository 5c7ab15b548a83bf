// Every header: posenc.hpp includes all but model's, and those of model each other.
#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"
#include "posenc/model/layer_scheme.hpp"
#include "posenc/model/rotate.hpp"
#include "posenc/posenc.hpp"
