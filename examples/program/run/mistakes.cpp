#include "mistakes.hpp"

#include "program/run/changes.hpp"
#include "program/verdict/mistakes.hpp"

namespace run {

std::vector<named_plans> mistaken_plans(decoder const& model, std::size_t length) {
  std::vector<named_plans> all;
  auto const& description = model.description();
  auto const add = [&](verdicts::known_mistake const& mistake) {
    named_plans made{std::string(mistake.name), {}, model.plans()};
    for (auto const& kind : description.kinds) {
      auto const found = mistake.make(description, kind);
      if (!found || found->where != verdicts::place::text ||
          found->by == verdicts::measure::float_angles)
        continue;
      made.says = found->says;
      for (auto const layer : found->wrong.layers) {
        auto& way = made.plans[layer].ways.front();
        way.says = found->wrong;
        if (found->by == verdicts::measure::heads)
          for (std::size_t head = 0; head < model.heads(); ++head)
            way.key_heads.push_back(head % model.key_heads());
      }
    }
    if (!made.says.empty()) all.push_back(std::move(made));
  };
  for (auto const& mistake : verdicts::known_mistakes()) add(mistake);
  for (auto const& one : {without_rotation(), in_other_layout(), backwards(), rotated_twice(),
                          keys_ahead(1), mask_one_ahead(), mask_one_short()})
    if (can_change(model, one, length))
      all.push_back({one.name, one.says, changed_plans(model, {one}, {}, length)});
  return all;
}

}  // namespace run
