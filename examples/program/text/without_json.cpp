// What stands for json_vocabulary.cpp where nlohmann-json is absent.
#include "program/text/vocabulary.hpp"

namespace program {

vocabulary vocabulary_of_json(weight_files const& files, std::string const&) {
  vocabulary v;
  v.file = files.name() + "/tokenizer.json";
  v.refuse("this posenc was built without nlohmann-json");
}

}  // namespace program
