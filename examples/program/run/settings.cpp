#include "program/run/settings.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <variant>

namespace run {

struct settings::parsed {
  program::weight_files const* files;
  nlohmann::json json = {};
  std::string type = {};
  std::string file = {};
};

settings::settings(program::weight_files const& files) : parsed_(new parsed{&files}) {
  auto& p = *parsed_;
  if (files.is_gguf()) {
    p.type = files.gguf().text("general.architecture").value_or("");
    p.file = files.gguf().file();
    return;
  }
  p.file = "config.json";
  auto const text = files.text(p.file);
  if (!text) throw std::runtime_error(files.name() + ": must have a config.json");
  p.json = nlohmann::json::parse(*text);
  auto const inner = p.json.find("text_config");
  if (inner != p.json.end() && inner->is_object()) {
    auto const within = *inner;
    p.json.update(within);
  }
}
settings::~settings() = default;

namespace {

// The value of a key, or of a key within an object: attn_config.clip_qkv; null if absent.
nlohmann::json const& value_of(nlohmann::json const& all, std::string const& key) {
  static nlohmann::json const none;
  auto const dot = std::min(key.find('.'), key.size());
  auto const found = all.is_object() ? all.find(key.substr(0, dot)) : all.end();
  if (found == all.end()) return none;
  return dot == key.size() ? *found : value_of(*found, key.substr(dot + 1));
}

}  // namespace

bool settings::has(key const& k) const {
  auto const& p = *parsed_;
  if (p.files->is_gguf())
    return !k.gguf.empty() && p.files->gguf().value_of(p.type + "." + k.gguf) != nullptr;
  return !value_of(p.json, k.hugging_face).is_null();
}

void settings::refuse(key const& k, std::string const& must) const {
  auto const& p = *parsed_;
  if (p.files->is_gguf()) p.files->gguf().refuse(p.type + "." + k.gguf, must);
  auto const& value = value_of(p.json, k.hugging_face);
  throw std::runtime_error(p.file + ": " + k.hugging_face + " must " + must +
                           (value.is_null() ? ", and is absent"
                                            : ", got " + value.dump().substr(0, 40)));
}

std::optional<double> settings::number(key const& k) const {
  auto const& p = *parsed_;
  if (!has(k)) return {};
  if (p.files->is_gguf()) return p.files->gguf().number(p.type + "." + k.gguf);
  auto const& value = value_of(p.json, k.hugging_face);
  if (!value.is_number() || !std::isfinite(value.get<double>())) refuse(k, "be a finite number");
  return value.get<double>();
}

std::optional<bool> settings::flag(key const& k) const {
  auto const& p = *parsed_;
  if (!has(k)) return {};
  if (p.files->is_gguf()) return p.files->gguf().flag(p.type + "." + k.gguf);
  auto const& value = value_of(p.json, k.hugging_face);
  if (!value.is_boolean()) refuse(k, "be true or false");
  return value.get<bool>();
}

std::optional<std::string> settings::text(key const& k) const {
  auto const& p = *parsed_;
  if (!has(k)) return {};
  if (p.files->is_gguf()) return p.files->gguf().text(p.type + "." + k.gguf);
  auto const& value = value_of(p.json, k.hugging_face);
  if (!value.is_string()) refuse(k, "be a text");
  return value.get<std::string>();
}

std::size_t settings::count(key const& k) const {
  auto const x = number(k);
  if (!x || *x < 1 || *x > 1e9 || *x != std::floor(*x)) refuse(k, "be a whole number from 1 on");
  return static_cast<std::size_t>(*x);
}

}  // namespace run
