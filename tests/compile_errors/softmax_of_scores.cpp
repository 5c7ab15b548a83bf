// posenc: the rule of softmax must have inverse_temperature: it must act on softmax (site 4), or
// nowhere
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/softmax.hpp"

void use() {
  std::vector<float> memory, row(3);
  posenc::softmax(std::span(row), posenc::alibi(1), memory);
}
