// Which tensors of a model's files are those that GGUF names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/model/model_description.hpp"
#include "program/run/family.hpp"
#include "program/tensors/weights.hpp"

namespace run {

class tensor_names {
 public:
  /// Both must outlive this.
  tensor_names(program::weight_files const& files, family const& of);

  /// The name of a tensor outside the layers, or of one in a layer; empty where the family has
  /// none. ("attn_q", 3, ".weight") is blk.3.attn_q.weight, or
  /// model.layers.3.self_attn.q_proj.weight.
  std::string of(std::string_view part, std::optional<std::size_t> layer = {},
                 std::string_view ending = ".weight") const;
  /// The weights of the norm of queries, attn_q_norm, or of keys, attn_k_norm: one tensor, or one
  /// for each head; none if the norm has no weights. A file may have no such tensor.
  std::vector<std::string> of_head_norm(std::string_view part, std::size_t layer,
                                        posenc::norm_description const& norm,
                                        std::size_t heads) const;

 private:
  std::string placed(std::string name) const;

  program::weight_files const& files_;
  family const& family_;
  std::string cut_, added_;  // the first word of names, and what stands in its place
};

}  // namespace run
