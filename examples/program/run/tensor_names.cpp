#include "program/run/tensor_names.hpp"

#include <utility>

namespace run {

tensor_names::tensor_names(program::weight_files const& files, family const& of)
    : files_(files), family_(of) {
  if (files.is_gguf()) return;
  auto const embedding = hugging_face_name(of, "token_embd") + ".weight";
  // Some files leave the first word out, or have the words of a larger model in front.
  auto const dot = embedding.find('.') + 1;
  for (auto const& [cut, added] : {std::pair<std::size_t, char const*>{0, ""},
                                   {dot, ""},
                                   {0, "language_model."},
                                   {dot, "model.language_model."}}) {
    if (files.find(added + embedding.substr(cut)) == nullptr) continue;
    cut_ = embedding.substr(0, cut), added_ = added;
    return;
  }
}

std::string tensor_names::placed(std::string name) const {
  return name.starts_with(cut_) ? added_ + name.substr(cut_.size()) : name;
}

std::string tensor_names::of(std::string_view part, std::optional<std::size_t> layer,
                             std::string_view ending) const {
  auto const number = layer ? std::to_string(*layer) + "." : std::string();
  if (files_.is_gguf())
    return (layer ? "blk." + number : number) + std::string(part) + std::string(ending);
  auto const inner = hugging_face_name(family_, part);
  if (inner.empty()) return {};
  return placed((layer ? std::string(family_.layer_prefix) + number : number) + inner +
                std::string(ending));
}

std::vector<std::string> tensor_names::of_head_norm(std::string_view part, std::size_t layer,
                                                    posenc::norm_description const& norm,
                                                    std::size_t heads) const {
  if (files_.is_gguf() || norm.of == posenc::norm_scope::unknown) return {of(part, layer)};
  if (norm.tensor.empty()) return {};
  auto const whole = placed(std::string(family_.layer_prefix) + std::to_string(layer) +
                            ".self_attn." + norm.tensor);
  constexpr std::string_view each = "HEAD";
  auto const at = whole.find(each);
  if (at == whole.npos) return {whole};
  std::vector<std::string> all;
  for (std::size_t head = 0; head < heads; ++head)
    all.push_back(std::string(whole).replace(at, each.size(), std::to_string(head)));
  return all;
}

}  // namespace run
